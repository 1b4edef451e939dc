//go:build e2e

package e2e

import (
	"crypto/tls"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

const plainRoutes = "backends:\n  - {name: app, endpoints: [\"127.0.0.1:1\"]}\nroutes:\n  - {path: /, backend: app}\n"

// TestEnvironment configures a daemon by variables only, and lets a flag beat one
// of them.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	daemon.Write(t, dir, "routes.yaml", plainRoutes)
	c := daemon.Start(t, daemon.Setup{
		Dir:  dir,
		Args: []string{"--http", "127.0.0.1:0"},
		Env: []string{
			"RAMJET_STATIC_ROUTES=routes.yaml", "RAMJET_HTTP=not used", "RAMJET_NO_HTTPS=yes", "RAMJET_ADMIN=127.0.0.1:0",
			"RAMJET_LOG_FORMAT=json", "RAMJET_SHUTDOWN_GRACE=1.5", "RAMJET_WORKER_THREADS=1", "RAMJET_HTPS=:1",
		},
	})
	a := c.Serving()
	if !strings.HasPrefix(a.HTTP, "127.0.0.1:") || a.HTTPS != "off" || !strings.HasPrefix(a.Admin, "127.0.0.1:") {
		t.Errorf("listens at %+v", a)
	}
	c.Log.Wait(t, "RAMJET_HTPS is not known")
	c.Signal(syscall.SIGTERM)
	c.Log.Wait(t, `"grace":"1.5s"`)
	if code := c.Exit(); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
}

// TestQuestions: --version and --help answer whatever else is wrong, on standard
// output, and start nothing.
func TestQuestions(t *testing.T) {
	for _, q := range []struct{ args, want string }{
		{"--version", "ramjet-ingressd "},
		{"--help", "usage: ramjet-ingressd"},
		{"-h", "usage: ramjet-ingressd"},
		{"--version --demo --static-routes x --engine none", "ramjet-ingressd "},
		{"--help --http nonsense", "usage: ramjet-ingressd"},
		{"--no-http --no-https --no-admin --version", "ramjet-ingressd "},
	} {
		c := daemon.Start(t, daemon.Setup{Args: strings.Fields(q.args)})
		if code := c.Exit(); code != 0 || !strings.Contains(c.Out.String(), q.want) || c.Log.String() != "" {
			t.Errorf("%s: status %d, printed %q, logged %q", q.args, code, c.Out, c.Log)
		}
	}
}

// TestNoCertificates: a TLS listener that could only fail is not opened, unless
// it was asked for by name.
func TestNoCertificates(t *testing.T) {
	dir := t.TempDir()
	daemon.Write(t, dir, "routes.yaml", plainRoutes)
	start := func(more ...string) daemon.Addresses {
		args := append([]string{"--static-routes", "routes.yaml", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json"}, more...)
		return daemon.Start(t, daemon.Setup{Dir: dir, Args: args}).Serving()
	}
	if a := start(); a.HTTPS != "off" {
		t.Errorf("without certificates TLS listens at %s", a.HTTPS)
	}
	a := start("--https", "127.0.0.1:0")
	_, err := tls.Dial("tcp", a.HTTPS, &tls.Config{ServerName: "shop.test"})
	if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		t.Errorf("the handshake ended with %v, want unrecognized_name", err)
	}
}

// TestLogIsJSON: every line of the log, from the first to the last, is an object
// that a pipeline can read.
func TestLogIsJSON(t *testing.T) {
	c, a := serve(t, "127.0.0.1:1", "--log-level", "debug")
	ask(t, "GET", "http://"+a.HTTP+"/%1b[31m?\"\\", "", "")
	ask(t, "POST", "http://"+a.Admin+"/admin/rollback", `{"generation":0}`, "")
	ask(t, "DELETE", "http://"+a.Admin+"/admin/rollback", "", "")
	c.Signal(syscall.SIGTERM)
	c.Exit()
	events := make(map[string]bool)
	for line := range strings.Lines(c.Log.String()) {
		var record struct {
			Time       time.Time
			Level, Msg string
			Event      string
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Time.IsZero() || record.Level == "" || record.Msg == "" {
			t.Errorf("%v, or no time, level or message: %s", err, line)
		}
		events[record.Event] = true
	}
	for _, want := range []string{"config", "pin", "resume"} {
		if !events[want] {
			t.Errorf("the log has no record of event %q", want)
		}
	}
}

// TestLogIsText: the other form, for people, which is the default.
func TestLogIsText(t *testing.T) {
	dir := t.TempDir()
	daemon.Write(t, dir, "routes.yaml", plainRoutes)
	c := daemon.Start(t, daemon.Setup{Dir: dir, Args: []string{"--static-routes", "routes.yaml", "--http", "127.0.0.1:0", "--no-admin"}})
	line := c.Log.Wait(t, "msg=serving")
	for _, want := range []string{"https=off", "admin=off", "backends=1", "endpoints=1", "routes=1", "certificates=0"} {
		if !strings.Contains(line, " "+want) {
			t.Errorf("the banner does not say %s: %s", want, line)
		}
	}
}

// TestExample: the route file that the documents point at is one.
func TestExample(t *testing.T) {
	args := append([]string{"--static-routes", "../../examples/routes.yaml"}, loopback...)
	c := daemon.Start(t, daemon.Setup{Args: args})
	if a := c.Serving(); a.HTTP == "off" {
		t.Errorf("listens at %+v", a)
	}
}
