package reactor

import (
	"strings"
	"sync/atomic"
	"testing"

	"ramjet.dev/ingress/internal/engine/enginetest"
)

// TestUpstreamEndsAnywhere has an origin end its answer after every one of its bytes,
// with FIN and with a reset. The client gets the whole answer only if it was whole, and
// never waits.
func TestUpstreamEndsAnywhere(t *testing.T) {
	for say, answer := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-A: 1\r\n\r\n0123456789",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\nX-B: 2\r\n\r\n",
		"interim": "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789",
	} {
		t.Run(say, func(t *testing.T) {
			t.Parallel()
			var at atomic.Int32
			var abrupt atomic.Bool
			o := enginetest.NewOrigin(t, func(e *enginetest.Exchange) error {
				if _, err := e.Body(); err != nil {
					return err
				}
				if abrupt.Load() {
					_ = e.Out.SetLinger(0)
				}
				_ = e.Raw(answer[:at.Load()])
				return enginetest.ErrClose
			})
			p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: o.Spec()})
			for cut := range len(answer) + 1 {
				for _, reset := range []bool{false, true} {
					at.Store(int32(cut))
					abrupt.Store(reset)
					// A POST is never sent twice, so each cut is seen once.
					c := p.Dial()
					c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n")
					a, _ := c.Final("POST")
					whole := a.Status == 200 && a.BodyErr == nil && a.Body == "0123456789"
					switch {
					case whole && cut < len(answer):
						t.Fatalf("cut after %d of %d bytes, reset %v: the client got a whole answer", cut, len(answer), reset)
					case !whole && cut == len(answer) && !reset:
						t.Fatalf("not cut: got %+v", a)
					case a.Status != 200 && a.Status != 502:
						t.Fatalf("cut after %d bytes, reset %v: got %+v", cut, reset, a)
					case a.Status == 200 && !strings.HasPrefix("0123456789", a.Body):
						t.Fatalf("cut after %d bytes: got %q", cut, a.Body)
					}
					c.Close()
				}
			}
			settles(t, "nothing to be held", func() bool { return held(p) == holdings{} })
		})
	}
}
