package admin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestBodyLimit: 64 KiB are read, one byte more is refused, announced or not.
func TestBodyLimit(t *testing.T) {
	d := start(t)
	d.offer(1, "backend web roundRobin HTTP\nroute a.test / Prefix -> web\n")
	body := `{"generation":1}` + strings.Repeat(" ", maxBody-len(`{"generation":1}`))
	for _, c := range []struct {
		name   string
		body   io.Reader
		status int
	}{
		{"announced", strings.NewReader(body + " "), http.StatusRequestEntityTooLarge},
		{"chunked", io.MultiReader(strings.NewReader(body), strings.NewReader(" ")), http.StatusRequestEntityTooLarge},
		{"a huge value", io.MultiReader(strings.NewReader(`{"generation":"`), strings.NewReader(strings.Repeat("x", 4*maxBody))), http.StatusRequestEntityTooLarge},
		{"just right", strings.NewReader(body), http.StatusOK},
	} {
		res, text := d.ask(http.MethodPost, PathRollback, nil, c.body)
		if res.StatusCode != c.status {
			t.Errorf("%s: %d %s", c.name, res.StatusCode, text)
		}
		if c.status != http.StatusOK && text != `{"error":"the body is larger than 64 KiB"}`+"\n" {
			t.Errorf("%s: %s", c.name, text)
		}
		if pinned := d.control.State().Pinned != nil; pinned != (c.status == http.StatusOK) {
			t.Errorf("%s: pinned is %v", c.name, pinned)
		}
	}
}

// TestHeaderLimit: a header that does not end is refused.
func TestHeaderLimit(t *testing.T) {
	d := start(t)
	c, err := net.Dial("tcp", strings.TrimPrefix(d.listen(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	// The server may close before it has read everything.
	_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 2*maxHeader)+"\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d", res.StatusCode)
	}
}

// TestTimeouts: there is none that is missing.
func TestTimeouts(t *testing.T) {
	s := NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler)).http
	for name, d := range map[string]time.Duration{
		"header": s.ReadHeaderTimeout, "read": s.ReadTimeout, "write": s.WriteTimeout, "idle": s.IdleTimeout,
	} {
		if d < time.Second || d > 5*time.Minute {
			t.Errorf("%s timeout is %v", name, d)
		}
	}
}

// TestShutdown waits for the answer under way, and not for one that never ends.
func TestShutdown(t *testing.T) {
	for name, ends := range map[string]bool{"an answer under way": true, "one that never ends": false} {
		t.Run(name, func(t *testing.T) {
			inside, finish := make(chan struct{}), make(chan struct{})
			server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(inside)
				select {
				case <-finish:
				case <-r.Context().Done():
				}
			}), slog.New(slog.DiscardHandler))
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served, answered := make(chan error, 1), make(chan error, 1)
			go func() { served <- server.Serve(l) }()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			go func() {
				res, err := (&http.Client{Transport: transport}).Get("http://" + l.Addr().String())
				if err == nil {
					err = res.Body.Close()
				}
				answered <- err
			}()
			<-inside
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if ends {
				close(finish)
			} else {
				cancel()
			}
			if err := server.Shutdown(ctx); (err == nil) != ends || !ends && !errors.Is(err, context.Canceled) {
				t.Errorf("shutdown: %v", err)
			}
			if err := <-served; err != nil {
				t.Errorf("serve: %v", err)
			}
			if err := <-answered; (err == nil) != ends {
				t.Errorf("the client got %v", err)
			}
		})
	}
}

// TestServeFails: a listener that breaks is an error that names the address.
func TestServeFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	err = NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler)).Serve(l)
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("got %v", err)
	}
}

func TestLoadToken(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, token, fault string }{
		"plain":         {text: "s3cret", token: "s3cret"},
		"line":          {text: "s3cret\n", token: "s3cret"},
		"white":         {text: "s3cret \t\r\n\n", token: "s3cret"},
		"inner":         {text: "two words\n", token: "two words"},
		"long":          {text: strings.Repeat("x", maxToken), token: strings.Repeat("x", maxToken)},
		"empty":         {text: "", fault: "is empty"},
		"only-white":    {text: " \n\t\r\n", fault: "is empty"},
		"leading":       {text: " s3cret", fault: "begins with white space"},
		"two-lines":     {text: "s3cret\nother\n", fault: "line break"},
		"zero-byte":     {text: "s3\x00cret", fault: "control character"},
		"too-long":      {text: strings.Repeat("x", maxToken+1), fault: "longer than"},
		"byte-order":    {text: "\ufeffs3cret", token: "\ufeffs3cret"},
		"non-ascii":     {text: "gehéim", token: "gehéim"},
		"sub/directory": {fault: "is a directory"},
	} {
		path := filepath.Join(dir, name)
		if name == "sub/directory" {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		token, err := LoadToken(path)
		if c.fault == "" && (err != nil || token != c.token) {
			t.Errorf("%s: %q, %v", name, token, err)
		}
		if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "s3")) {
			t.Errorf("%s: %q, %v; want an error with %q and the path, and nothing of the token", name, token, err, c.fault)
		}
	}
	if _, err := LoadToken(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}
