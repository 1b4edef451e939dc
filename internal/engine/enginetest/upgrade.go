package enginetest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// upgrade is how a connection becomes a tunnel, or does not (W04; RFC 9110 section
// 7.8, RFC 6455 section 4.2).
var upgrade = features{
	"in all spellings":                          upgradeSpellings,
	"refused by the origin":                     upgradeRefused,
	"first bytes together with the request":     earlyFromClient,
	"first bytes together with the answer":      earlyFromOrigin,
	"after a body":                              upgradeAfterBody,
	"instead of reading the body":               upgradeInsteadOfBody,
	"answered without saying to what":           upgradeNameless,
	"extended CONNECT is not offered to HTTP/2": noExtendedConnect,
	"WebSocket": webSocket,
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

// echoTunnel switches and sends back what comes, to the end of the stream.
func echoTunnel(e *Exchange) error {
	if err := e.Raw(switching); err != nil {
		return err
	}
	io.Copy(e.Out, e.In)
	return ErrClose
}

// tunnel asks for an upgrade and wants it; early bytes go with the request.
func (r *Raw) tunnel(t *T, early string) {
	t.Helper()
	r.Send("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n" + early)
	if a, _ := r.Final("GET"); a.Status != 101 || a.Header.Get("Upgrade") != "echo" || a.Header.Get("Connection") != "Upgrade" {
		t.Fatalf("got %+v, want 101", a)
	}
}

// wants reads exactly this from the tunnel.
func (r *Raw) wants(t *T, text string) {
	t.Helper()
	b := make([]byte, len(text))
	if n, err := io.ReadFull(r.In, b); err != nil || string(b) != text {
		t.Fatalf("through the tunnel came %.100q (%d of %d bytes), %v; want %.100q", b[:n], n, len(text), err, text)
	}
}

func (r *Raw) pings(t *T, text string) {
	t.Helper()
	r.Send(text)
	r.wants(t, text)
}

func upgradeSpellings(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		if len(e.Field("Connection")) != 1 || !strings.EqualFold(e.Field("Connection")[0], "upgrade") {
			return e.Reply("400 Bad Request", fmt.Sprint(e.Field("Connection")))
		}
		return e.Raw("HTTP/1.1 101 Switching Protocols\r\nconnection: keep-alive, upgrade, x-a\r\nX-A: 1\r\nX-B: 2\r\nupgrade: " +
			strings.Join(e.Field("Upgrade"), ", ") + "\r\n\r\n")
	})
	p := t.Start(Setup{Spec: o.Spec()})
	for fields, want := range map[string]string{
		"Connection: Upgrade\r\nUpgrade: websocket":                        "websocket",
		"Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket":            "WebSocket",
		"connection: UPGRADE\r\nUPGRADE: websocket":                        "websocket",
		"Connection: keep-alive\r\nConnection: upgrade\r\nUpgrade: a/2, b": "a/2, b",
		"Upgrade: a\r\nConnection: Upgrade\r\nUpgrade: b":                  "a, b",
	} {
		c := p.Dial()
		a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n"+fields+"\r\n\r\n")
		if a.Status != 101 || a.Header.Get("Upgrade") != want || a.Header.Get("X-A") != "" || a.Header.Get("X-B") != "2" {
			t.Errorf("%q: got %+v", fields, a)
		}
	}
}

func upgradeRefused(t *T) {
	o := NewOrigin(t, func(e *Exchange) error { return e.Reply(e.Target()[1:]+" Whatever", "no") })
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	for _, status := range []int{200, 403, 426} {
		a := c.Do("GET", fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", status))
		if a.Status != status || a.Body != "no" || a.Close {
			t.Errorf("got %+v, want %d on a connection that stays", a, status)
		}
	}
	if got := o.Conns(); got != 1 {
		t.Errorf("%d connections to the origin, want 1", got)
	}
}

// earlyFromClient: no byte is lost, none is taken for a request.
func earlyFromClient(t *T) {
	o := NewOrigin(t, echoTunnel)
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	for _, early := range []string{
		"x",
		"\x81\x85\x00\x00\x00\x00hello", // a frame of WebSocket
		"GET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"GET /half HTTP/1.1\r\nHost: a.t",
		"\r\n\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		strings.Repeat("0123456789abcdef", 8*kib),
	} {
		for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
			c.tunnel(t, early)
			c.wants(t, early)
			c.pings(t, "and then more")
		}
	}
	if got := o.asked("/smuggled"); got != 0 {
		t.Error("bytes of a tunnel were served as a request")
	}
}

func earlyFromOrigin(t *T) {
	for _, early := range []string{"x", "\x81\x05hello", switching, strings.Repeat("0123456789abcdef", 8*kib)} {
		o := NewOrigin(t, func(e *Exchange) error {
			e.Raw(switching + early)
			io.Copy(e.Out, e.In)
			return ErrClose
		})
		p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
		for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
			c.tunnel(t, "")
			c.wants(t, early)
			c.pings(t, "and then more")
		}
	}
}

func upgradeAfterBody(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, func(e *Exchange) error {
		if body, err := e.Body(); err != nil || body != "hello" {
			return e.Reply("400 Bad Request", body)
		}
		return echoTunnel(e)
	}).Spec()})
	for _, framing := range []string{"Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"} {
		c := p.Dial()
		a := c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n"+framing)
		if a.Status != 101 {
			t.Fatalf("%q: got %+v", framing, a)
		}
		c.pings(t, "hello, tunnel")
	}
}

// upgradeInsteadOfBody: where the body ends and the tunnel begins nobody could
// tell.
func upgradeInsteadOfBody(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, echoTunnel).Spec()})
	a := p.Dial().Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\nContent-Length: 1000\r\n\r\nhello")
	if a.Status != 502 || !a.Close {
		t.Errorf("got %+v", a)
	}
}

func upgradeNameless(t *T) {
	for _, fields := range []string{"", "Upgrade: echo\r\n", "Connection: Upgrade\r\n"} {
		p := t.Start(Setup{Spec: NewOrigin(t, func(e *Exchange) error {
			e.Raw("HTTP/1.1 101 Switching Protocols\r\n" + fields + "\r\n")
			return e.Gone()
		}).Spec()})
		a := p.Dial().Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		if want := "502 Bad Gateway: the backend switched protocols although nobody asked\n"; a.Status != 502 || a.Body != want {
			t.Errorf("%q: got %+v", fields, a)
		}
	}
}

func noExtendedConnect(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, Text("ok")).Spec()})
	h := p.DialH2(0)
	if h.settings[settingExtendedConnect] != 0 {
		t.Error("SETTINGS_ENABLE_CONNECT_PROTOCOL is advertised")
	}
	// A peer that was not invited is malformed (RFC 8441 section 3) or refused.
	a := h.answer(h.open(false, h2Request("CONNECT", "a.test", "/", ":protocol: websocket")...))
	if a.reset == "" && a.status() != "405" {
		t.Errorf("got %+v", a)
	}
}

// webSocket has a library that knows the protocol at both ends.
func webSocket(t *T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(megabyte)
		for {
			kind, b, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, b) != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	p := t.Start(Setup{Spec: specFor(server.Listener.Addr().String()), Hosts: []string{"a.test"}})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, url := range []string{"http://a.test/", "https://a.test/"} {
		c, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: p.Client(false)})
		if err != nil {
			t.Fatal(err)
		}
		c.SetReadLimit(megabyte)
		for _, text := range []string{"hello", strings.Repeat("x", 100*kib)} {
			if err := c.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
				t.Fatal(err)
			}
			if _, b, err := c.Read(ctx); err != nil || string(b) != text {
				t.Fatalf("%s: got %.20q, %v", url, b, err)
			}
		}
		began := time.Now()
		if err := c.Close(websocket.StatusNormalClosure, "bye"); err != nil || time.Since(began) > patience/4 {
			t.Errorf("%s: closing: %v after %v", url, err, time.Since(began))
		}
	}
}
