package enginetest

import (
	"errors"
	"io"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ramjet.dev/ingress/internal/engine"
)

// exchanges are the cases of testdata/exchange, one feature for each file. The
// lines of a case:
//
//	with: trust CIDR | underscores | max-header-bytes N | tls   options, any number
//	methods: those of the requests in send, if not a single one with a body in its answer
//	send: what the client sends, as one write
//	answer: what the origin answers to the first, second … request; default 200 "ok"
//	show: forwarding, to list the fields that this hop writes itself
//	origin: what the origin got, a line for each request
//	client: what the client got, a line for each response; then closed or open
//
// The origin has a connection that was used before, and after the case another
// client sends an innocent request: whatever the case left on the way would
// meet it.
var exchanges = features{
	"wire": func(t *T) {
		for file, list := range stanzas(t, "exchange", "with", "methods", "send", "answer", "show", "origin", "client") {
			t.Run(strings.TrimSuffix(path.Base(file), ".txt"), func(t *T) {
				if updating {
					t.Cleanup(func() { writeStanzas(t, file, list) })
				}
				for _, s := range list {
					t.Run(s.name, func(t *T) {
						t.Parallel()
						runExchange(t, s)
					})
				}
			})
		}
	},
}

func runExchange(t *T, s *stanza) {
	got := play(t, s, manner{show: len(s.values("show")) > 0})
	s.compare(t, got.lines())
}

// manner is how a case is played.
type manner struct {
	name   string
	tls    bool // over TLS even if the case does not ask for it
	pieces bool // each byte is a write of its own
	show   bool // the fields that this hop writes itself are listed
}

// play runs a case against an engine from its start to its end.
func play(t *T, s *stanza, how manner) *exchangeCase {
	x := &exchangeCase{t: t, how: how}
	for _, a := range s.values("answer") {
		x.answers = append(x.answers, x.bytes(a))
	}
	o := NewOrigin(t, x.origin)
	p := t.Start(x.setup(s, o))
	if got := p.Dial().Do("GET", probe("/warm")); got.Body != "/warm" {
		t.Fatalf("before the case: %+v", got)
	}
	x.client(s, p)
	if got := p.Dial().Do("GET", probe("/innocent")); got.Body != "/innocent" {
		t.Errorf("the innocent request after the case: %+v", got)
	}
	p.Stop(patience)
	p.Pools.Close()
	o.settle(t)
	x.proxy = p
	return x
}

// lines are what the origin and the client got.
func (x *exchangeCase) lines() []line {
	var got []line
	for _, text := range x.atOrigin {
		got = append(got, line{"origin", text})
	}
	if len(got) == 0 {
		got = append(got, line{"origin", "nothing"})
	}
	for _, text := range x.atClient {
		got = append(got, line{"client", text})
	}
	return got
}

// compare holds the origin and client lines against what happened.
func (s *stanza) compare(t *T, got []line) {
	t.Helper()
	var kept []line
	var wanted, have strings.Builder
	for _, l := range s.lines {
		if l.key == "origin" || l.key == "client" {
			wanted.WriteString(l.String() + "\n")
		} else {
			kept = append(kept, l)
		}
	}
	for _, l := range got {
		have.WriteString(l.String() + "\n")
	}
	if updating {
		s.lines = append(kept, got...)
		return
	}
	if wanted.String() != have.String() {
		t.Errorf("%s: %s\ngot:\n%swant:\n%s", s.at, s.name, &have, &wanted)
	}
}

type exchangeCase struct {
	t     *T
	how   manner
	proxy *Proxy // stopped

	mu       sync.Mutex
	answers  []string
	atOrigin []string
	atClient []string
}

func (x *exchangeCase) bytes(text string) string {
	x.t.Helper()
	b, err := unescape(text)
	if err != nil {
		x.t.Fatal(err)
	}
	return b
}

func (x *exchangeCase) setup(s *stanza, o *Origin) Setup {
	setup := Setup{Spec: o.Spec()}
	setup.Change = func(options *engine.Options) {
		for _, w := range s.values("with") {
			word, arg, _ := strings.Cut(w, " ")
			switch word {
			case "tls":
			case "trust":
				options.Trust = engine.NewTrust([]netip.Prefix{netip.MustParsePrefix(arg)})
			case "underscores":
				options.Underscores = true
			case "max-header-bytes":
				options.MaxHeaderBytes, _ = strconv.Atoi(arg)
			default:
				x.t.Fatalf("%s: unknown option %q", s.at, w)
			}
		}
	}
	if x.how.tls || slices.Contains(s.values("with"), "tls") {
		setup.Hosts = []string{"a.test"}
	}
	return setup
}

// probe is a request of the runner's own, for which origin answers its path.
func probe(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: probe.test\r\n\r\n" }

func (x *exchangeCase) origin(e *Exchange) error {
	m, err := e.message()
	if m == nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.vouched(m)
	if host := m.field("Host"); len(host) == 1 && host[0] == "probe.test" {
		return e.Reply("200 OK", e.Target())
	}
	x.atOrigin = append(x.atOrigin, m.text(x.hidden))
	if err != nil {
		return err
	}
	answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	if len(x.answers) > 0 {
		answer, x.answers = x.answers[0], x.answers[1:]
	}
	answer, closes := strings.CutSuffix(answer, "␄")
	if err := e.Raw(answer); err != nil || closes {
		return ErrClose
	}
	return nil
}

// own are the fields that this hop vouches for: each request has each of them
// once, whatever its client did.
var own = []string{"X-Forwarded-For", "X-Real-Ip", "X-Forwarded-Proto", "X-Forwarded-Scheme", "X-Scheme",
	"X-Forwarded-Host", "X-Forwarded-Port", "X-Request-Id"}

func (x *exchangeCase) vouched(m *message) {
	for _, name := range own {
		if name == "X-Forwarded-Host" && m.field("Host")[0] == "" {
			continue // HTTP/1.0 may name none
		}
		if got := m.field(name); len(got) != 1 {
			x.t.Errorf("the origin got %d times %s in %q", len(got), name, m.fields)
		}
	}
	for i, f := range m.fields {
		if name, value, _ := strings.Cut(f, ": "); strings.EqualFold(name, "X-Request-Id") && madeID.MatchString(value) {
			m.fields[i] = name + ": <made>"
		}
	}
}

var madeID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func (x *exchangeCase) hidden(name string) bool {
	if !x.how.show {
		for _, o := range own {
			if name == o {
				return true
			}
		}
	}
	return false
}

// client sends the bytes and notes what comes back, then asks on the same
// connection for something else.
func (x *exchangeCase) client(s *stanza, p *Proxy) {
	c := p.Dial()
	if p.HTTPS != "" {
		c = p.DialTLS("a.test")
	}
	defer c.Close()
	methods := []string{"GET"}
	if m := s.values("methods"); len(m) > 0 {
		methods = strings.Fields(m[0])
	}
	sent := x.bytes(strings.Join(s.values("send"), ""))
	for x.how.pieces && len(sent) > 1 {
		c.Send(sent[:1])
		sent = sent[1:]
	}
	c.Send(sent)
	for len(methods) > 0 {
		m, ok := x.next(c, methods[0])
		if !ok {
			x.atClient = append(x.atClient, "closed")
			return
		}
		if m.status() >= 200 {
			methods = methods[1:]
		}
	}
	c.Send(probe("/after"))
	for {
		switch m, ok := x.next(c, "GET"); {
		case !ok:
			x.atClient = append(x.atClient, "closed")
			return
		case m.body == "/after":
			x.atClient[len(x.atClient)-1] = "open"
			return
		}
	}
}

func (x *exchangeCase) next(c *Raw, method string) (*message, bool) {
	m, err := readMessage(c.In, func(m *message) bool {
		status := m.status()
		return method == "HEAD" || status < 200 || status == 204 || status == 304
	})
	if errors.Is(err, io.EOF) || isReset(err) {
		return nil, false
	}
	if err != nil {
		x.t.Fatalf("reading an answer: %v\nreceived: %q", err, c.Transcript())
	}
	m.dropClock()
	x.atClient = append(x.atClient, m.text(func(string) bool { return false }))
	return m, true
}
