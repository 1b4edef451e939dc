package top_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/top"
)

func contains(screen, text string) bool { return strings.Contains(screen, text) }

func lastLine(screen string) string {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	return lines[len(lines)-1]
}

// hangUp ends the connection instead of answering.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		c.Close()
	}
}

// answer is a status and nothing else.
func answer(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// Whatever a server answers instead, the last data stays and the reason is shown.
func TestBrokenServers(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken http.HandlerFunc
		reason string
	}{
		{"500", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "boom", 500) }, "/metrics answers 500 Internal Server Error"},
		{"500 with a reason", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			fmt.Fprint(w, `{"error":"\u001b]0;owned\u0007stopping"}`)
		}, "/metrics answers 503 Service Unavailable: \uFFFD]0;owned\uFFFDstopping"},
		{"another program", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>\x1b[31mhello") }, "this is not the answer of a ramjet-ingressd admin port"},
		{"empty", func(http.ResponseWriter, *http.Request) {}, "there is no ramjet_active_connections"},
		{"not a number", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ramjet_pinned NaN\n") }, "this is not the answer"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, "/metrics answers 302 Found"},
		{"nothing", hangUp, "the connection broke off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := newClock()
			s := serve(t, clock)
			shop(s)
			r := watch(t, 200, 24, clock, nil, s)
			r.Wait("3h12m")
			s.change(func() { s.broken = c.broken })
			clock.advance(time.Second)
			r.Wait("STALE  since 09:26:53 (1s ago)", c.reason, "shop.example.com")
		})
	}
}

// A server that is slow is marked as soon as it takes longer than an interval, and is
// not asked again before it has answered.
func TestSlowServer(t *testing.T) {
	clock := newClock()
	s := serve(t, clock)
	shop(s)
	r := watch(t, 80, 24, clock, nil, s)
	r.Wait("3h12m")
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	s.change(func() {
		s.broken = func(w http.ResponseWriter, _ *http.Request) {
			asked <- struct{}{}
			<-answer
			hangUp(w, nil)
		}
	})
	defer close(answer)
	clock.advance(time.Second)
	<-asked
	clock.advance(time.Second)
	clock.advance(time.Second)
	r.Wait("STALE  since 09:26:53 (3s ago): no answer for 2s")
	if len(asked) != 0 {
		t.Error("asked again before the answer")
	}
}

// Nobody answers from the beginning on.
func TestUnreachable(t *testing.T) {
	clock := newClock()
	s := serve(t, clock)
	s.change(func() { s.broken = hangUp })
	r := watch(t, 80, 24, clock, nil, s)
	r.golden("unreachable", "10.0.0.7:10254: the connection broke off")
	s.change(func() { shop(s); s.broken = nil })
	clock.advance(time.Second)
	r.Wait("3h12m", "shop.example.com")
}

// Names are what strangers chose (O04): they stay in their columns and do nothing to the
// terminal.
func TestHostileNames(t *testing.T) {
	clock := newClock()
	s := serve(t, clock)
	s.route("\x1b[2J\x1b]0;owned\x07evil.test", "/\u202egnp.exe", "Prefix", "ns/\x9bback\r\nend", 1)
	s.route(strings.Repeat("very-long-", 800)+"host.test", "/"+strings.Repeat("p", 9000), "Exact", strings.Repeat("b", 5000), 1)
	s.route("日本語.例え", "/カート", "Prefix", "店/ウェブ:80", 2).Canary = &admin.Canary{Backend: "次\x1b[7m", WeightPercent: 12.345}
	s.route("e\u0301"+strings.Repeat("\u0301", 500)+".test", "/\u200b", "Prefix\x00", "web", 1)
	s.route("bad-\xff\xfe.test", "/\xc3", "ImplementationSpecific", "web", 1)
	s.generations.Generations = []admin.Generation{applied(1, time.Minute, 5, "\x1b[31m5 routes added\nfaked line", admin.Diff{
		RoutesAdded: []string{"\x1b[2Jevil.test / -> web", strings.Repeat("wide-", 100) + "日本 / -> web"},
	})}
	r := watch(t, 80, 24, clock, nil, s)
	r.golden("hostile", "owned", "日本語.例え")
	r.Type("h\t\r")
	r.golden("hostile-diff", "faked line")
	for _, bad := range []string{"owned\x07", "\x1b]0;", "\x1b[2Jevil", "\u202e", "\x1b[7m次"} {
		if contains(r.Raw(), bad) {
			t.Errorf("%q came through to the terminal", bad)
		}
	}
}

// Several daemons: the sum, a row for each, and one that is gone does not count.
func TestReplicas(t *testing.T) {
	clock := newClock()
	daemons := []*scripted{serve(t, clock), serve(t, clock), serve(t, clock)}
	for i, d := range daemons {
		shop(d)
		d.started = d.started.Add(-time.Duration(i) * time.Hour)
	}
	daemons[1].generations.Serving, daemons[1].generations.Pinned = 41, new(uint64(41))
	r := watch(t, 80, 24, clock, nil, daemons...)
	r.Wait("3h12m", "4h12m", "5h12m")
	for i, d := range daemons {
		d.change(func() { d.traffic("shop.example.com", "/api", 100*uint64(i+1), uint64(i), float64(2+i)) })
	}
	clock.advance(time.Second)
	r.golden("replicas", "3 of 3 replicas", "600", "41–42", "PINNED")
	r.Type("\t")
	r.golden("replicas-timeline", "REPLICA", "pinned")
	r.Type("\t")
	daemons[2].change(func() { daemons[2].broken = hangUp })
	for _, d := range daemons[:2] {
		d.change(func() { d.traffic("shop.example.com", "/", 10, 0, 1) })
	}
	clock.advance(time.Second)
	r.golden("replicas-one-gone", "2 of 3 replicas", "STALE  10.0.0.9:10254 since 09:26:54", "20.0")
}

// Pinning is for the replica under the cursor alone.
func TestPinOneReplica(t *testing.T) {
	clock := newClock()
	daemons := []*scripted{serve(t, clock), serve(t, clock)}
	for _, d := range daemons {
		shop(d)
	}
	r := watch(t, 120, 30, clock, nil, daemons...)
	r.Wait("2 of 2 replicas", "shop.example.com")
	r.Type("\tj")
	r.Wait("▸  10.0.0.8:10254")
	r.Type("p")
	r.Wait("Pin generation 42 on 10.0.0.8:10254", "y = yes")
	r.Type("y")
	r.Wait("Pinned on 10.0.0.8:10254: generation 42 serves", "PINNED  generation 42 on 10.0.0.8:10254")
	for i, d := range daemons {
		d.change(func() {
			if len(d.changes) != i {
				t.Errorf("replica %d was told %q", i, d.changes)
			}
		})
	}
}

// Twenty replicas leave room for the routes; those in trouble are seen.
func TestManyReplicas(t *testing.T) {
	clock := newClock()
	var daemons []*scripted
	for i := range 20 {
		d := serve(t, clock)
		shop(d)
		if i == 17 {
			d.broken = hangUp
		}
		daemons = append(daemons, d)
	}
	r := watch(t, 80, 24, clock, nil, daemons...)
	r.Wait("19 of 20 replicas", "STALE", "10.0.0.24:10254", "and 15 more", "shop.example.com")
}

// Terminals of all sizes: nothing is wider or longer, and a small one is told.
func TestSizes(t *testing.T) {
	for _, size := range [][2]int{{20, 5}, {39, 10}, {40, 10}, {60, 12}, {80, 20}, {300, 90}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			clock := newClock()
			s := serve(t, clock)
			shop(s)
			r := watch(t, size[0], size[1], clock, func(o *top.Options) {}, s)
			if size[0] < 40 || size[1] < 10 {
				r.Wait("too small", "80x24")
				return
			}
			r.Wait("shop")
			r.Type("\tj\r")
			r.Wait("1 route added, 1 route")
			r.Type("?")
			r.Wait("PgDn")
		})
	}
}
