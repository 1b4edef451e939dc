package enginetest

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// stream are bodies on their way: what came is passed on at once, nothing is
// kept that does not fit into a socket, and every byte arrives.
var stream = features{
	"a piece of an answer crosses before the next is written": answerPieces,
	"both directions in turn, HTTP/1.1":                       pingPongH1,
	"both directions in turn, HTTP/2":                         pingPongH2,
	"every byte, both ways at once":                           everyByte,
}

// answerPieces sends pieces of sizes around those of buffers. The origin goes on
// only when the client has the piece: whoever holds back a byte stops here.
func answerPieces(t *T) {
	sizes := []int{1, 100, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 16384, 32768, 65535, 65536, 65537, 65536, 8192, 131072, 1}
	total := 0
	for _, n := range sizes {
		total += n
	}
	heads := map[string]string{
		"length": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n", total),
		"chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n",
		"close":  "HTTP/1.1 200 OK\r\nConnection: close\r\n",
	}
	arrived := make(chan struct{})
	o := NewOrigin(t, func(e *Exchange) error {
		way := strings.TrimPrefix(e.Target(), "/")
		// The head and the first pieces fill a buffer to the byte, too.
		padding := "X-Padding: " + strings.Repeat("p", 8192-len(heads[way])-len("X-Padding: \r\n\r\n")-1) + "\r\n\r\n"
		e.Raw(heads[way] + padding)
		for _, n := range sizes {
			piece := strings.Repeat("x", n)
			if way == "chunks" {
				piece = fmt.Sprintf("%x\r\n%s\r\n", n, piece)
			}
			e.Raw(piece)
			if err := e.Await(arrived); err != nil {
				return err
			}
		}
		if way == "chunks" {
			return e.Raw("0\r\n\r\n")
		}
		if way == "close" {
			return ErrClose
		}
		return nil
	})
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	clients := map[string]*http.Client{"HTTP/1.1": p.Client(false), "HTTP/2": p.Client(true)}
	for way := range heads {
		for version, client := range clients {
			resp, err := client.Get("https://a.test/" + way)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range sizes {
				if _, err := io.CopyN(io.Discard, resp.Body, int64(n)); err != nil {
					t.Fatalf("%s, %s: piece %d of %d bytes: %v", version, way, i+1, n, err)
				}
				arrived <- struct{}{}
			}
			wantEOF(t, resp.Body, version+", "+way)
			resp.Body.Close()
		}
	}
}

// echoChunks sends every piece of a chunked body back as it comes.
func echoChunks(e *Exchange) error {
	e.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
	for {
		size, err := readLine(e.In)
		if err != nil {
			return err
		}
		var n int64
		if _, err := fmt.Sscanf(size, "%x", &n); err != nil {
			return err
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(e.In, b); err != nil {
			return err
		}
		if err := e.Raw(size + "\r\n" + string(b)); err != nil || n == 0 {
			return err
		}
	}
}

func pingPongH1(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, echoChunks).Spec(), Hosts: []string{"a.test"}})
	for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
		c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n")
		for i := range 20 {
			ping := fmt.Sprintf("ping %02d", i)
			c.Send("7\r\n" + ping + "\r\n")
			if i == 0 {
				if head, err := readHead(c.In); err != nil || !strings.HasPrefix(head, "HTTP/1.1 200 ") {
					t.Fatalf("got %q, %v", head, err)
				}
			}
			if got := readChunk(t, c.In); got != ping {
				t.Fatalf("got %q, want %q", got, ping)
			}
		}
		c.Send("0\r\n\r\n")
		if got := readChunk(t, c.In); got != "" {
			t.Errorf("at the end came %q", got)
		}
	}
}

func readChunk(t *T, in *bufio.Reader) string {
	t.Helper()
	size, err := readLine(in)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	fmt.Sscanf(size, "%x", &n)
	b := make([]byte, n+2)
	if _, err := io.ReadFull(in, b); err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func pingPongH2(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, echoChunks).Spec()})
	h := p.DialH2(0)
	s := h.open(false, h2Request("POST", "a.test", "/")...)
	want := ""
	for i := range 20 {
		ping := fmt.Sprintf("ping %02d", i)
		h.data(s, false, ping)
		want += ping
		h.until(s, "the pong", func(a *h2Answer) bool { return a.body == want })
	}
	h.data(s, true, "")
	if a := h.answer(s); a.body != want || a.reset != "" {
		t.Errorf("got %+v", a)
	}
}

// random is a reader of n bytes, the same for the same seed, that hashes them.
type random struct {
	bytes *rand.ChaCha8
	sizes *rand.Rand
	left  int
	hash  hash.Hash
}

func newRandom(seed byte, n int) *random {
	return &random{rand.NewChaCha8([32]byte{seed}), rand.New(rand.NewPCG(1, uint64(seed))), n, sha256.New()}
}

func (r *random) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), r.left, 1+r.sizes.IntN(40000))]
	r.bytes.Read(p)
	r.left -= len(p)
	r.hash.Write(p)
	return len(p), nil
}

// everyByte sends random bytes up while others come down, in all framings.
func everyByte(t *T) {
	const size = 2 * megabyte
	o := NewOrigin(t, func(e *Exchange) error {
		up := sha256.New()
		down := newRandom(1, size)
		var sum [sha256.Size]byte
		var both sync.WaitGroup
		both.Go(func() {
			m := newMessage(e.Head)
			m.readBody(e.In)
			io.WriteString(up, m.body)
			up.Sum(sum[:0])
		})
		e.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		b := make([]byte, 64*kib)
		for {
			n, err := down.Read(b)
			if err == io.EOF {
				break
			}
			if err := e.Raw(fmt.Sprintf("%x\r\n%s\r\n", n, b[:n])); err != nil {
				return err
			}
		}
		both.Wait()
		return e.Raw(fmt.Sprintf("0\r\nX-Up: %x\r\n\r\n", sum))
	})
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	for _, h2 := range []bool{false, true} {
		for _, length := range []int64{size, -1} {
			up := newRandom(2, size)
			req, err := http.NewRequest("POST", "https://a.test/", io.NopCloser(up))
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = length
			resp, err := p.Client(h2).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			down, want := sha256.New(), newRandom(1, size)
			if _, err := io.Copy(down, resp.Body); err != nil {
				t.Fatalf("HTTP/2 %v, length %d: %v", h2, length, err)
			}
			io.Copy(io.Discard, want)
			resp.Body.Close()
			if string(down.Sum(nil)) != string(want.hash.Sum(nil)) {
				t.Errorf("HTTP/2 %v, length %d: the answer is not what was sent", h2, length)
			}
			if got := resp.Trailer.Get("X-Up"); got != fmt.Sprintf("%x", up.hash.Sum(nil)) {
				t.Errorf("HTTP/2 %v, length %d: the request is not what was sent", h2, length)
			}
		}
	}
}
