package route

import (
	"fmt"
	"testing"
)

// ask does what an engine does with the host and path of a request.
func ask(table *Table, authority, path string) string {
	if _, ok := NormalizeHost(authority); !ok && authority != "" {
		return "400 not a host"
	}
	normal, _, err := NormalizePath(path)
	if err != nil {
		return "400 " + err.Error()
	}
	if r := table.Match(authority, normal); r != nil {
		return r.String()
	}
	return "404"
}

// TestMatch runs the scripts of testdata/match: a table, then lines of "host path =>
// route". Every table is asked twice: as it is, and with so many rules more on every
// host that the tree answers instead of the scan.
func TestMatch(t *testing.T) {
	scripts(t, "match", func(t *testing.T, s *script) {
		spec := parse(t, s.sections[""])
		describeBackends(&spec)
		table, diagnostics := Compile(spec)
		for _, d := range diagnostics {
			t.Errorf("compile: %v", d)
		}
		s.answer(t, "requests", func(words []string) string { return ask(table, words[0], words[1]) })

		crowd(&spec)
		crowded, _ := Compile(spec)
		for _, g := range crowded.groups {
			if g.index.tree == nil {
				t.Fatalf("host %q is still scanned", g.host)
			}
		}
		s.answer(t, "requests", func(words []string) string { return ask(crowded, words[0], words[1]) })
	})
}

// crowd adds rules to every host that no request of a test asks for.
func crowd(spec *Spec) {
	hosts := map[string]bool{}
	for _, r := range spec.Routes {
		hosts[r.Host] = true
	}
	for _, host := range spec.Hosts {
		hosts[host] = true
	}
	for host := range hosts {
		for i := range scanRules + 1 {
			spec.Routes = append(spec.Routes, RouteSpec{
				Host: host, Path: fmt.Sprintf("/crowd/%d", i), PathType: PathType(i % 2), Backend: "crowd",
			})
		}
	}
	describeBackends(spec)
}

func TestNilTableHasNothing(t *testing.T) {
	var table *Table
	if r := table.Match("a.test", "/"); r != nil {
		t.Errorf("Match = %v", r)
	}
	if id, ok := table.Certificate("a.test"); ok {
		t.Errorf("Certificate = %v", id)
	}
	if table.Text() != "" || table.Digest() != "" || table.DefaultBackend() != nil {
		t.Errorf("Text %q, Digest %q, DefaultBackend %v", table.Text(), table.Digest(), table.DefaultBackend())
	}
	if len(table.Routes())+len(table.Hosts())+len(table.Backends())+len(table.Certs()) > 0 {
		t.Error("a list is not empty")
	}
}

// TestLists checks what the lists of a table hold and in which order.
func TestLists(t *testing.T) {
	table := compile(t, `
		default-backend web
		backend web roundRobin HTTP
		backend api leastConn GRPC
		route b.test / Prefix -> web
		route b.test /longest Prefix -> api
		route b.test /x Exact -> web
		route * / Prefix -> web
		route *.b.test / Prefix -> web
		host claimed.test
		cert b.test 0000000000000001
		cert "" 0000000000000002`)
	var routes string
	for _, r := range table.Routes() {
		routes += r.String() + "\n"
		if r.Default() || r.Counters == nil {
			t.Errorf("%v: default %v, counters %v", r, r.Default(), r.Counters)
		}
	}
	want := "* / -> web\n*.b.test / -> web\nb.test /x -> web\nb.test /longest -> api\nb.test / -> web\n"
	if routes != want {
		t.Errorf("routes:\n%swant:\n%s", routes, want)
	}
	if got := fmt.Sprint(table.Hosts()); got != "[*.b.test b.test claimed.test]" {
		t.Errorf("hosts = %s", got)
	}
	if got := table.Backends(); len(got) != 2 || got[0].Name != "api" || got[1].Name != "web" {
		t.Errorf("backends = %v", got)
	}
	if got := table.Certs(); len(got) != 2 || got[0].Host != "*" || got[0].ID != 2 || got[1].Host != "b.test" {
		t.Errorf("certs = %v", got)
	}
	fallback := table.Match("elsewhere.b.test.test", "/")
	if !table.Match("claimed.test", "/").Default() || fallback.Host != "" || table.DefaultBackend().Name != "web" {
		t.Errorf("default route = %v of %v", fallback, table.DefaultBackend())
	}
}
