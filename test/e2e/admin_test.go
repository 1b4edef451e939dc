//go:build e2e

package e2e

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

// TestRollbackWithToken (S08) pulls the emergency brake of a daemon with one
// generation, with and without the token.
func TestRollbackWithToken(t *testing.T) {
	token := daemon.Write(t, t.TempDir(), "token", "open sesame \n")
	_, a := serve(t, "127.0.0.1:1", "--admin-token-file", token)
	url := "http://" + a.Admin + "/admin/rollback"
	const right = "open sesame"
	for _, step := range []struct {
		intent             string
		method, body, with string
		status             int
		answer             string // in the body
		header             string // "name: value" of the response
	}{
		{"no token, no pin", "POST", `{"generation":0}`, "", 401, `"error"`, "Www-Authenticate: Bearer"},
		{"a wrong token", "POST", `{"generation":0}`, "open barley", 401, `"error"`, "Www-Authenticate: Bearer"},
		{"the beginning of the token", "POST", `{"generation":0}`, "open", 401, `"error"`, "Www-Authenticate: Bearer"},
		{"releasing needs it too", "DELETE", "", "", 401, `"error"`, "Www-Authenticate: Bearer"},
		{"not in the history", "POST", `{"generation":7}`, right, 404, `"generation":7`, ""},
		{"not a body", "POST", `{"generation":`, right, 400, `"error"`, ""},
		{"the only generation is republished and held", "POST", `{"generation":0}`, right, 200, `{"pinned":0,"serving":0}`, ""},
		{"the same again is a conflict", "POST", `{"generation":0}`, right, 409, `"pinned":0`, ""},
		{"refusing changed nothing", "DELETE", "", "wrong", 401, `"error"`, ""},
		{"released", "DELETE", "", right, 200, `{"pinned":null,"serving":0}`, ""},
		{"releasing is idempotent", "DELETE", "", right, 200, `{"pinned":null,"serving":0}`, ""},
		{"other methods", "PUT", `{"generation":0}`, right, 405, "", "Allow: POST, DELETE"},
	} {
		r, body := ask(t, step.method, url, step.body, step.with)
		if r.StatusCode != step.status || !strings.Contains(body, step.answer) {
			t.Errorf("%s: %d %q, want %d and %q in it", step.intent, r.StatusCode, body, step.status, step.answer)
		}
		if name, value, ok := strings.Cut(step.header, ": "); ok && r.Header.Get(name) != value {
			t.Errorf("%s: %s is %q, want %q", step.intent, name, r.Header.Get(name), value)
		}
	}
	checkOnlyGeneration(t, a.Admin, "1 route added")
}

// TestProbesAndMetrics asks what a cluster asks. Looking needs no token.
func TestProbesAndMetrics(t *testing.T) {
	token := daemon.Write(t, t.TempDir(), "token", "secret")
	app := origin(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	c, a := serve(t, app, "--admin-token-file", token)
	if _, body := ask(t, "GET", "http://"+a.HTTP+"/", "", ""); body != "hello" {
		t.Fatalf("the proxy answers %q", body)
	}
	for path, want := range map[string]string{
		"/healthz":      "",
		"/readyz":       "",
		"/metrics":      "\nramjet_requests_total{code=\"2xx\"} 1\n",
		"/admin/routes": `"requests_total":1`,
	} {
		// A request is counted when it is over, which its client may see first.
		for start := time.Now(); ; {
			r, body := ask(t, "GET", "http://"+a.Admin+path, "", "")
			if r.StatusCode == 200 && strings.Contains(body, want) {
				break
			}
			if time.Since(start) > daemon.Patience {
				t.Fatalf("%s: %d, want 200 and %q in it:\n%s", path, r.StatusCode, want, body)
			}
		}
	}
	if text := c.Log.String(); strings.Contains(text, "can roll back") {
		t.Errorf("a daemon with a token warns that there is none: %s", text)
	}
}

// TestSeriesAreFixed (O02): what clients think up, hosts, paths, methods, server names and
// statuses, is no series.
func TestSeriesAreFixed(t *testing.T) {
	c, a := serve(t, origin(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200 + len(r.Host)) }), "--access-log", "json")
	series := func() string {
		_, text := ask(t, "GET", "http://"+a.Admin+"/metrics", "", "")
		var names []string
		for line := range strings.Lines(text) {
			if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(name, "ramjet_") {
				names = append(names, name)
			}
		}
		return strings.Join(names, "\n")
	}
	before := series()
	for i := range 50 {
		w := dial(t, a.HTTP)
		w.send(t, fmt.Sprintf("M%d /%d HTTP/1.1\r\nHost: h%d.%s.test\r\nX-Request-Id: r%d\r\n\r\n", i, i, i, strings.Repeat("x", i), i))
		w.head(t)
		if i%10 == 0 {
			w := tls.Client(dial(t, a.HTTPS), &tls.Config{InsecureSkipVerify: true, ServerName: fmt.Sprintf("s%d.test", i)})
			if err := w.Handshake(); err != nil {
				t.Error(err)
			}
		}
	}
	c.Out.Wait(t, `"request_id":"r49"`)
	if after := series(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// TestWarnsWithoutToken: an open emergency brake is said to be one.
func TestWarnsWithoutToken(t *testing.T) {
	c, a := serve(t, "127.0.0.1:1")
	c.Log.Wait(t, "can roll back")
	if r, body := ask(t, "POST", "http://"+a.Admin+"/admin/rollback", `{"generation":0}`, ""); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	c.Log.Wait(t, `"event":"pin"`)
}
