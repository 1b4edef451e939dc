package enginetest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/engine"
)

// h2BackendStreams are what streams to one backend owe each other, and what a client sees of
// one that does not come to its end.
var h2BackendStreams = features{
	"hints to a client that does not read":        h2HintsUnread,
	"hints to a client that is asked for a body":  h2HintsAndContinue,
	"an answer that breaks off, to HTTP/1.0":      h2BrokenOld,
	"an answer that its client does not wait for": h2Cut,
	"a 304": h2BackendNotModified,
}

// h2HintsUnread: what a backend says before its answer is for one client, and is told by
// whoever reads for all of them.
func h2HintsUnread(t *T) {
	var hinted atomic.Int32
	p := t.Start(Setup{Spec: h2cServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hints" {
			hinted.Add(1)
			w.Header().Set("Link", strings.Repeat("x", 16<<10))
			for range engine.MaxInterim {
				w.WriteHeader(http.StatusEarlyHints)
			}
			w.Header().Del("Link")
		}
		fmt.Fprint(w, "ok")
	}), Change: noIdle})
	well, deaf := p.Dial(), p.Dial()
	go deaf.Send(strings.Repeat("GET /hints HTTP/1.1\r\nHost: a.test\r\n\r\n", 1000)) // ends with the connection
	// By then half a megabyte for each of its requests has found no room.
	for before, same := int32(-1), 0; same < 200; same++ {
		if now := hinted.Load(); now != before || now == 0 {
			before, same = now, 0
		}
		if a := well.Do("GET", "GET /well HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Body != "ok" {
			t.Fatalf("got %+v", a)
		}
	}
	if n := hinted.Load(); n == 1000 {
		t.Error("the client that does not read held nothing up, so this shows nothing")
	}
	deaf.Close()
}

// h2HintsAndContinue: a client that is asked for its body gets whole heads. That nobody
// writes them at the same time is the race detector's to say.
func h2HintsAndContinue(t *T) {
	heads := [][]string{{":status", "100"}}
	for range 20 {
		heads = append(heads, []string{":status", "103", "link", "</a>"})
	}
	p := t.Start(Setup{Spec: rawH2Backend(t, append(heads, []string{":status", "200"})...)})
	for range often {
		c := p.Dial()
		c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
		a, interim := c.Final("POST")
		hints := 0
		for _, i := range interim {
			if i.Status == http.StatusEarlyHints && i.Header.Get("Link") == "</a>" {
				hints++
			}
		}
		if a.Status != 200 || hints != 20 || len(interim) > 21 {
			t.Fatalf("got %d after %d hints and %d interim answers", a.Status, hints, len(interim))
		}
		c.Close()
	}
}

// h2BrokenOld: the end of the connection is the end of the body there, so it has to be
// another end.
func h2BrokenOld(t *T) {
	p := t.Start(Setup{Spec: h2cServer(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})})
	c := p.Dial()
	c.Send("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n")
	if b, err := io.ReadAll(c.Conn); err == nil || !isReset(err) {
		t.Errorf("got %q, and then %v", b, err)
	}
}

// h2Cut: the record says that the client did not get all, whoever was the cause.
func h2Cut(t *T) {
	p := t.Start(Setup{Spec: h2cServer(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}), Change: longIdle})
	begin := func(path string) *Raw {
		c := p.Dial()
		c.Send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
		for !strings.Contains(c.Transcript(), "begun") {
			if _, err := c.In.ReadByte(); err != nil {
				t.Fatalf("got %q, and then %v", c.Transcript(), err)
			}
		}
		return c
	}
	want := func(path string) {
		t.Helper()
		if r := p.RecordOf(path); r.Status != 200 || !r.Cut || r.Truncated {
			t.Errorf("%s: status %d, cut %v, truncated %v", path, r.Status, r.Cut, r.Truncated)
		}
	}
	begin("/1").Close()
	want("/1")
	h := p.DialH2(0)
	s := h.open(true, h2Request("GET", "a.test", "/2")...)
	h.until(s, "the body", func(a *h2Answer) bool { return a.body != "" })
	h.frame(frameReset, 0, s, []byte{0, 0, 0, 8}) // CANCEL
	want("/2")
	begin("/3")
	_ = p.Stop(0)
	want("/3")
}

// h2BackendNotModified describes what a 200 would have been (RFC 9110 §15.4.5).
func h2BackendNotModified(t *T) {
	p := t.Start(Setup{Spec: rawH2Backend(t, []string{":status", "304", "content-type", "text/x", "content-length", "5", "etag", `"1"`})})
	a := p.Dial().Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	for name, want := range map[string]string{"Content-Type": "text/x", "Content-Length": "5", "Etag": `"1"`} {
		if got := a.Header.Get(name); a.Status != 304 || got != want {
			t.Errorf("%d, %s: got %q, want %q", a.Status, name, got, want)
		}
	}
}

// h2SilentBackend: an answer that has begun and then stops is given up, also when the
// request ended after it had begun.
func h2SilentBackend(t *T) {
	gone := make(chan struct{})
	p := t.Start(Setup{Spec: h2cServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(gone)
	}), Change: func(o *engine.Options) { o.StreamIdle = short }})
	h := p.DialH2(0)
	s := h.open(false, h2Request("POST", "a.test", "/")...)
	h.until(s, "the head", func(a *h2Answer) bool { return a.head != nil })
	h.data(s, true, "x")
	await(t, "the end at the backend", gone)
}

// h2SlowReader: a client that opens its window bit by bit makes progress.
func h2SlowReader(t *T) {
	const piece, pieces = 4 << 10, 24
	o := NewOrigin(t, func(e *Exchange) error { return e.Reply("200 OK", strings.Repeat("x", piece*pieces)) })
	p := t.Start(Setup{Spec: o.Spec(), Change: func(o *engine.Options) { o.StreamIdle = long }})
	h := p.DialH2(piece)
	s := h.open(true, h2Request("GET", "a.test", "/")...)
	pace := time.NewTicker(long / 8) // a buffer of 64 KiB takes twice as long as that gives
	defer pace.Stop()
	for n := 1; n <= pieces; n++ {
		h.until(s, "a piece", func(a *h2Answer) bool { return len(a.body) >= n*piece || a.done })
		<-pace.C
		h.window(s, piece)
	}
	if a := h.answer(s); len(a.body) != piece*pieces || a.reset != "" {
		t.Errorf("got %d of %d bytes, reset %q", len(a.body), piece*pieces, a.reset)
	}
}
