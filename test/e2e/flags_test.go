//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

// shows is a backend that answers with fields of the request that it got.
func shows(t *testing.T, names ...string) (endpoint string) {
	return origin(t, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range names {
			fmt.Fprintf(w, "%s=%s;", name, strings.Join(r.Header[name], ","))
		}
	})
}

// say sends a request head with more fields and returns status and body.
func say(t *testing.T, address, fields string) (status int, body string) {
	t.Helper()
	client := dial(t, address)
	client.send(t, "GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n"+fields+"\r\n")
	r := client.head(t)
	return r.StatusCode, readAll(t, r.Body)
}

// TestFlagsOfRequests: what a flag says about requests is done with them, and
// without the flag it is not.
func TestFlagsOfRequests(t *testing.T) {
	for _, c := range []struct {
		flags, fields string
		status        int
		body          string // in the answer
	}{
		{"", "X-Forwarded-For: 192.0.2.1\r\n", 200, "X-Forwarded-For=127.0.0.1;X-Original-Forwarded-For=192.0.2.1;"},
		{"--trusted-proxies 127.0.0.0/8", "X-Forwarded-For: 192.0.2.1\r\n", 200, "X-Forwarded-For=192.0.2.1, 127.0.0.1;X-Original-Forwarded-For=;"},
		{"--trusted-proxies 192.0.2.0/24", "X-Forwarded-For: 192.0.2.1\r\n", 200, "X-Forwarded-For=127.0.0.1;"},
		{"", "X_Under: score\r\n", 200, "X_under=;"},
		{"--underscores-in-headers", "X_Under: score\r\n", 200, "X_under=score;"},
		{"", "X-Long: " + strings.Repeat("x", 3000) + "\r\n", 200, ""},
		{"--max-header-bytes 2048", "X-Long: " + strings.Repeat("x", 3000) + "\r\n", 431, ""},
	} {
		_, a := serve(t, shows(t, "X-Forwarded-For", "X-Original-Forwarded-For", "X_under"), strings.Fields(c.flags)...)
		status, body := say(t, a.HTTP, c.fields)
		if status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%q with %.40q: %d %q, want %d and %q in it", c.flags, c.fields, status, body, c.status, c.body)
		}
	}
}

// mirrored starts a daemon that mirrors everything to a backend which reports what it
// gets.
func mirrored(t *testing.T, flags ...string) (a daemon.Addresses, copies <-chan string) {
	t.Helper()
	got := make(chan string, 4)
	shadow := origin(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Method + " " + string(body)
	})
	app := origin(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	routes := daemon.Write(t, t.TempDir(), "routes.yaml", fmt.Sprintf(`
backends:
  - {name: app, endpoints: ["%s"]}
  - {name: shadow, endpoints: ["%s"]}
routes:
  - {path: /, backend: app, mirror: {backend: shadow}}
`, app, shadow))
	args := append([]string{"--static-routes", routes}, loopback...)
	return daemon.Start(t, daemon.Setup{Args: append(args, flags...)}).Serving(), got
}

// TestMirrorMaxBody: with 0 a request without a body is copied, and one with a body
// is not.
func TestMirrorMaxBody(t *testing.T) {
	a, copies := mirrored(t)
	ask(t, "POST", "http://"+a.HTTP+"/", "four", "")
	if got := soon(t, copies, "the copy"); got != "POST four" {
		t.Errorf("the mirror got %q", got)
	}

	a, copies = mirrored(t, "--mirror-max-body", "0")
	ask(t, "POST", "http://"+a.HTTP+"/", "four", "")
	for start := time.Now(); ; { // it is counted when the request is over
		_, metrics := ask(t, "GET", "http://"+a.Admin+"/metrics", "", "")
		if strings.Contains(metrics, "\nramjet_mirror_skipped_total 1\n") {
			break
		}
		if time.Since(start) > daemon.Patience {
			t.Fatalf("the copy that is not made is not counted:\n%s", metrics)
		}
	}
	ask(t, "GET", "http://"+a.HTTP+"/", "", "")
	if got := soon(t, copies, "the copy"); got != "GET " {
		t.Errorf("the mirror got %q, want the request without a body first", got)
	}
}

// TestAuditWebhook: a collector gets generation 0 when it serves, and each command
// of an operator, in their order.
func TestAuditWebhook(t *testing.T) {
	posts := make(chan string, 8)
	collector := origin(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posts <- r.Method + " " + r.URL.Path + " " + string(body)
	})
	_, a := serve(t, "127.0.0.1:1", "--audit-webhook", "http://"+collector+"/audit")
	first := soon(t, posts, "the POST of generation 0")
	for _, want := range []string{"POST /audit {", `"routes_added":["`, `(gen 0→0)`} {
		if !strings.Contains(first, want) {
			t.Errorf("generation 0 is posted as %s, want %s in it", first, want)
		}
	}
	ask(t, "POST", "http://"+a.Admin+"/admin/rollback", `{"generation":0}`, "")
	if pin := soon(t, posts, "the POST of the pin"); !strings.Contains(pin, "pinned to generation 0") {
		t.Errorf("the pin is posted as %s", pin)
	}
	ask(t, "DELETE", "http://"+a.Admin+"/admin/rollback", "", "")
	if release := soon(t, posts, "the POST of the release"); !strings.Contains(release, "resume") {
		t.Errorf("the release is posted as %s", release)
	}
}
