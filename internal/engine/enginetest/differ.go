package enginetest

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/engine"
)

// Differ plays the cases of testdata on two engines and fails where a client, an
// origin, a counter or the access log could tell which of them it was. Each
// exchange is played in several manners: over plaintext and TLS, as one write and
// byte by byte. Nothing may differ but the ids that an engine makes, the clock, and
// what a message leaves open: the order of fields with different names, the
// spelling of their names, and where a body is cut into chunks.
//
// New behaviour is added to testdata first.
func Differ(t *testing.T, first, second New) {
	t.Run("exchange", func(t *testing.T) { differ(t, first, second, exchangeTranscripts) })
	t.Run("routing", func(t *testing.T) { differ(t, first, second, routingTranscripts) })
}

// differ compares what the two engines make of each case.
func differ(t *testing.T, first, second New, cases func(testing.TB) map[string]func(*T) string) {
	for name, transcript := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := transcript(&T{t, first}), transcript(&T{t, second})
			if a != b {
				t.Errorf("%s", unlike(a, b))
			}
		})
	}
}

// unlike lists the lines that two texts do not share, in their order.
func unlike(a, b string) string {
	inA, inB := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out strings.Builder
	for i := range max(len(inA), len(inB)) {
		var one, other string
		if i < len(inA) {
			one = inA[i]
		}
		if i < len(inB) {
			other = inB[i]
		}
		if one != other {
			fmt.Fprintf(&out, "first:  %s\nsecond: %s\n", one, other)
		}
	}
	return out.String()
}

// exchangeTranscripts are the cases of testdata/exchange, each in all manners.
func exchangeTranscripts(t testing.TB) map[string]func(*T) string {
	all := map[string]func(*T) string{}
	for file, list := range stanzas(t, "exchange", "with", "methods", "send", "answer", "show", "origin", "client") {
		for _, s := range list {
			for _, how := range []manner{
				{name: "plain", show: true},
				{name: "in pieces", show: true, pieces: true},
				{name: "TLS", show: true, tls: true},
			} {
				sent, err := unescape(strings.Join(s.values("send"), ""))
				if err != nil {
					t.Fatal(err)
				}
				if how.pieces && len(sent) > 2<<10 {
					continue // a large message takes long, and shows nothing that a small one does not
				}
				name := strings.TrimSuffix(path.Base(file), ".txt") + "/" + s.name + "/" + how.name
				all[name] = func(t *T) string {
					x := play(t, s, how)
					var out strings.Builder
					for _, l := range x.lines() {
						out.WriteString(l.String() + "\n")
					}
					return out.String() + x.proxy.books()
				}
			}
		}
	}
	return all
}

// routingTranscripts are the cases of testdata/routing. Their origins have other
// addresses for each engine, which are left out.
func routingTranscripts(t testing.TB) map[string]func(*T) string {
	all := map[string]func(*T) string{}
	for file, list := range stanzas(t, "routing", "route", "default", "ask") {
		for _, s := range list {
			all[strings.TrimSuffix(path.Base(file), ".txt")+"/"+s.name] = func(t *T) string {
				return askAll(t, s)
			}
		}
	}
	return all
}

// askAll sends the asks of a case over one connection, or over the next when one
// was closed, and returns what came of them.
func askAll(t *T, s *stanza) string {
	origins := named{}
	p := t.Start(Setup{Spec: origins.spec(t, s.tableLines()...)})
	var out strings.Builder
	c := p.Dial()
	for _, text := range s.values("ask") {
		q := parseAsk(t, s, text)
		c.Send("GET " + q.target + " HTTP/1.1\r\nHost: " + q.host + "\r\n\r\n")
		m, err := readMessage(c.In, func(m *message) bool { return m.status() < 200 })
		if err != nil {
			t.Fatalf("%s: %s: %v", s.at, text, err)
		}
		m.dropClock()
		fmt.Fprintf(&out, "%s\n  %s\n", text, m.text(func(string) bool { return false }))
		if len(m.field("Connection")) > 0 {
			c = p.Dial()
		}
	}
	p.Stop(patience)
	for _, name := range slices.Sorted(maps.Keys(origins)) {
		for _, head := range origins[name].Heads() {
			fmt.Fprintf(&out, "%s got %s\n", name, headText(head))
		}
	}
	return out.String() + p.books()
}

// headText is a request head in the form of message.text, without what an engine
// makes up.
func headText(head string) string {
	return newMessage(head).text(func(name string) bool { return name == "X-Request-Id" })
}

// books are the counters of a proxy that was stopped, and the records of its
// exchanges, without what time and chance decide.
func (p *Proxy) books() string {
	var out strings.Builder
	numbers := reflect.ValueOf(&p.Metrics).Elem()
	for i := range numbers.NumField() {
		name := numbers.Type().Field(i).Name
		switch n := numbers.Field(i).Addr().Interface().(type) {
		case *engine.Counter:
			fmt.Fprintf(&out, "%s %d\n", name, n.Load())
		case *engine.Gauge:
			fmt.Fprintf(&out, "%s %d\n", name, n.Load())
		case *[6]engine.Counter:
			for class := range n {
				fmt.Fprintf(&out, "%s %dxx %d\n", name, class, n[class].Load())
			}
		case *engine.Histogram:
			_, count, _ := n.Snapshot()
			fmt.Fprintf(&out, "%s %d\n", name, count)
		default:
			p.T.Fatalf("engine.Metrics.%s is of a kind that is not compared: teach books to", name)
		}
	}
	for _, r := range p.Live.Table().Routes() {
		all, canary := r.Counters.Total(), r.Counters.Canary()
		all.LatencySum, canary.LatencySum = 0, 0
		fmt.Fprintf(&out, "route %s %s: %+v, canary %+v\n", r.Host, r.Path, all, canary)
	}
	// Exchanges of several connections end in no order.
	var records []string
	for _, r := range p.records.all {
		records = append(records, "record "+recordText(r)+"\n")
	}
	slices.Sort(records)
	return out.String() + strings.Join(records, "")
}

// recordText is a record without clocks, addresses and ids that were made.
func recordText(r engine.Record) string {
	if madeID.MatchString(r.RequestID) {
		r.RequestID = "<made>"
	}
	backend, host := "-", "-"
	if r.Plan.Backend != nil {
		backend = r.Plan.Backend.Name
	}
	if r.Plan.Route != nil {
		host = r.Plan.Route.Host + " " + r.Plan.Route.Path
	}
	plan, endpoint, late := r.Plan, r.Endpoint != nil, r.Duration >= 0 && r.Latency >= 0
	r.Start, r.Duration, r.Latency = time.Time{}, 0, 0
	r.Plan, r.Endpoint = engine.Plan{}, nil
	return fmt.Sprintf("%+v, route %s, backend %s, canary %v, target %q, authority %q, endpoint %v, times %v",
		r, host, backend, plan.Canary, plan.Target, plan.Authority, endpoint, late)
}
