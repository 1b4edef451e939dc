package reactor

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/engine/enginetest"
)

// TestDeadPeersAreLookedFor (W05): who vanishes without a word says nothing for as long as
// a tunnel or a client may be silent. Connections on both sides are probed by TCP, every
// 15 s, by both engines; also one that was made before its listener was served.
func TestDeadPeersAreLookedFor(t *testing.T) {
	for say, engine := range map[string]enginetest.New{"nethttp": newReference, "reactor": newEngine} {
		t.Run(say, func(t *testing.T) {
			t.Parallel()
			o := enginetest.NewOrigin(t, enginetest.Text("ok"))
			p := enginetest.Start(t, engine, enginetest.Setup{Spec: o.Spec()})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			early := connect(t, l.Addr().String())
			p.Engine.Serve(l)
			late := connect(t, l.Addr().String())
			for _, c := range []net.Conn{early, late} {
				fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
				answer, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				answer.Body.Close()
			}
			wantProbed(t, "the client that came before", early.LocalAddr().String())
			wantProbed(t, "the client that came after", late.LocalAddr().String())
			wantProbed(t, "the origin", o.Address)
		})
	}
}

func connect(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// wantProbed waits until all connections to an address wait for nothing but their next
// probe. What was sent last may have to be acknowledged before that.
func wantProbed(t *testing.T, who, remote string) {
	t.Helper()
	end := time.After(30 * time.Second)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		timers := timersTo(t, remote)
		probed := len(timers) > 0
		for _, timer := range timers {
			kind, left, _ := strings.Cut(timer, ":")
			const keepAlive, perSecond = "02", 100
			ticks, err := strconv.ParseUint(left, 16, 64)
			probed = probed && err == nil && kind == keepAlive && ticks <= 16*perSecond
		}
		if probed {
			return
		}
		select {
		case <-poll.C:
		case <-end:
			t.Fatalf("%s is not probed; the timers are %q", who, timers)
		}
	}
}

// timersTo are the timers of all connections to an address, as the system lists them.
func timersTo(t *testing.T, remote string) (timers []string) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(remote)
	b := at.Addr().As4()
	listed := fmt.Sprintf("%02X%02X%02X%02X:%04X", b[3], b[2], b[1], b[0], at.Port())
	for line := range strings.Lines(string(table)) {
		const established = "01"
		if f := strings.Fields(line); len(f) > 5 && f[2] == listed && f[3] == established {
			timers = append(timers, f[5])
		}
	}
	return timers
}
