package reactor

import (
	"bytes"
	"math/rand/v2"
	"net/textproto"
	"testing"

	"ramjet.dev/ingress/internal/http1"
)

// TestCanonical: names are spelled as the rules of package engine expect, which is how
// net/textproto spells them.
func TestCanonical(t *testing.T) {
	var room [known]byte
	for _, name := range []string{"host", "HOST", "x-forwarded-for", "X-REAL-IP", "TE", "te", "-", "--a", "a-", "x_y", "1-a",
		"HTTP2-Settings", "content-length", "X-Original-Forwarded-For"} {
		if got, want := canonical([]byte(name), &room), textproto.CanonicalMIMEHeaderKey(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	long := bytes.Repeat([]byte("a"), known+1)
	if got := canonical(long, &room); got != string(long) {
		t.Errorf("a name that no rule can know became %q", got)
	}
}

// TestChunksRoundTrip codes pieces and decodes them, cut anywhere.
func TestChunksRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var body, coded []byte
		for range r.IntN(5) {
			piece := bytes.Repeat([]byte{'a' + byte(r.IntN(26))}, r.IntN(70000))
			body = append(body, piece...)
			before := len(coded)
			coded = appendChunk(coded, piece)
			if framing := len(coded) - before - len(piece); framing > chunkFraming {
				t.Fatalf("a piece of %d bytes has %d bytes of framing, room is kept for %d", len(piece), framing, chunkFraming)
			}
		}
		coded = append(coded, "0\r\n\r\n"...)
		var c http1.Chunked
		c.Reset(http1.Limits{})
		var got []byte
		for len(coded) > 0 && !c.Done() {
			data, n, err := c.Next(coded[:1+r.IntN(len(coded))])
			if err != nil {
				t.Fatal(err)
			}
			got, coded = append(got, data...), coded[n:]
		}
		if !c.Done() || !bytes.Equal(got, body) {
			t.Fatalf("%d bytes became %d", len(body), len(got))
		}
	}
}

func TestStatusLine(t *testing.T) {
	for want, is := range map[string][2]int{
		"HTTP/1.1 200 OK\r\n":              {1, 200},
		"HTTP/1.0 404 Not Found\r\n":       {0, 404},
		"HTTP/1.1 999 status code 999\r\n": {1, 999},
	} {
		if got := string(appendStatus(nil, is[0], is[1])); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestWindow reads and uses at random and compares with a plain slice; all buffers come
// back.
func TestWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var s buffers
	for range 50 {
		var w window
		var want []byte
		for range 100 {
			switch r.IntN(4) {
			case 0:
				room := w.room(&s)
				if len(room) == 0 {
					t.Fatal("no room")
				}
				n := r.IntN(len(room)) + 1
				for i := range n {
					room[i] = byte(r.Uint32())
				}
				want = append(want, room[:n]...)
				w.end += n
			case 1:
				p := bytes.Repeat([]byte{7}, r.IntN(20000))
				w.add(p, &s)
				want = append(want, p...)
			case 2:
				w.enlarge(&s)
			default:
				n := r.IntN(len(want) + 1)
				w.start += n
				want = want[n:]
			}
			if !bytes.Equal(w.bytes(), want) {
				t.Fatalf("%d bytes, want %d others", len(w.bytes()), len(want))
			}
		}
		w.free(&s)
	}
	if s.lent != 0 {
		t.Errorf("%d buffers did not come back", s.lent)
	}
	if len(s.smalls) > keepSmall || len(s.larges) > keepLarge {
		t.Errorf("%d small and %d large buffers are kept", len(s.smalls), len(s.larges))
	}
}
