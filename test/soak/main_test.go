//go:build e2e

// Package soak runs the real soak with the demo service of examples/soak: what an
// operator sees when releases crash, hang and recover, when supervisors are killed,
// disks are full, and a proxy stands in front. Nothing is mocked.
package soak

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/control"
	"ramjet.dev/ingress/internal/soak/ledger"
	"ramjet.dev/ingress/internal/soak/process"
	"ramjet.dev/ingress/internal/soak/supervise"
	"ramjet.dev/ingress/test/daemon"
)

func TestMain(m *testing.M) {
	daemon.Main(m, "ramjet.dev/ingress/cmd/soak", "ramjet.dev/ingress/examples/soak/demo")
}

// service is one supervised service in a folder of its own.
type service struct {
	t      *testing.T
	dir    string // of the config
	config string
	state  string
	ports  [2]int
	super  *daemon.Child // the supervisor, nil before run
}

// knobs are what tests choose in a config; zero values are usual ones.
type knobs struct {
	window, crashAfter, deadline, grace time.Duration
}

// newService writes a config for the demo service. Every release goes through a shell
// that refuses to start it while there is a file broken-VERSION, or is content with having
// done nothing while there is one quits-VERSION.
func newService(t *testing.T, k knobs) *service {
	t.Helper()
	usual := func(d *time.Duration, usually time.Duration) {
		if *d == 0 {
			*d = usually
		}
	}
	usual(&k.window, time.Minute)
	usual(&k.crashAfter, time.Second) // long after it was found ready, for whoever found it so
	usual(&k.deadline, 20*time.Second)
	usual(&k.grace, 20*time.Second)
	s := &service{t: t, dir: t.TempDir(), ports: twoPorts(t)}
	s.state = filepath.Join(s.dir, "state")
	s.config = daemon.Write(t, s.dir, "soak.yaml", fmt.Sprintf(`
stateDir: state
baseline: v1
command:
  - sh
  - -c
  - 'test ! -e quits-{version} || exit 0; test ! -e broken-{version} || exit 3; exec "$@"'
  - sh
  - %s
  - --version={version}
  - --port={port}
  - --crash-after=%s
ports: %d-%d
readiness: {http: /healthz, interval: 20ms, timeout: 5s, deadline: %s}
restart: {backoff: 20ms, max: 1s}
overlap: 300ms
stopGrace: %s
window: %s
maxRestarts: 2
`, daemon.Program("demo"), k.crashAfter, s.ports[0], s.ports[1], k.deadline, k.grace, k.window))
	t.Cleanup(func() {
		if s.super != nil {
			s.kill()
		}
		for _, o := range s.orphans() {
			_ = syscall.Kill(-o.PID, syscall.SIGKILL)
		}
		if t.Failed() {
			text, _ := os.ReadFile(s.ledgerPath())
			t.Logf("the ledger:\n%s", text)
		}
	})
	return s
}

// orphans are the processes of releases that run.
func (s *service) orphans() []process.Orphan {
	s.t.Helper()
	all, err := process.Orphans(s.state)
	if err != nil {
		s.t.Error(err)
	}
	return all
}

// twoPorts finds two free ports beside each other, below those that the system gives
// to connections: another one might get it between two starts of a release.
func twoPorts(t *testing.T) [2]int {
	t.Helper()
	for range 100 {
		port := 15000 + 2*rand.IntN(7500)
		first, err1 := net.Listen("tcp", fmt.Sprintf(":%d", port))
		second, err2 := net.Listen("tcp", fmt.Sprintf(":%d", port+1))
		if err1 == nil {
			first.Close()
		}
		if err2 == nil {
			second.Close()
		}
		if err1 == nil && err2 == nil {
			return [2]int{port, port + 1}
		}
	}
	t.Fatal("no two free ports beside each other")
	return [2]int{}
}

func (s *service) ledgerPath() string { return filepath.Join(s.state, supervise.LedgerName) }

// run starts a supervisor and waits until it has read its ledger.
func (s *service) run() {
	s.t.Helper()
	s.start()
	s.super.Log.Wait(s.t, `"msg":"supervising"`)
}

// start starts a supervisor.
func (s *service) start() {
	s.t.Helper()
	s.super = daemon.Start(s.t, daemon.Setup{Program: "soak", Args: []string{"run", "--log-format=json", s.config}})
}

// kill ends the supervisor as a crash does.
func (s *service) kill() {
	_ = syscall.Kill(s.super.PID, syscall.SIGKILL) // it may be gone already
	s.super.Exit()
}

// soak runs a command to its end.
func (s *service) soak(args ...string) (status int, output string) {
	s.t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(daemon.Program("soak"), args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// wants runs a command and checks how it ends.
func (s *service) wants(status int, said string, args ...string) {
	s.t.Helper()
	got, output := s.soak(args...)
	if got != status || !strings.Contains(output, said) {
		s.t.Fatalf("soak %s: status %d, want %d, and %q in\n%s", strings.Join(args, " "), got, status, said, output)
	}
}

// status is what soak status says, or the end of the test.
func (s *service) status() (st control.Status) {
	s.t.Helper()
	_, output := s.soak("status", "--json", s.config)
	if err := json.Unmarshal([]byte(output), &st); err != nil {
		s.t.Fatalf("soak status: %v: %s", err, output)
	}
	return st
}

// until looks at the status until it is as wanted.
func (s *service) until(what string, wanted func(control.Status) bool) control.Status {
	s.t.Helper()
	for start := time.Now(); ; {
		st := s.status()
		if wanted(st) {
			return st
		}
		if time.Since(start) > daemon.Patience {
			s.t.Fatalf("%s did not come about: %+v", what, st)
		}
	}
}

// serves waits until exactly this release runs, and is ready.
func (s *service) serves(version string) control.Process {
	s.t.Helper()
	st := s.until(version+" alone", func(st control.Status) bool {
		return len(st.Processes) == 1 && st.Processes[0].Version == version && st.Processes[0].Phase == "ready" && st.Current == version
	})
	p := st.Processes[0]
	if got := s.get(p.Port); !strings.HasPrefix(got, version+" ") {
		s.t.Fatalf("port %d says %q, want %s", p.Port, got, version)
	}
	return p
}

// get asks a release.
func (s *service) get(port int) string {
	s.t.Helper()
	a, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	return string(text)
}

// events are the words of the ledger, "promoted v2" and so on, from line n on.
func (s *service) events(n int) []string {
	s.t.Helper()
	var all []string
	for _, e := range s.entries()[n:] {
		all = append(all, string(e.Kind)+" "+e.Version)
	}
	return all
}

func (s *service) entries() []probation.Entry {
	s.t.Helper()
	c, err := ledger.Read(s.ledgerPath())
	if err != nil {
		s.t.Fatal(err)
	}
	return c.Entries
}

func (s *service) wantEvents(n int, want ...string) {
	s.t.Helper()
	if got := s.events(n); strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.t.Errorf("ledger: %s\nwant    %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

// touch makes a file, or removes it.
func (s *service) touch(name string, there bool) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	err := os.Remove(path)
	if there {
		err = os.WriteFile(path, nil, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
