//go:build cluster

package kube

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/test/daemon"
)

// idle is a client's connection that was used once and is kept.
type idle struct {
	net.Conn
	in *bufio.Reader
}

func (c *controller) idle() *idle {
	c.t.Helper()
	conn, err := net.Dial("tcp", c.HTTP)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	return newIdle(conn)
}

func newIdle(conn net.Conn) *idle { return &idle{conn, bufio.NewReader(conn)} }

// ask sends a request on the connection as it is.
func (i *idle) ask(host string) error {
	if err := i.SetDeadline(time.Now().Add(daemon.Patience)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(i, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host); err != nil {
		return err
	}
	r, err := http.ReadResponse(i.in, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", r.Status)
	}
	return nil
}

// websocket opens a tunnel to a host.
func (c *controller) websocket(ctx context.Context, host string) *websocket.Conn {
	c.t.Helper()
	conn, r, err := websocket.Dial(ctx, "ws://"+c.HTTP, &websocket.DialOptions{Host: host})
	if err != nil {
		c.t.Fatal(err)
	}
	if r.Body != nil {
		c.t.Cleanup(func() { r.Body.Close() })
	}
	c.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// echoes sends a word through a tunnel and wants it back.
func echoes(ctx context.Context, conn *websocket.Conn, word string) error {
	ctx, cancel := context.WithTimeout(ctx, daemon.Patience)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, []byte(word)); err != nil {
		return err
	}
	_, got, err := conn.Read(ctx)
	if err == nil && string(got) != word {
		err = fmt.Errorf("%q came back as %q", word, got)
	}
	return err
}

// TestChangesCutNothing (W01): 100 idle connections, 20 WebSockets and a steady
// load live through 100 publishes of every sort: Ingresses that come and go, a
// rotated Secret, endpoints of other Services, endpoints of the same Service while
// the pod of the tunnel stays, pins and releases.
func TestChangesCutNothing(t *testing.T) { onEach(t, changesCutNothing) }

func changesCutNothing(t *testing.T, engine string) {
	w := shared(t)
	c := w.controller("--engine", engine, "--client-idle-timeout", "1h")
	stays, comes := w.backend("stays"), w.backend("comes")
	w.app("shop", stays)
	w.simple("other")
	authority := certtest.NewAuthority(t)
	cert, key := authority.Pair(t, "shop.test")
	w.put(
		tlsSecret("shop-tls", cert, key),
		withTLS(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}), "shop-tls", "shop.test"))
	c.comes("shop.test", "/", "stays")

	var connections []*idle
	for range 100 {
		i := c.idle()
		if err := i.ask("shop.test"); err != nil {
			t.Fatal(err)
		}
		connections = append(connections, i)
	}
	var tunnels []*websocket.Conn
	for range 20 {
		ws := c.websocket(t.Context(), "shop.test")
		if err := echoes(t.Context(), ws, "hello"); err != nil {
			t.Fatal(err)
		}
		tunnels = append(tunnels, ws)
	}
	traffic := c.load(4, "shop.test", "/", from("stays", "comes"))

	before := c.generations().Serving
	passing := ingress("passing", rule{host: "passing.test", path: "/", service: "other"})
	changes := []func(){
		func() { w.put(passing); c.comes("passing.test", "/", "other") },
		func() { w.remove(passing); c.comes("passing.test", "/", 404) },
		func() {
			cert, key := authority.Pair(t, "shop.test")
			w.put(tlsSecret("shop-tls", cert, key))
			c.shows("shop.test", parse(t, cert))
		},
		func() { w.put(slice("shop", stays.at, comes.at)); c.comes("shop.test", "/", "comes") },
		func() { w.put(slice("shop", stays.at)); c.endpoints("shop.test", 1) },
	}
	for n := range 95 {
		changes[n%len(changes)]()
		if err := echoes(t.Context(), tunnels[n%len(tunnels)], fmt.Sprint("change ", n)); err != nil {
			t.Fatalf("after change %d: tunnel %d: %v", n, n%len(tunnels), err)
		}
	}
	for range 5 {
		g := c.generations()
		c.rollback(g.Generations[len(g.Generations)-1].Generation)
		c.release()
	}

	traffic.clean("100 publishes")
	for n, ws := range tunnels {
		if err := echoes(t.Context(), ws, "still there"); err != nil {
			t.Errorf("tunnel %d: %v", n, err)
		}
	}
	for n, i := range connections {
		if err := i.ask("shop.test"); err != nil {
			t.Errorf("idle connection %d: %v", n, err)
		}
	}
	t.Logf("%d generations", c.generations().Serving-before)
}
