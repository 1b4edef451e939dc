//go:build linux

package process

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that must happen.
const patience = 30 * time.Second

// box collects what processes write.
type box struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *box) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *box) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// spec is a shell script as a release of line 7.
func spec(t *testing.T, script string) (Spec, *box) {
	t.Helper()
	out, dir := &box{}, t.TempDir()
	return Spec{
		StateDir: dir, Line: 7, Version: "v1", Port: 81, Dir: dir, Env: []string{"GREETING=hello"},
		Command: []string{"sh", "-c", script},
		Output:  Output{Stdout: out, Stderr: out, PipesDir: filepath.Join(dir, "pipes")},
	}, out
}

func start(t *testing.T, s Spec) *Process {
	t.Helper()
	p, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		gone(t, p)
	})
	return p
}

func gone(t *testing.T, p *Process) string {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.Gone():
		return p.Status()
	case <-late.C:
		t.Fatal("the process did not end")
		return ""
	}
}

// until looks until something is so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for start := time.Now(); !so(); {
		if time.Since(start) > patience {
			t.Fatalf("%s did not come about", what)
		}
	}
}

func TestProcess(t *testing.T) {
	s, out := spec(t, `echo "$GREETING from $SOAK_VERSION on $SOAK_PORT"; echo oops >&2; printf unended; exit 3`)
	p := start(t, s)
	if status := gone(t, p); status != "exit status 3" {
		t.Errorf("status %q", status)
	}
	for _, want := range []string{"v1 | hello from v1 on 81\n", "v1 | oops\n", "v1 | unended\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if left, _ := os.ReadDir(s.Output.PipesDir); len(left) != 0 {
		t.Errorf("pipes are left: %v", left)
	}
	if alive, err := p.ID.alive(); alive || err != nil {
		t.Errorf("it is said to run, or %v", err)
	}
	if err := p.Stop(time.Second); err != nil {
		t.Errorf("stopping what is gone: %v", err)
	}
}

func TestNoSuchProgram(t *testing.T) {
	s, _ := spec(t, "")
	s.Command = []string{filepath.Join(s.Dir, "none")}
	if _, err := Start(s); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("started: %v", err)
	}
	s.Command, s.Dir = []string{"true"}, filepath.Join(s.Dir, "none")
	if _, err := Start(s); err == nil {
		t.Error("started in a folder that is not there")
	}
}

// TestStop: SIGTERM first, SIGKILL after the grace; twice is once.
func TestStop(t *testing.T) {
	s, out := spec(t, `trap 'echo bye; exit 0' TERM; echo up; while :; do read -r x < /dev/null || :; done`)
	p := start(t, s)
	until(t, "up", func() bool { return strings.Contains(out.String(), "up") })
	for range 2 {
		if err := p.Stop(patience); err != nil {
			t.Fatal(err)
		}
	}
	if status := gone(t, p); status != "exit status 0" || !strings.Contains(out.String(), "bye") {
		t.Errorf("status %q, output %s", status, out)
	}

	s, out = spec(t, `trap '' TERM; echo up; while :; do read -r x < /dev/null || :; done`)
	p = start(t, s)
	until(t, "up", func() bool { return strings.Contains(out.String(), "up") })
	if err := p.Stop(10 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if status := gone(t, p); status != "signal: killed" {
		t.Errorf("status %q", status)
	}
}

// TestOutlivesItsSupervisor: a process that writes more than anybody reads, to a
// supervisor that dies, is not harmed, and the next one reads on.
func TestOutlivesItsSupervisor(t *testing.T) {
	s, _ := spec(t, "")
	s.Command = []string{"sh", "-c", whenTold + `i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done; echo done > ready; exec sleep 1000`}
	held := orphan(t, s)
	tell(t, s)
	until(t, "the end of what it writes", func() bool {
		_, err := os.Stat(filepath.Join(s.Dir, "ready"))
		return err == nil
	})
	found, err := Orphans(s.StateDir)
	if err != nil || len(found) != 1 || found[0].Line != 7 || found[0].Version != "v1" || found[0].Port != 81 {
		t.Fatalf("found %+v, %v", found, err)
	}
	out := &box{}
	s.Output.Stdout, s.Output.Stderr = out, out
	p := held.Adopt(s)
	until(t, "the last line", func() bool { return strings.Contains(out.String(), "v1 | line 1999\n") })
	if err := p.Stop(patience); err != nil {
		t.Fatal(err)
	}
	if status := gone(t, p); !strings.Contains(status, "not known") {
		t.Errorf("status %q", status)
	}
}

// TestHelperSupervisor is the process that TestOutlivesItsSupervisor starts and that
// dies; otherwise it does nothing.
func TestHelperSupervisor(t *testing.T) {
	dir := os.Getenv("SOAK_TEST_SPEC")
	if dir == "" {
		return
	}
	_, err := Start(Spec{
		StateDir: dir, Line: 7, Version: "v1", Port: 81, Dir: dir, Command: []string{"sh", "-c", os.Getenv("SOAK_TEST_SCRIPT")},
		Output: Output{Stdout: &box{}, Stderr: &box{}, PipesDir: filepath.Join(dir, "pipes")},
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// TestEarly: a process is found from the moment on at which it was started; one that has
// no environment for good is not waited for.
func TestEarly(t *testing.T) {
	s, _ := spec(t, "exec sleep 1000")
	p := start(t, s)
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	until(t, "the process without an environment", func() bool {
		st, err := readStat(cmd.Process.Pid)
		return err == nil && !st.early
	})
	all, early, err := orphans(s.StateDir, []int{cmd.Process.Pid, 2}) // 2 is the kernel's, where it is seen
	if err != nil || len(all) != 0 || len(early) != 0 {
		t.Errorf("found %+v, early %d, %v", all, early, err)
	}
	for range 20 {
		s, _ := spec(t, "exec sleep 1000")
		p, err := Start(s)
		if err != nil {
			t.Fatal(err)
		}
		all, err := Orphans(s.StateDir)
		if err != nil || len(all) != 1 || all[0].Identity != p.ID {
			t.Errorf("found %+v, %v", all, err)
		}
		p.Kill()
		gone(t, p)
	}
	if all, err := Orphans(s.StateDir); err != nil || len(all) != 1 || all[0].Identity != p.ID {
		t.Errorf("found %+v", all)
	}
}

// TestStranger: a number alone is not an identity.
func TestStranger(t *testing.T) {
	s, _ := spec(t, "exec sleep 1000")
	p := start(t, s)
	other := p.ID
	other.StartTicks--
	if alive, err := other.alive(); alive || err != nil {
		t.Errorf("a process that started at another time is taken for this one, or %v", err)
	}
	if _, err := Find(other); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("found: %v", err)
	}
	found, err := Find(p.ID)
	if err != nil {
		t.Fatalf("it was harmed: %v", err)
	}
	found.Release()
}

// TestOutOfFiles: that no more files can be opened is no news about a process.
func TestOutOfFiles(t *testing.T) {
	s, _ := spec(t, "exec sleep 1000")
	p := start(t, s)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limit := func(l syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
			t.Fatal(err)
		}
	}
	limit(syscall.Rlimit{Cur: 3, Max: before.Max})
	_, started := Start(s)
	_, found := Find(p.ID)
	_, known := p.ID.alive()
	_, all := Orphans(s.StateDir)
	left := sweepByHand(p.ID, p.mark)
	limit(before)
	for what, err := range map[string]error{"start": started, "find": found, "alive": known, "orphans": all, "leftovers": left} {
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !Shortage(started) {
		t.Errorf("counted as a death: %v", started)
	}
	if all, err := Orphans(s.StateDir); err != nil || len(all) != 1 || all[0].Identity != p.ID {
		t.Errorf("it was harmed: %+v, %v", all, err)
	}
}

// TestFiles: what a process writes into files needs nobody.
func TestFiles(t *testing.T) {
	s, _ := spec(t, "echo out; echo err >&2")
	s.Output = Output{FilesDir: filepath.Join(t.TempDir(), "log")}
	for range 2 {
		gone(t, start(t, s))
	}
	for _, name := range []string{"out", "err"} {
		text, err := os.ReadFile(filepath.Join(s.Output.FilesDir, "v1."+name))
		if err != nil || string(text) != name+"\n"+name+"\n" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestUnheard: a release whose output has no place to go runs all the same.
func TestUnheard(t *testing.T) {
	s, out := spec(t, "echo lost; exit 4")
	s.Output.PipesDir = filepath.Join(s.Dir, "file", "pipes")
	if err := os.WriteFile(filepath.Join(s.Dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, s)
	if status := gone(t, p); status != "exit status 4" || p.Unheard == nil || out.String() != "" {
		t.Errorf("status %q, %v, output %q", status, p.Unheard, out)
	}
}

// TestNobodyReads: that a process has ended is seen although what it wrote cannot be
// passed on, because whoever reads us has stopped.
func TestNobodyReads(t *testing.T) {
	s, _ := spec(t, "echo stuck; echo stuck >&2")
	reader, stuck := io.Pipe()
	defer reader.Close()
	s.Output.Stdout, s.Output.Stderr = stuck, stuck
	p := start(t, s)
	if status := gone(t, p); status != "exit status 0" {
		t.Errorf("status %q", status)
	}
	<-p.Died()
	if waited := time.Since(p.DiedAt()); waited < lastWords {
		t.Errorf("its death is said to be %s ago: that is when its output was given up", waited)
	}
	if left, _ := os.ReadDir(s.Output.PipesDir); len(left) != 0 {
		t.Errorf("pipes are left: %v", left)
	}
}

// TestLongLines are cut in pieces, and bounded.
func TestLongLines(t *testing.T) {
	s, out := spec(t, `head -c 200000 /dev/zero | tr '\0' x`)
	gone(t, start(t, s))
	n := 0
	for line := range strings.Lines(out.String()) {
		if len(line) > maxLine+len("v1 | \n") {
			t.Errorf("a line of %d bytes", len(line))
		}
		n += strings.Count(line, "x")
	}
	if n != 200000 {
		t.Errorf("%d of 200000 bytes", n)
	}
}

func TestPortFree(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := net.SplitHostPort(l.Addr().String())
	port, _ := strconv.Atoi(text)
	if PortFree(port) {
		t.Error("somebody listens, and it is free")
	}
	l.Close()
	if !PortFree(port) {
		t.Error("nobody listens, and it is not free")
	}
}

// TestPortIsNotListenedOn: whoever looks whether a port is free takes no connection
// there.
func TestPortIsNotListenedOn(t *testing.T) {
	// Not one that the system gives to connections: it would connect one with itself.
	port := 15000 + rand.IntN(15000)
	for !PortFree(port) {
		port = 15000 + rand.IntN(15000)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	stop, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		for {
			select {
			case <-stop:
				return
			default:
				PortFree(port)
			}
		}
	}()
	for range 500 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			t.Error("a connection was taken")
			break
		}
	}
	close(stop)
	<-looked
}
