package enginetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/route"
)

// h2Backend are the cases of backends that are dialled with cleartext HTTP/2, with
// clients of every kind; gRPC is a subject of its own.
var h2Backend = features{
	"requests of every protocol":            h2BackendRequests,
	"trailers that frame or route":          h2BackendTrailers,
	"responses that are none":               h2BackendNonsense,
	"a response that breaks off":            h2BackendBroken,
	"a client that breaks its body":         h2BackendBadBody,
	"a client of HTTP/1.1 that goes away":   h2BackendGone,
	"connect failures lead to the next one": h2BackendRetry,
}

// h2cServer is net/http as an HTTP/2 backend without TLS.
func h2cServer(t *T, handler http.HandlerFunc) route.Spec {
	t.Helper()
	l := listen(t)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: handler, Protocols: protocols}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return grpcSpec(l.Addr().String())
}

// rawH2Backend answers every request with these heads, one after the other; the
// last one ends the stream. Nothing in them needs to be valid.
func rawH2Backend(t *T, heads ...[]string) route.Spec {
	t.Helper()
	l := listen(t)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { answerH2(c, heads) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return grpcSpec(l.Addr().String())
}

func answerH2(c net.Conn, heads [][]string) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	write := func(kind, flags byte, stream uint32, payload []byte) {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
		b = binary.BigEndian.AppendUint32(append(b, flags), stream)
		c.Write(append(b, payload...))
	}
	io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
	write(frameSettings, 0, 0, nil)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	var head [9]byte
	for {
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[:4])>>8))
		stream := binary.BigEndian.Uint32(head[5:])
		switch {
		case head[3] == frameSettings && head[4]&flagAck == 0:
			write(frameSettings, flagAck, 0, nil)
		case head[3] == frameHeaders:
			for i, fields := range heads {
				block.Reset()
				for n := 0; n < len(fields); n += 2 {
					encoder.WriteField(hpack.HeaderField{Name: fields[n], Value: fields[n+1]})
				}
				flags := byte(flagEndHeaders)
				if i == len(heads)-1 {
					flags |= flagEndStream
				}
				write(frameHeaders, flags, stream, block.Bytes())
			}
		}
	}
}

func h2BackendRequests(t *T) {
	p := t.Start(Setup{Hosts: []string{"a.test"}, Spec: h2cServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s|%s|%s", r.Proto, r.Method, r.RequestURI, r.Host, body, r.Header.Get("X-Real-Ip"))
	})})
	const want = "HTTP/2.0 POST //x?y=%2f a.test|hello|127.0.0.1"
	for _, framing := range []string{"Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"} {
		c := p.Dial()
		for range 2 {
			if a := c.Do("POST", "POST //x?y=%2f HTTP/1.1\r\nHost: a.test\r\n"+framing); a.Body != want {
				t.Errorf("HTTP/1.1: got %+v", a)
			}
		}
	}
	for _, h := range []*rawH2{p.DialH2(0), p.DialH2TLS("a.test")} {
		s := h.open(false, h2Request("POST", "a.test", "//x?y=%2f")...)
		h.data(s, true, "hello")
		if a := h.answer(s); a.body != want {
			t.Errorf("HTTP/2: got %+v", a)
		}
	}
}

// h2BackendTrailers (P05): what is no field of a request is no field of its trailer.
func h2BackendTrailers(t *T) {
	p := t.Start(Setup{Spec: h2cServer(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, r.Trailer)
		w.(http.Flusher).Flush() // what has a length has no trailer in HTTP/1.1
		w.Header().Set(http.TrailerPrefix+"X-Down", "1")
	})})
	a := p.Dial().Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\n"+
		"Trailer: X-Up, X_Up, Proxy, X-Forwarded-For\r\n\r\n1\r\nx\r\n0\r\nX-Up: 1\r\nX_Up: 2\r\nProxy: 3\r\nX-Forwarded-For: 4\r\n\r\n")
	if a.Body != "map[X-Up:[1]]" || fmt.Sprint(a.Trailer) != "map[X-Down:[1]]" {
		t.Errorf("got %+v", a)
	}
}

func h2BackendNonsense(t *T) {
	many := [][]string{}
	for range engine.MaxInterim + 1 {
		many = append(many, []string{":status", "103"})
	}
	for say, heads := range map[string][][]string{
		"101":                        {{":status", "101"}, {":status", "200"}},
		"101 as the last word":       {{":status", "101"}},
		"a status of two digits":     {{":status", "42"}},
		"a status of four":           {{":status", "1000"}},
		"a status that is none":      {{":status", "abc"}},
		"no status":                  {{"content-type", "text/plain"}},
		"too many interim heads":     append(many, []string{":status", "200"}),
		"an interim head and an end": {{":status", "103"}},
	} {
		p := t.Start(Setup{Spec: rawH2Backend(t, heads...)})
		if a := p.Dial().Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 502 {
			t.Errorf("%s: over HTTP/1.1 got %+v", say, a)
		}
		if a := p.DialH2(0).get("a.test", "/"); a.status() != "502" {
			t.Errorf("%s: over HTTP/2 got %+v", say, a)
		}
	}
}

// h2BackendBroken (B03): half of an answer is not a whole one, whatever was said of its
// length, and the backend is blamed.
func h2BackendBroken(t *T) {
	p := t.Start(Setup{Spec: h2cServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/length" {
			w.Header().Set("Content-Length", "1000")
		}
		io.WriteString(w, half)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})})
	paths := []string{"/length", "/none"}
	for _, path := range paths {
		if a := p.Dial().Do("GET", "GET "+path+" HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 || a.Body != half || a.BodyErr == nil {
			t.Errorf("%s over HTTP/1.1: got %d, %d bytes, %v", path, a.Status, len(a.Body), a.BodyErr)
		}
		if a := p.DialH2(0).get("a.test", path); a.status() != "200" || a.body != half || a.reset != "INTERNAL_ERROR" {
			t.Errorf("%s over HTTP/2: got %s, %d bytes, reset %s", path, a.status(), len(a.body), a.reset)
		}
	}
	wantBlamed(t, p, 2*len(paths))
}

// drained is a handler that reads the body and says how that ended.
func drained(ends chan<- error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		ends <- err
	}
}

func h2BackendBadBody(t *T) {
	ends := make(chan error, 1)
	p := t.Start(Setup{Spec: h2cServer(t, drained(ends))})
	c := p.Dial()
	if a := c.Do("POST", "POST /bad HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n"); a.Status != 400 {
		t.Errorf("got %+v", a)
	}
	if !c.Closed() {
		t.Error("the connection lives")
	}
	if err := await(t, "the end at the backend", ends); err == nil {
		t.Error("the backend has a whole body")
	}
	if r := p.RecordOf("/bad"); r.Status != 400 {
		t.Errorf("the record says %d", r.Status)
	}
}

func h2BackendStall(t *T) {
	ends := make(chan error, 2)
	p := t.Start(Setup{Spec: h2cServer(t, drained(ends)), Change: longIdle})
	if a := p.Dial().Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhe"); a.Status != 408 {
		t.Errorf("over HTTP/1.1 got %+v", a)
	}
	h := p.DialH2(0)
	s := h.open(false, h2Request("POST", "a.test", "/")...)
	h.data(s, false, "he")
	if a := h.answer(s); a.status() != "408" {
		t.Errorf("over HTTP/2 got %+v", a)
	}
	for range 2 {
		if err := await(t, "the end at the backend", ends); err == nil {
			t.Error("the backend has a whole body")
		}
	}
	if n := p.Metrics.UpstreamTimeouts.Load(); n != 0 {
		t.Errorf("%d timeouts of the backend counted, which waited like everybody else", n)
	}
}

func h2BackendGone(t *T) {
	began, ended := make(chan struct{}), make(chan struct{})
	p := t.Start(Setup{Spec: h2cServer(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	})})
	c := p.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	await(t, "the request", began)
	c.Close()
	await(t, "the end at the backend", ended)
	if r := p.Record(1); r.Status != engine.StatusClientGone {
		t.Errorf("the record says %d", r.Status)
	}
}

func h2BackendLatency(t *T) {
	p := t.Start(Setup{Spec: h2cServer(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })})
	c := p.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\n")
	silent(c, c.In, long) // a slow upload is not the latency
	c.Send("xy")
	if a, _ := c.Final("POST"); a.Body != "xy" {
		t.Errorf("got %+v", a)
	}
	if r := p.Record(1); !r.Answered || r.Latency >= long {
		t.Errorf("latency %v", r.Latency)
	}
}

func h2BackendRetry(t *T) {
	good := h2cServer(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	good.Backends[0].Endpoints = append(good.Backends[0].Endpoints, route.EndpointSpec{Address: refusing(t), Weight: 1})
	p := t.Start(Setup{Spec: good})
	c := p.Dial()
	for range 4 {
		if a := c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello"); a.Body != "hello" {
			t.Errorf("got %+v", a)
		}
	}
	if n := p.Metrics.ConnectFailures.Load(); n == 0 {
		t.Error("no connect failure was counted")
	}
}
