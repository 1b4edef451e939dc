package engine

import (
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/route"
)

// table is a configuration in its text form.
func table(t testing.TB, text string) *route.Table {
	t.Helper()
	spec, err := route.ParseText(text)
	if err != nil {
		t.Fatal(err)
	}
	compiled, diagnostics := route.Compile(spec)
	for _, d := range diagnostics {
		t.Fatalf("%s: %s", d.Reason, d.Message)
	}
	return compiled
}

const planTable = `
default-backend fallback
backend fallback roundRobin HTTP
backend web roundRobin HTTP
backend api roundRobin HTTP
backend next roundRobin HTTP
route a.test / Prefix -> web
route a.test /api Prefix -> api
route a.test /canary Prefix -> web
  canary next weight=0/100 header=x-canary
route * /any Prefix -> web
`

// noFields is a request without any.
type noFields struct{}

func (noFields) Field(string) (string, bool)  { return "", false }
func (noFields) Cookie(string) (string, bool) { return "", false }

func TestPlan(t *testing.T) {
	compiled := table(t, planTable)
	for _, c := range []struct {
		method, target, host string
		backend              string // or
		reply                *Reply
		forward, authority   string // "" = as sent
	}{
		{"GET", "/", "a.test", "web", nil, "", ""},
		{"GET", "/api/x?y=%zz", "A.Test.:80", "api", nil, "", ""},
		{"GET", "/x", "b.test", "fallback", nil, "", ""},
		{"GET", "/any", "b.test", "web", nil, "", ""},
		{"GET", "/x/../api?/../", "a.test", "api", nil, "/api?/../", ""},
		{"GET", "/%2e%2E/", "a.test", "", ReplyClimbs, "", ""},
		{"GET", "/%00", "a.test", "", ReplyNUL, "", ""},
		{"GET", "/%", "a.test", "", ReplyPercent, "", ""},
		{"GET", "//a.test/api", "a.test", "web", nil, "", ""},
		{"GET", "/%61pi", "a.test", "api", nil, "", ""},

		{"GET", "http://a.test/api", "b.test", "api", nil, "/api", "a.test"},
		{"GET", "HTTPS://A.TEST:8443/api?x", "b.test", "api", nil, "/api?x", "A.TEST:8443"},
		{"GET", "http://a.test", "b.test", "web", nil, "/", "a.test"},
		{"GET", "http://a.test?x", "b.test", "web", nil, "/?x", "a.test"},
		{"GET", "http://a.test/x/..", "b.test", "web", nil, "/", "a.test"},
		{"GET", "http://u:p@a.test/", "a.test", "", ReplyUserinfo, "", ""},
		{"GET", "http://@a.test/", "a.test", "", ReplyUserinfo, "", ""},
		{"GET", "http:///x", "a.test", "", ReplyBadTarget, "", ""},
		{"GET", "http://a.test:port/", "a.test", "", ReplyBadHost, "", ""},
		{"GET", "ftp://a.test/", "a.test", "", ReplyBadTarget, "", ""},
		{"GET", "a.test/", "a.test", "", ReplyBadTarget, "", ""},
		{"GET", "", "a.test", "", ReplyBadTarget, "", ""},
		{"GET", "x", "a.test", "", ReplyBadTarget, "", ""},

		{"OPTIONS", "*", "a.test", "fallback", nil, "*", ""},
		{"OPTIONS", "http://a.test", "b.test", "fallback", nil, "*", "a.test"},
		{"OPTIONS", "http://a.test/", "b.test", "web", nil, "/", "a.test"},
		{"OPTIONS", "http://a.test?x", "b.test", "web", nil, "/?x", "a.test"},
		{"GET", "*", "a.test", "", ReplyBadTarget, "", ""},
		{"CONNECT", "a.test:443", "a.test", "", ReplyConnect, "", ""},

		{"GET", "/", "", "", ReplyBadHost, "", ""},
		{"GET", "/", "a,b", "", ReplyBadHost, "", ""},
		{"GET", "/", "a.test/x", "", ReplyBadHost, "", ""},
		{"GET /x HTTP/1.1\r\nX:", "/", "a.test", "", ReplyBadMethod, "", ""},
		{"", "/", "a.test", "", ReplyBadMethod, "", ""},
		{"GET", "/ HTTP/1.1", "a.test", "", ReplyBadTarget, "", ""},
		{"GET", "/\r\n", "a.test", "", ReplyBadTarget, "", ""},
		{"GET", "/#x", "a.test", "", ReplyBadTarget, "", ""},
		{"GET", "/\x7f", "a.test", "", ReplyBadTarget, "", ""},
		{"GET", "/\u00e4", "a.test", "web", nil, "", ""},
	} {
		p, reply := NewPlan(compiled, &Request{Method: c.method, Target: c.target, Host: c.host, Fields: noFields{}})
		if reply != c.reply {
			t.Errorf("%s %s, Host %q: reply %+v, want %+v", c.method, c.target, c.host, reply, c.reply)
			continue
		}
		if reply != nil {
			continue
		}
		forward, authority := c.forward, c.authority
		if forward == "" {
			forward = c.target
		}
		if authority == "" {
			authority = c.host
		}
		if p.Backend.Name != c.backend || p.Target != forward || p.Authority != authority || p.Canary {
			t.Errorf("%s %s, Host %q: %s for %q to %s, canary %v; want %s for %q to %s",
				c.method, c.target, c.host, p.Target, p.Authority, p.Backend.Name, p.Canary, forward, authority, c.backend)
		}
	}
}

func TestPlanHostOptional(t *testing.T) {
	p, reply := NewPlan(table(t, planTable), &Request{Method: "GET", Target: "/any", HostOptional: true, Fields: noFields{}})
	if reply != nil || p.Backend.Name != "web" || p.Authority != "" {
		t.Errorf("got %+v, %+v", p, reply)
	}
}

func TestPlanNoRoute(t *testing.T) {
	p, reply := NewPlan(table(t, strings.Replace(planTable, "default-backend fallback", "", 1)),
		&Request{Method: "GET", Target: "/x", Host: "b.test", Fields: noFields{}})
	if reply != ReplyNoRoute || p.Route != nil || p.Target != "/x" || p.Authority != "b.test" {
		t.Errorf("got %+v, %+v", p, reply)
	}
}

// canaryHeader is a request with this field and no other.
type canaryHeader string

func (c canaryHeader) Field(name string) (string, bool) {
	return string(c), strings.EqualFold(name, "x-canary")
}
func (canaryHeader) Cookie(string) (string, bool) { return "", false }

func TestPlanCanary(t *testing.T) {
	compiled := table(t, planTable)
	for value, want := range map[string]string{"always": "next", "never": "web", "other": "web"} {
		p, reply := NewPlan(compiled, &Request{Method: "GET", Target: "/canary", Host: "a.test", Fields: canaryHeader(value)})
		if reply != nil || p.Backend.Name != want || p.Canary != (want == "next") || p.Route.Backend.Name != "web" {
			t.Errorf("%s: %s, canary %v, of %v", value, p.Backend.Name, p.Canary, p.Route)
		}
	}
}

func TestPlanAllocations(t *testing.T) {
	compiled := table(t, planTable)
	q := &Request{Method: "GET", Target: "/api/x?y=z", Host: "a.test", Fields: noFields{}}
	if n := testing.AllocsPerRun(100, func() { NewPlan(compiled, q) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzPlan: whatever a client sends, what goes upstream is a request line and a
// Host that end where they should.
func FuzzPlan(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/api/../x?y", "a.test"}, {"OPTIONS", "*", "a.test"}, {"GET", "http://a.test", "b.test:80"},
		{"GET", "/%2e%2e/%2F", "[::1]:80"}, {"OPTIONS", "https://a.test?", ""}, {"G\r\n", "/ \x00", "a\nb"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	compiled := table(f, planTable)
	f.Fuzz(func(t *testing.T, method, target, host string) {
		p, reply := NewPlan(compiled, &Request{Method: method, Target: target, Host: host, Fields: noFields{}})
		if reply != nil {
			return
		}
		if p.Target != "*" && !strings.HasPrefix(p.Target, "/") {
			t.Errorf("target %q becomes %q", target, p.Target)
		}
		for _, part := range []string{method, p.Target, p.Authority} {
			if i := strings.IndexFunc(part, func(r rune) bool { return r <= ' ' || r == 0x7f }); i >= 0 {
				t.Errorf("%q goes upstream with %q in it", part, part[i])
			}
		}
		again, reply := NewPlan(compiled, &Request{Method: method, Target: p.Target, Host: p.Authority, Fields: noFields{}})
		if reply != nil || again.Target != p.Target || again.Route != p.Route {
			t.Errorf("the next hop would send %q, %q on as %q to %v, this one sent it to %v (%v)",
				p.Target, p.Authority, again.Target, again.Route, p.Route, reply)
		}
	})
}
