package top_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/top"
)

// shop fills an admin port with a shop and three generations.
func shop(s *scripted) {
	s.route("*", "/healthz", "Exact", "ops/status:8080", 1)
	s.route("*.apps.example.com", "/", "Prefix", "apps/gateway:80", 6)
	s.route("shop.example.com", "/", "Prefix", "shop/web:80", 4)
	s.route("shop.example.com", "/api", "Prefix", "shop/api:8080", 3).Canary = &admin.Canary{Backend: "api-next", WeightPercent: 20}
	s.route("shop.example.com", "/checkout", "Prefix", "shop/checkout:8443", 2)
	s.route("status.example.com", "/v[0-9]+/", "ImplementationSpecific", "ops/status:8080", 1).Regex = true
	s.generations.Generations = []admin.Generation{
		applied(42, 4*time.Minute, 6, "1 backend changed (gen 41→42)", admin.Diff{BackendsChanged: []string{"shop.example.com /api: 2 -> 3 endpoints"}}),
		applied(41, 3*time.Hour, 6, "1 route added, 1 route removed, 1 cert rotated (gen 40→41)", admin.Diff{
			RoutesAdded: []string{"shop.example.com /checkout -> shop/checkout:8443"}, RoutesRemoved: []string{"shop.example.com /pay -> shop/pay:80"},
			CertsRotated: []string{"shop.example.com"},
		}),
		applied(40, 26*time.Hour, 6, "5 routes added, 3 hosts added, default backend now ops/status:8080 (gen 0→40)", admin.Diff{
			RoutesAdded: []string{"* /healthz -> ops/status:8080", "*.apps.example.com / -> apps/gateway:80", "shop.example.com / -> shop/web:80",
				"shop.example.com /api -> shop/api:8080", "status.example.com /v[0-9]+/ -> ops/status:8080"},
			HostsAdded:   []string{"*.apps.example.com", "shop.example.com", "status.example.com"},
			MirrorsAdded: []string{"shop.example.com /api -> shop/shadow:80 (10%)"},
		}),
	}
}

// applied is a generation that was applied some time before the test.
func applied(number uint64, ago time.Duration, routes int, summary string, d admin.Diff) admin.Generation {
	d.Summary = summary
	return admin.Generation{
		Generation: number, AppliedAt: epoch.Add(-ago), Published: true, Digest: fmt.Sprintf("%016x", number*0x1d0f00d), Routes: routes, Hosts: 3, Certs: 2, Diff: d,
	}
}

// second is the traffic of a shop in one second of its day.
func second(s *scripted, load float64) {
	n := func(v float64) uint64 { return uint64(v * load) }
	s.traffic("*", "/healthz", 2, 0, 0.4)
	s.traffic("*.apps.example.com", "/", n(310), 0, 12.25)
	s.traffic("shop.example.com", "/", n(1840), 0, 4.5)
	s.traffic("shop.example.com", "/api", n(960), n(3), 7.75)
	s.traffic("shop.example.com", "/checkout", n(44), n(9), 181)
}

// busy is a shop that was watched for a dozen seconds.
func busy(t *testing.T, width, height int, adjust func(*top.Options)) (*rig, *scripted) {
	t.Helper()
	c := newClock()
	s := serve(t, c)
	shop(s)
	r := watch(t, width, height, c, adjust, s)
	r.Wait("3h12m")
	for i := range 12 {
		s.change(func() {
			second(s, 1+0.08*float64((i*5)%7))
			s.started = s.started.Add(-time.Minute) // so that each answer can be told from the one before
		})
		c.advance(time.Second)
		r.Wait(fmt.Sprintf("3h%dm", 13+i))
	}
	return r, s
}

func TestScreens(t *testing.T) {
	for _, size := range []struct {
		name          string
		width, height int
	}{{"80x24", 80, 24}, {"200x60", 200, 60}} {
		t.Run(size.name, func(t *testing.T) {
			r, _ := busy(t, size.width, size.height, nil)
			r.golden("routes-"+size.name, "RPS▼", "20%→api")
			r.Type("e")
			r.golden("routes-by-errors-"+size.name, "5XX▼")
			r.Type("h")
			r.golden("routes-by-host-"+size.name, "HOST▲")
			r.Type("/shop\r")
			r.golden("routes-filtered-"+size.name, "/shop  3 of 6")
			r.Type("\t")
			r.golden("timeline-"+size.name, "STATE", "serving")
			r.Type("\x1b[B\x1b[B\r")
			r.golden("diff-"+size.name, "+ mirror")
			r.Type("?")
			r.golden("help-"+size.name, "to the shell")
		})
	}
}

// The last data stays when the daemon is gone, marked, and the average over the gap is
// true when it is back.
func TestStaleAndBack(t *testing.T) {
	r, s := busy(t, 80, 24, nil)
	s.change(func() { s.broken = hangUp })
	r.clock.advance(time.Second)
	r.golden("stale", "STALE  since 09:27:05 (1s ago): the connection broke off")
	// Each failure has a word of its own, so that it is known to have come.
	s.change(func() { s.broken = answer(http.StatusBadGateway) })
	r.clock.advance(time.Second)
	r.Wait("(2s ago): /metrics answers 502")
	s.change(func() { s.broken = answer(http.StatusGatewayTimeout) })
	r.clock.advance(3 * time.Second)
	r.Wait("(5s ago): /metrics answers 504")
	s.change(func() {
		s.broken = nil
		s.traffic("shop.example.com", "/", 1200, 0, 2) // 200 a second over the 6 that are missing
	})
	r.clock.advance(time.Second)
	r.golden("back", " 200 ", "2.00")
}

// Counters that begin anew read as 0 for one interval, and never as a burst.
func TestCountersBeginAnew(t *testing.T) {
	r, s := busy(t, 80, 24, nil)
	s.change(func() {
		for name := range s.series {
			s.series[name] = 0
		}
		s.series["ramjet_active_connections"] = 3
		for i := range s.routes.Routes {
			s.routes.Routes[i].Numbers = admin.Numbers{}
		}
		s.traffic("shop.example.com", "/", 7, 7, 1)
		s.started = epoch
	})
	r.clock.advance(time.Second)
	r.golden("anew", "13s", "0.0")
	s.change(func() { s.traffic("shop.example.com", "/", 50, 5, 1) })
	r.clock.advance(time.Second)
	r.golden("anew-counts", "50.0", "10.0%")
}

// A route that comes has no rate for one interval; one that comes back is new.
func TestRoutesComeAndGo(t *testing.T) {
	r, s := busy(t, 80, 24, nil)
	var gone admin.Route
	s.change(func() {
		gone = s.routes.Routes[4]
		s.routes.Routes = append(s.routes.Routes[:4], s.routes.Routes[5])
		s.route("new.example.com", "/", "Prefix", "shop/new:80", 1).Requests = 70000
	})
	r.clock.advance(time.Second)
	r.golden("route-new", "new.example.com")
	s.change(func() {
		s.routes.Routes = append(s.routes.Routes, gone)
		s.traffic("new.example.com", "/", 30, 0, 1)
	})
	r.clock.advance(time.Second)
	r.golden("route-back", "/checkout", "30.0")
}

// The emergency brake, as it looks.
func TestPinnedScreen(t *testing.T) {
	r, s := busy(t, 80, 24, nil)
	r.Type("\tj")
	r.Wait("▸     41")
	r.Type("p")
	r.golden("question", "Pin generation 41, applied 3h ago?  ")
	r.Type("y")
	r.Wait("Pinned: generation 41 serves", "PINNED")
	s.change(func() {
		held := applied(43, -13*time.Second, 6, "1 cert rotated (gen 42→43)", admin.Diff{CertsRotated: []string{"shop.example.com"}})
		held.Published = false
		s.generations.Generations = append([]admin.Generation{held}, s.generations.Generations...)
	})
	r.clock.advance(75 * time.Second)
	r.Wait("gen 42→43")
	r.Type("k")
	r.golden("pinned", "▸     42", "PINNED  generation 41 since ", "2 newer not served", "held")
}

// screenOfDocument is a screen in the manual: its name and its text.
var screenOfDocument = regexp.MustCompile("<!-- screen: ([a-z0-9-]+) -->\n```text\n((?s).*?)```\n")

// What the manual shows is what the program shows, but for empty lines.
func TestScreensOfManual(t *testing.T) {
	text, err := os.ReadFile("../../docs/ramjet-top.md")
	if err != nil {
		t.Fatal(err)
	}
	all := screenOfDocument.FindAllStringSubmatch(string(text), -1)
	if len(all) < 4 {
		t.Fatalf("the manual has %d screens", len(all))
	}
	emptyLines := regexp.MustCompile(`\n{2,}`)
	for _, m := range all {
		want, err := os.ReadFile("testdata/screens/" + m[1] + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if emptyLines.ReplaceAllString(m[2], "\n") != emptyLines.ReplaceAllString(string(want), "\n") {
			t.Errorf("the manual shows %s as\n%s\nand the program as\n%s", m[1], m[2], want)
		}
	}
}
