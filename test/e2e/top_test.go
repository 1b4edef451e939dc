//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ramjet.dev/ingress/test/daemon"
	"ramjet.dev/ingress/test/terminal"
)

// buildTop builds ramjet-top for a test.
func buildTop(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "ramjet-top")
	if out, err := exec.Command("go", "build", "-o", program, "ramjet.dev/ingress/cmd/ramjet-top").CombinedOutput(); err != nil {
		t.Fatalf("build ramjet-top: %v: %s", err, out)
	}
	return program
}

// topCommand is a command line of ramjet-top.
func topCommand(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
	return cmd
}

// load sends requests to the demo until it is stopped, at the end of the test at the
// latest.
func load(t *testing.T, address string) (stop func()) {
	t.Helper()
	over := make(chan struct{})
	var clients sync.WaitGroup
	transport := &http.Transport{}
	for i := range 2 {
		clients.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				r, err := http.NewRequest("GET", "http://"+address+[]string{"/", "/api/items"}[i], http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				r.Host = "shop.localhost"
				if answer, err := transport.RoundTrip(r); err == nil { // the daemon is killed, too
					answer.Body.Close()
				}
			}
		})
	}
	stop = sync.OnceFunc(func() {
		close(over)
		clients.Wait()
		transport.CloseIdleConnections()
	})
	t.Cleanup(stop)
	return stop
}

// masked is a screen without what differs from run to run: numbers, the sparkline, and
// how far columns are apart.
func masked(screen string) string {
	for _, m := range []struct{ find, put string }{
		{`127\.0\.0\.1:\d+`, "ADDRESS"}, {`[▁▂▃▄▅▆▇█]+`, ""}, {`\d+m\d\ds|\d+s`, "TIME"}, {`\d\d:\d\d:\d\d`, "CLOCK"}, {`[0-9a-f]{16}`, "DIGEST"},
		{`(RPS|5XX|MS)▼`, "$1"}, {`[ ]\d+(\.\d+)?k?([% \n])`, " N$2"}, {`[ ]\d+(\.\d+)?k?([% \n])`, " N$2"}, {`[ ]-([ \n])`, " N$1"}, {`[ ]-([ \n])`, " N$1"}, {`[ ]+`, " "}, {` \n`, "\n"}, {`\n{3,}`, "\n\n"},
	} {
		screen = regexp.MustCompile(m.find).ReplaceAllString(screen, m.put)
	}
	return strings.TrimRight(screen, "\n") + "\n"
}

// TestTopOfDemo watches the demo under load, in a small window and in a large one.
func TestTopOfDemo(t *testing.T) {
	program := buildTop(t)
	d := daemon.Start(t, daemon.Setup{Args: append([]string{"--demo"}, loopback...)})
	a := d.Serving()
	load(t, a.HTTP)
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			term := terminal.New(t, size[0], size[1])
			p := term.Start(topCommand(program, "-i", "250ms", a.Admin))
			term.WaitFor("rates", func(screen string) bool { return regexp.MustCompile(`rps +[1-9]`).MatchString(screen) })
			golden := filepath.Join("testdata", "top", fmt.Sprintf("demo-%dx%d.txt", size[0], size[1]))
			if *update {
				term.Type("h")
				screens := masked(term.Wait("HOST▲", "shop.localhost"))
				term.Type("\t\r")
				screens += masked(term.Wait("+ mirror"))
				if err := os.WriteFile(golden, []byte(screens), 0o600); err != nil {
					t.Fatal(err)
				}
			} else {
				text, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				// A screen may be marked for a moment, when an answer is late.
				want := string(text)
				term.Type("h")
				first := masked(term.WaitFor("the first screen of "+golden, func(screen string) bool {
					return strings.Contains(screen, "HOST▲") && strings.HasPrefix(want, masked(screen))
				}))
				term.Type("\t\r")
				term.WaitFor("the second screen of "+golden, func(screen string) bool { return first+masked(screen) == want })
			}
			term.Type("q")
			if code := p.Exit(); code != 0 {
				t.Errorf("exit status %d, want 0", code)
			}
			term.WaitFor("the first screen", func(string) bool { return term.Restored() })
		})
	}
}

// TestTopOutlivesDaemon kills the daemon and brings it back at the same port: the last
// data stays, marked, until then.
func TestTopOutlivesDaemon(t *testing.T) {
	program := buildTop(t)
	d := daemon.Start(t, daemon.Setup{Args: append([]string{"--demo"}, loopback...)})
	a := d.Serving()
	stop := load(t, a.HTTP)
	term := terminal.New(t, 100, 24)
	term.Start(topCommand(program, "-i", "1s", a.Admin))
	term.WaitFor("rates", func(screen string) bool { return regexp.MustCompile(`rps +[1-9]`).MatchString(screen) })
	stop()
	d.Signal(syscall.SIGKILL)
	d.Exit()
	term.Wait("STALE  since", "connection refused", "shop.localhost")
	_, port, err := net.SplitHostPort(a.Admin)
	if err != nil {
		t.Fatal(err)
	}
	again := daemon.Start(t, daemon.Setup{Args: append([]string{"--demo"}, "--http", "127.0.0.1:0", "--https", "127.0.0.1:0", "--admin", "127.0.0.1:"+port, "--log-format", "json")})
	again.Serving()
	term.WaitFor("fresh data", func(screen string) bool {
		return !strings.Contains(screen, "STALE") && regexp.MustCompile(`rps +0\.0`).MatchString(screen)
	})
}

// TestTopOnce prints the same twice of a daemon that does nothing, and answers that jq
// takes; the statuses are those of --help.
func TestTopOnce(t *testing.T) {
	program := buildTop(t)
	d := daemon.Start(t, daemon.Setup{Args: append([]string{"--demo"}, loopback...)})
	a := d.Serving()
	var tables [2]string
	for i := range tables {
		out, err := topCommand(program, "--once", a.Admin).Output()
		if err != nil {
			t.Fatal(err)
		}
		tables[i] = string(out)
	}
	if tables[0] != tables[1] || !strings.Contains(tables[0], "shop.localhost    /api       Prefix  api") {
		t.Errorf("the tables are\n%s\n%s", tables[0], tables[1])
	}
	json := topCommand(program, "--json", a.Admin)
	out, err := json.Output()
	if err != nil || !strings.Contains(string(out), `"routes":{"version":1,`) {
		t.Errorf("%v: %s", err, out)
	}
	d.Signal(syscall.SIGKILL)
	d.Exit()
	gone := topCommand(program, "--once", a.Admin)
	if out, err := gone.CombinedOutput(); gone.ProcessState.ExitCode() != 1 {
		t.Errorf("%v: %s", err, out)
	}
}
