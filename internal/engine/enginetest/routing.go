package enginetest

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"ramjet.dev/ingress/internal/route"
)

// routing are the cases of testdata/routing, one feature for each file, and what
// does not fit a line. The lines of a case:
//
//	route: HOST PATH TYPE -> BACKEND    as in the text form of a table; * is no host
//	default: BACKEND
//	ask: HOST TARGET -> BACKEND         the target must arrive as it was sent
//	ask: HOST TARGET -> BACKEND TARGET  as which it must arrive
//	ask: HOST TARGET -> STATUS          the proxy answers itself
//
// In asks, - is an empty host, and escapes are those of exchanges. Each is asked
// over HTTP/1.1 and over HTTP/2, where what is refused may also be taken for a
// malformed message (RFC 9113 section 8.1.1).
var routing = features{
	"files": func(t *T) {
		for file, list := range stanzas(t, "routing", "route", "default", "ask") {
			for _, s := range list {
				t.Run(strings.TrimSuffix(path.Base(file), ".txt")+"/"+s.name, func(t *T) {
					t.Parallel()
					runRouting(t, s)
				})
			}
		}
	},
	"exact beats prefix whatever is older and comes first": exactBeatsPrefix,
	"host names of a table are compared without case":      upperCaseTable,
}

// named is an origin for several backends' names, told apart by address.
type named map[string]*Origin

// origin returns the origin that answers with a name.
func (n named) origin(t *T, name string) *Origin {
	if n[name] == nil {
		n[name] = NewOrigin(t, Text(name))
	}
	return n[name]
}

// spec is a configuration of these lines of the table's text form, with an
// origin for every backend that they name.
func (n named) spec(t *T, lines ...string) route.Spec {
	t.Helper()
	spec, err := route.ParseText(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{spec.DefaultBackend: spec.DefaultBackend != ""}
	for _, r := range spec.Routes {
		names[r.Backend] = true
	}
	for name, used := range names {
		if used {
			b := specFor(n.origin(t, name).Address).Backends[0]
			b.Name = name
			spec.Backends = append(spec.Backends, b)
		}
	}
	return spec
}

// tableLines are the routes and the default of a case in the text form of a table.
func (s *stanza) tableLines() []string {
	var lines []string
	for _, r := range s.values("route") {
		lines = append(lines, "route "+r)
	}
	for _, d := range s.values("default") {
		lines = append(lines, "default-backend "+d)
	}
	return lines
}

func runRouting(t *T, s *stanza) {
	origins := named{}
	p := t.Start(Setup{Spec: origins.spec(t, s.tableLines()...)})
	h1, h2 := p.Dial(), p.DialH2(0)
	for _, ask := range s.values("ask") {
		q := parseAsk(t, s, ask)
		before := len(origins.origin(t, q.backend).Heads())
		if q.host != "" || q.status != 0 { // an empty Host is for HTTP/1.0 only
			h1.Send("GET " + q.target + " HTTP/1.1\r\nHost: " + q.host + "\r\n\r\n")
			a, _ := h1.Final("GET")
			if q.check(t, "HTTP/1.1", a.Status, a.Body); a.Close {
				h1 = p.Dial()
			}
		}
		a := h2.get(q.host, q.target)
		if status, _ := strconv.Atoi(a.status()); q.status != 400 || a.reset != "PROTOCOL_ERROR" {
			q.check(t, "HTTP/2", status, a.body)
		}
		for _, head := range origins.origin(t, q.backend).Heads()[before:] {
			if want := "GET " + q.forwarded + " HTTP/1.1\r\nHost: " + q.host + "\r\n"; !strings.HasPrefix(head, want) {
				t.Errorf("%s: %s: the origin got %q, want %q", s.at, ask, head, want)
			}
		}
	}
}

type ask struct {
	at, text     string
	host, target string
	backend      string
	forwarded    string
	status       int
}

func parseAsk(t *T, s *stanza, text string) ask {
	t.Helper()
	words := strings.Fields(text)
	if len(words) < 4 || len(words) > 5 || words[2] != "->" {
		t.Fatalf("%s: an ask is HOST TARGET -> BACKEND [TARGET], not %q", s.at, text)
	}
	for i := range words {
		var err error
		if words[i], err = unescape(words[i]); err != nil {
			t.Fatal(err)
		}
	}
	q := ask{at: s.at, text: text, host: words[0], target: words[1], backend: words[3], forwarded: words[len(words)-1]}
	if q.host == "-" {
		q.host = ""
	}
	if len(words) == 4 {
		q.forwarded = q.target
	}
	if n, err := strconv.Atoi(q.backend); err == nil {
		q.status = n
	}
	return q
}

func (q ask) check(t *T, protocol string, status int, body string) {
	t.Helper()
	switch {
	case q.status == 0 && (status != 200 || body != q.backend):
		t.Errorf("%s: %s over %s: got %d %q", q.at, q.text, protocol, status, body)
	case q.status != 0 && (status != q.status || !strings.HasPrefix(body, fmt.Sprint(status, " "))):
		t.Errorf("%s: %s over %s: got %d %q", q.at, q.text, protocol, status, body)
	}
}

// exactBeatsPrefix tries both ages and both orders of two rules for one path.
func exactBeatsPrefix(t *T) {
	origins := named{}
	p := t.Start(Setup{})
	c := p.Dial()
	for _, older := range []string{"exact", "prefix"} {
		for _, listed := range []string{"exact", "prefix"} {
			spec := origins.spec(t, "route a.test / Exact -> exact", "route a.test / Prefix -> prefix")
			spec.Routes[0].Created, spec.Routes[1].Created = 1, 2
			if older == "prefix" {
				spec.Routes[0].Created = 3
			}
			if listed == "prefix" {
				spec.Routes[0], spec.Routes[1] = spec.Routes[1], spec.Routes[0]
			}
			p.Publish(spec)
			for target, want := range map[string]string{"/": "exact", "/?q": "exact", "/x": "prefix"} {
				if a := c.Do("GET", "GET "+target+" HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Body != want {
					t.Errorf("%s is older, %s listed first: %s went to %q, want %q", older, listed, target, a.Body, want)
				}
			}
		}
	}
}

// upperCaseTable has capitals in the configuration instead of the request.
func upperCaseTable(t *T) {
	origins := named{}
	p := t.Start(Setup{Spec: origins.spec(t, "route Shop.Test / Prefix -> shop", "route *.W.Test / Prefix -> wild")})
	c := p.Dial()
	for host, want := range map[string]string{"shop.test": "shop", "SHOP.TEST": "shop", "a.w.test": "wild", "A.W.TEST": "wild"} {
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); a.Body != want {
			t.Errorf("%s went to %d %q, want %q", host, a.Status, a.Body, want)
		}
	}
}
