package route

import (
	"runtime"
	"testing"
	"weak"
)

const shareText = `
	default-backend web
	backend web roundRobin HTTP
	  endpoint 10.0.0.1:80
	  endpoint 10.0.0.2:80
	backend api leastConn HTTP
	  endpoint 10.0.0.1:80
	route a.test / Prefix -> web
	route a.test /api Prefix -> api
	  canary web weight=5 header=x-canary pattern=^b
	  mirror web percent=5
	route b.test /[a-z]+ ImplementationSpecific regex -> web
	cert a.test 0000000000000001`

func matched(t *testing.T, table *Table, host, path string) *Route {
	t.Helper()
	r := table.Match(host, path)
	if r == nil {
		t.Fatalf("no route for %s %s", host, path)
	}
	return r
}

// TestAnUnchangedGenerationSharesEverything checks that a compile of the same Spec
// keeps every object of the kept table.
func TestAnUnchangedGenerationSharesEverything(t *testing.T) {
	old := compile(t, shareText)
	table := compile(t, shareText, old)
	for i := range old.groups {
		if table.groups[i] != old.groups[i] {
			t.Errorf("host %s is not shared", old.groups[i].host)
		}
	}
	for i := range old.backends {
		if table.backends[i] != old.backends[i] {
			t.Errorf("backend %s is not shared", old.backends[i].Name)
		}
	}
	if table.certs != old.certs || table.fallback != old.fallback {
		t.Error("certificates or the default route are not shared")
	}
}

// TestAChangeOfOneEndpointKeepsTheRest checks what a change replaces: the backend, the
// routes to it, and of their hosts nothing that knows only paths.
func TestAChangeOfOneEndpointKeepsTheRest(t *testing.T) {
	old := compile(t, shareText)
	spec := parse(t, shareText)
	spec.Backends[1].Endpoints[0].Weight = 7
	table, _ := Compile(spec, old)
	a, b := "a.test", "b.test"
	if matched(t, table, b, "/x") != matched(t, old, b, "/x") || table.rules(b) != old.rules(b) {
		t.Error("a host that does not use the backend is not shared")
	}
	if matched(t, table, a, "/x") != matched(t, old, a, "/x") {
		t.Error("a route that does not use the backend is not shared")
	}
	was, is := matched(t, old, a, "/api"), matched(t, table, a, "/api")
	if is == was || is.Backend.Endpoints[0].Weight != 7 || was.Backend.Endpoints[0].Weight != 1 {
		t.Errorf("the changed route: %v, the old one %v", is.Backend.Endpoints[0], was.Backend.Endpoints[0])
	}
	if is.Counters != was.Counters || is.Canary != was.Canary || is.Mirror != was.Mirror {
		t.Error("counters, canary or mirror of the changed route are not shared")
	}
	if table.rules(a).index != old.rules(a).index {
		t.Error("the index of the paths is not shared")
	}
}

// TestStateBelongsToIdentities follows counters, balancing state and load through
// generations in which their objects change, vanish and come back.
func TestStateBelongsToIdentities(t *testing.T) {
	first := compile(t, shareText)
	r := matched(t, first, "a.test", "/api")
	r.Counters.Count(1, Sample{Error5xx: true})
	r.Backend.Endpoints[0].Acquire()
	first.DefaultBackend().Pick(nil)
	matched(t, first, "nowhere.test", "/").Counters.Count(1, Sample{})

	empty := compile(t, "", first)
	changed := compile(t, `
		default-backend web
		backend web leastConn GRPC
		  endpoint 10.0.0.2:80
		backend api random HTTP
		  endpoint 10.0.0.1:80 weight=3
		  endpoint 10.0.0.9:80
		route a.test /api/ Prefix -> api`, empty, nil, first)

	again := matched(t, changed, "a.test", "/api")
	if again == r || again.Counters != r.Counters || again.Counters.Total().Errors5xx != 1 {
		t.Error("the route of an older kept generation lost its numbers")
	}
	if matched(t, changed, "nowhere.test", "/").Counters.Total().Requests != 1 {
		t.Error("the default route lost its numbers")
	}
	if again.Backend.Endpoints[0].InFlight() != 1 || again.Backend.Endpoints[1].InFlight() != 0 {
		t.Error("the endpoint lost its load")
	}
	r.Backend.Endpoints[0].Release()
	if again.Backend.Endpoints[0].InFlight() != 0 {
		t.Error("a release in the old generation is not seen in the new one")
	}
	if changed.DefaultBackend().state != first.DefaultBackend().state || changed.DefaultBackend().state.cursor.Load() != 1 {
		t.Error("the backend lost its cursor")
	}
	if web := changed.DefaultBackend().Endpoints[0]; web.load == again.Backend.Endpoints[0].load {
		t.Error("one address in two backends shares its load")
	}
}

// TestAnotherIdentityCountsAnew checks each part of a route's identity.
func TestAnotherIdentityCountsAnew(t *testing.T) {
	const backends = "backend web roundRobin HTTP\nbackend api roundRobin HTTP\n"
	old := compile(t, backends+"route a.test /x Prefix -> web")
	counters := matched(t, old, "a.test", "/x").Counters
	for what, line := range map[string]string{
		"host": "route b.test /x Prefix -> web", "path": "route a.test /y Prefix -> web",
		"path type": "route a.test /x Exact -> web", "backend": "route a.test /x Prefix -> api",
	} {
		table := compile(t, backends+line, old)
		if table.Routes()[0].Counters == counters {
			t.Errorf("another %s goes on with the numbers", what)
		}
	}
	same := compile(t, backends+"route A.test /x/ Prefix -> web created=99 owner=ns/x", old)
	if same.Routes()[0].Counters != counters {
		t.Error("the same identity written in another way lost its numbers")
	}
}

// TestUnknownBackendsAreShared checks that routes to nowhere are no change either.
func TestUnknownBackendsAreShared(t *testing.T) {
	const text = "route a.test / Prefix -> missing\nroute b.test / Prefix -> missing"
	spec := parse(t, text)
	old, _ := Compile(spec)
	table, _ := Compile(spec, old)
	if table.groups[0] != old.groups[0] || old.groups[0].routes[0].Backend != old.groups[1].routes[0].Backend {
		t.Error("the unknown backend is not shared")
	}
	if len(table.Backends()) != 0 {
		t.Errorf("backends = %v", table.Backends())
	}
	known := compile(t, "backend missing roundRobin HTTP\n  endpoint a:80\n"+text, table)
	if r := known.Match("a.test", "/"); r.Backend.Pick(nil) == nil || r.Counters != old.groups[0].routes[0].Counters {
		t.Error("the backend appeared, and its route does not serve or lost its numbers")
	}
}

// TestManyPathsShareToo goes through a host that has a tree: routes that stay are found
// in the kept table by what they are, also expressions.
func TestManyPathsShareToo(t *testing.T) {
	spec := Spec{Backends: []BackendSpec{{Name: "web"}}}
	for p := range 100 {
		spec.Routes = append(spec.Routes, RouteSpec{Host: "a.test", Path: clusterPath(p), PathType: PathType(p % 3), Regex: p%3 == 2, Backend: "web"})
	}
	old, _ := Compile(spec)
	spec.Routes = append(spec.Routes,
		RouteSpec{Host: "a.test", Path: "/new", PathType: ImplementationSpecific, Backend: "web"},
		RouteSpec{Host: "a.test", Path: "/api", PathType: Exact, Backend: "web"},
		RouteSpec{Host: "a.test", Path: "/api/4/longer", PathType: Prefix, Backend: "web"})
	table, diagnostics := Compile(spec, old)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	kept := map[*Route]bool{}
	for _, r := range old.Routes() {
		kept[r] = true
	}
	fresh := 0
	for _, r := range table.Routes() {
		if !kept[r] {
			fresh++
		}
	}
	if fresh != 3 {
		t.Errorf("%d routes are new, want 3", fresh)
	}
	if d := Compare(old, table).Summary(1, 2); d != "3 routes added (gen 1→2)" {
		t.Error(d)
	}
}

// TestPatternsAreCompiledOnce checks that one text is one expression, within a table
// and over generations.
func TestPatternsAreCompiledOnce(t *testing.T) {
	const more = "\nroute c.test /[a-z]+ ImplementationSpecific regex -> api\n  canary web weight=1 header=h pattern=^b"
	old := compile(t, shareText)
	table := compile(t, shareText+more, old)
	if p := matched(t, old, "b.test", "/x").pattern; matched(t, table, "c.test", "/x").pattern != p {
		t.Error("the path pattern was compiled twice")
	}
	if p := matched(t, old, "a.test", "/api").Canary.HeaderPattern; matched(t, table, "c.test", "/x").Canary.HeaderPattern != p {
		t.Error("the header pattern was compiled twice")
	}
}

// TestWhatNoTableNamesIsLetGo checks that there is no registry: state goes with the
// last table that names it.
func TestWhatNoTableNamesIsLetGo(t *testing.T) {
	old := compile(t, shareText)
	counters := weak.Make(matched(t, old, "a.test", "/api").Counters)
	endpoint := weak.Make(matched(t, old, "a.test", "/api").Backend.Endpoints[0].load)
	kept := compileLoose(t, "route b.test / Prefix -> other", old)
	runtime.GC()
	if counters.Value() == nil || endpoint.Value() == nil {
		t.Fatal("state was let go while a kept table names it")
	}
	runtime.KeepAlive(old)
	old = nil
	runtime.GC()
	if counters.Value() != nil || endpoint.Value() != nil {
		t.Error("state is held although no table names it")
	}
	runtime.KeepAlive(kept)
}

// TestMemory bounds what kept generations cost in the dearest layout, apart from the
// counters, of which there is one set whatever the number of generations.
func TestMemory(t *testing.T) {
	const routes, generations, limit = 2000, 10, 200
	all, further := keptMemory(routes, 1, generations)
	all -= float64(routes * shardCount * 64)
	if perRoute := all / routes / generations; perRoute > limit {
		t.Errorf("%.0f bytes per route and generation, at most %d are wanted", perRoute, limit)
	}
	t.Logf("%.0f bytes per route and generation, a further generation costs %.0f",
		all/routes/generations, further/routes/(generations-1))
}

// TestHoweverABackendIsDescribed checks that the order of descriptions and of their
// endpoints, and what is said twice, make no other backend of one that is kept: the
// quick look and the slow one agree.
func TestHoweverABackendIsDescribed(t *testing.T) {
	text := `
		backend a roundRobin HTTP
		  endpoint 10.0.0.1:80
		  endpoint 10.0.0.2:80
		backend b random GRPC
		  endpoint [::1]:80 weight=3
		backend c roundRobin HTTP`
	old := compile(t, text)
	for name, change := range map[string]func(*Spec){
		"as before": func(*Spec) {},
		"other order": func(s *Spec) {
			s.Backends[0], s.Backends[2] = s.Backends[2], s.Backends[0]
		},
		"other order of endpoints": func(s *Spec) {
			e := s.Backends[0].Endpoints
			e[0], e[1] = e[1], e[0]
		},
		"an endpoint twice": func(s *Spec) {
			s.Backends[0].Endpoints = append(s.Backends[0].Endpoints, s.Backends[0].Endpoints[0])
		},
		"a backend twice": func(s *Spec) { s.Backends = append(s.Backends, s.Backends[0]) },
	} {
		spec := parse(t, text)
		change(&spec)
		table, _ := Compile(spec, nil, old)
		for i, b := range table.Backends() {
			if b != old.backends[i] {
				t.Errorf("%s: backend %s is not shared", name, b.Name)
			}
		}
		if table.Digest() != old.Digest() {
			t.Errorf("%s: the table is another", name)
		}
	}
}

// TestAnUnchangedBackendBesideAnother checks that a name that is described twice is
// settled by content whether one of the descriptions is kept or not.
func TestAnUnchangedBackendBesideAnother(t *testing.T) {
	old := compile(t, "backend a roundRobin HTTP\n  endpoint 10.0.0.2:80")
	spec := parse(t, "backend a roundRobin HTTP\n  endpoint 10.0.0.2:80")
	spec.Backends = append(spec.Backends, BackendSpec{Name: "a", Endpoints: []EndpointSpec{{Address: "10.0.0.1:80", Weight: 1}}})
	want, wantDiagnostics := Compile(spec)
	got, gotDiagnostics := Compile(spec, old)
	if got.Text() != want.Text() || len(gotDiagnostics) != 1 || gotDiagnostics[0] != wantDiagnostics[0] {
		t.Errorf("with a kept table\n%s%v\nwithout\n%s%v", got.Text(), gotDiagnostics, want.Text(), wantDiagnostics)
	}
}
