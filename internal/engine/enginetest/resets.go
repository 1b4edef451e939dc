package enginetest

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"

	"ramjet.dev/ingress/internal/engine"
)

// resets are origins that end their connection at every byte of a request and of an
// answer, with a reset or without. Nothing that may be repeated fails on a connection
// that was kept, nothing that may not be is sent twice, and nothing is left behind. The
// process is counted, so these tests run alone.
var resets = features{
	"at every byte of a request":       resetRequests,
	"at every byte of an answer":       resetAnswers,
	"while the client has yet to send": resetUploads,
}

// severed is a proxy before two origins that cut: host kept.test's keeps its
// connections, that of new.test does not.
type severed struct {
	*Proxy
	t         *T
	kept, new *severing
	files     int
	routines  int
}

func newSevered(t *T) *severed {
	s := &severed{t: t, kept: newSevering(t, true), new: newSevering(t, false)}
	spec := specFor(s.kept.address)
	other := specFor(s.new.address)
	other.Backends[0].Name, other.Routes[0].Backend = "new", "new"
	spec.Routes[0].Host, other.Routes[0].Host = "kept.test", "new.test"
	spec.Backends, spec.Routes = append(spec.Backends, other.Backends...), append(spec.Routes, other.Routes...)
	s.Proxy = t.Start(Setup{Spec: spec, Change: func(o *engine.Options) { o.Done = nil }})
	return s
}

// origin is the one that has connections of this kind.
func (s *severed) origin(used bool) (o *severing, host string) {
	if used {
		return s.kept, "kept.test"
	}
	return s.new, "new.test"
}

// client is one that has been served by the origin of a host, over a connection that is
// kept if any is.
func (s *severed) client(host string) *Raw {
	c := s.Dial()
	if a := c.Do("GET", "GET /warm HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); a.Status != 200 {
		s.t.Fatalf("before the cut: got %+v", a)
	}
	return c
}

// measure counts what is open; settled wants it to be no more than that.
func (s *severed) measure() {
	s.quiet()
	s.files, s.routines = files(), runtime.NumGoroutine()
}

func (s *severed) settled() {
	s.quiet()
	eventually(s.t, fmt.Sprintf("%d descriptors and %d goroutines, as before", s.files, s.routines), func() bool {
		return files() <= s.files && runtime.NumGoroutine() <= s.routines
	})
}

// quiet waits until there is no connection to either side.
func (s *severed) quiet() {
	for _, o := range []*severing{s.kept, s.new} {
		o.closeAll(s.t)
		eventually(s.t, "no idle connection to be kept", func() bool { return s.Pools.Idle(o.address) == 0 })
	}
	eventually(s.t, "no client", func() bool { return s.Metrics.ActiveConnections.Load() == 0 })
}

// files counts the descriptors of the process, where the system tells.
func files() int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(all)
}

// severable are requests, and whether they may be sent twice.
var severable = []struct {
	request string
	twice   bool
}{
	{"GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", true},
	{"HEAD /x HTTP/1.1\r\nHost: %s\r\n\r\n", true},
	{"DELETE /x HTTP/1.1\r\nHost: %s\r\n\r\n", true},
	{"PUT /x HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n\r\n", true},
	{"POST /x HTTP/1.1\r\nHost: %s\r\n\r\n", false},
	{"POST /x HTTP/1.1\r\nHost: %s\r\nContent-Length: 20\r\n\r\nabcdefghijklmnopqrst", false},
	{"POST /x HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\na\r\nabcdefghij\r\na\r\nklmnopqrst\r\n0\r\n\r\n", false},
	{"PUT /x HTTP/1.1\r\nHost: %s\r\nContent-Length: 20\r\n\r\nabcdefghijklmnopqrst", false}, // its body is gone
}

const brokeOff = "502 Bad Gateway: the backend closed the connection before it answered\n"

// judge compares an answer, and how often the origin was asked, with what has to be.
func (s *severed) judge(what string, o *severing, method string, a Answer, twice bool) {
	s.t.Helper()
	status, times, body := http.StatusBadGateway, 1, brokeOff
	if twice {
		status, times, body = http.StatusOK, 2, ""
	}
	if method == "HEAD" {
		body = ""
	}
	came := 0
	o.read(func() { came = o.came })
	if a.Status != status || a.Body != body || a.BodyErr != nil || came != times {
		s.t.Fatalf("%s: got %+v, the origin was asked %d times; want %d and %d", what, a, came, status, times)
	}
}

// resetRequests: the whole request is sent at once, and the origin reads a part of it.
func resetRequests(t *T) {
	s := newSevered(t)
	try := func(request string, c cut, twice bool) {
		o, host := s.origin(c.used)
		client := s.client(host)
		defer client.Close()
		o.order(c)
		method, _, _ := strings.Cut(request, " ")
		a := client.Do(method, fmt.Sprintf(request, host))
		o.happened(t)
		s.judge(fmt.Sprintf("%q, %+v", request, c), o, method, a, c.used && twice)
	}
	for _, r := range severable {
		for _, used := range []bool{true, false} {
			o, host := s.origin(used)
			client := s.client(host)
			client.Do("HEAD", fmt.Sprintf(r.request, host)) // for its size, and what is made at first use
			client.Close()
			size := 0
			o.read(func() { size = o.size })
			if s.files == 0 {
				try(r.request, cut{used: used, after: size}, r.twice)
				s.measure()
			}
			for n := range size {
				// A reset at each byte, an orderly end at some.
				try(r.request, cut{used: used, after: n + 1, reset: true}, r.twice)
				if n%8 == 0 || n+1 == size {
					try(r.request, cut{used: used, after: n + 1}, r.twice)
				}
			}
		}
	}
	s.settled()
}

// resetUploads: the client sends a part of its body, the origin has read all of that
// when it ends the connection, and the rest comes after.
func resetUploads(t *T) {
	s := newSevered(t)
	for _, request := range []string{severable[5].request, severable[6].request, severable[7].request} {
		for _, used := range []bool{true, false} {
			o, host := s.origin(used)
			whole := fmt.Sprintf(request, host)
			head := strings.Index(whole, "\r\n\r\n") + 4
			client := s.client(host)
			client.Do("POST", whole)
			client.Close()
			size := 0
			o.read(func() { size = o.size })
			if s.files == 0 {
				s.measure()
			}
			chunked := strings.Contains(request, "chunked")
			for sent := head + 1; sent < len(whole); sent++ {
				for _, reset := range []bool{true, false} {
					after := size - (len(whole) - sent)
					if chunked { // how it is cut into chunks is for the proxy to choose
						after = size - (len(whole) - head)
					}
					client := s.client(host)
					o.order(cut{used: used, after: after, reset: reset})
					client.Send(whole[:sent])
					o.happened(t)
					client.Send(whole[sent:])
					a, _ := client.Final("POST")
					s.judge(fmt.Sprintf("%q, %d bytes of which were sent, reset %v", whole, sent, reset), o, "POST", a, false)
					client.Close()
				}
			}
		}
	}
	s.settled()
}

// resetAnswers: the client gets the whole answer only if it was whole, and never waits.
// An answer that has begun is not asked for again.
func resetAnswers(t *T) {
	s := newSevered(t)
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-A: 1\r\n\r\n0123456789",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\nX-B: 2\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
	} {
		for _, method := range []string{"GET", "POST"} {
			for n := range len(answer) + 1 {
				for _, end := range []cut{{}, {reset: true}, {used: true}, {used: true, reset: true}} {
					end.answer = answer[:n]
					s.cutAnswer(method, answer, end)
					if s.files == 0 && end.used {
						s.measure()
					}
				}
			}
		}
	}
	s.settled()
}

func (s *severed) cutAnswer(method, answer string, c cut) {
	o, host := s.origin(c.used)
	client := s.client(host)
	defer client.Close()
	o.order(c)
	client.Send(method + " /x HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 0\r\n\r\n")
	a, _ := client.Final(method)
	o.happened(s.t)
	what := fmt.Sprintf("%s, cut after %d bytes of %q, %+v", method, len(c.answer), answer, c)
	came := 0
	o.read(func() { came = o.came })
	const body = "0123456789"
	whole := a.Status == 200 && a.BodyErr == nil && a.Body == body
	all := len(c.answer) == len(answer)
	// What was sent before a reset may be lost with it.
	repeatable := method == "GET" && c.used && (c.answer == "" || c.reset)
	switch {
	case came == 2 && repeatable:
		if a.Status != 200 || a.Body != "" {
			s.t.Fatalf("%s: repeated, and got %+v", what, a)
		}
	case came != 1:
		s.t.Fatalf("%s: the origin was asked %d times", what, came)
	case repeatable && c.answer == "":
		s.t.Fatalf("%s: not repeated", what)
	case whole && !all:
		s.t.Fatalf("%s: the client got a whole answer", what)
	case !whole && all && !c.reset:
		s.t.Fatalf("%s: not cut, and got %+v", what, a)
	case a.Status != 200 && a.Status != 502:
		s.t.Fatalf("%s: got %+v", what, a)
	case a.Status == 200 && !strings.HasPrefix(body, a.Body):
		s.t.Fatalf("%s: got %q", what, a.Body)
	}
}
