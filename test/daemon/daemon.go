// Package daemon runs the real ramjet-ingressd as a child process for tests: it
// builds the binary once, starts it on free ports of loopback, and lets a test
// wait for what it logs and for its end.
//
// A child that a test started is dead when the test has ended. Nothing here knows
// how the daemon works inside; tests see what an operator sees.
package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience bounds every wait for something that must happen. No test passes by
// waiting this long.
const Patience = time.Minute

// programs is the folder with the programs under test, set by Main.
var programs string

// Main is the TestMain of a package that uses this one: it builds the daemon, and
// the programs of more packages if there are any, and removes them after the tests.
func Main(m *testing.M, more ...string) {
	code, err := Run(m, more...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Program is the path of a program that Main has built.
func Program(name string) string { return filepath.Join(programs, name) }

// Run is Main for a TestMain that has more to do after the tests: it returns what
// the process is to exit with.
func Run(m *testing.M, more ...string) (code int, err error) {
	dir, err := os.MkdirTemp("", "ramjet-test-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs = dir
	args := append([]string{"build", "-o", dir + string(filepath.Separator), "ramjet.dev/ingress/cmd/ramjet-ingressd"}, more...)
	build := exec.Command("go", args...)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build the programs: %w", err)
	}
	return m.Run(), nil
}

// Setup says how to start a child. The zero value is a daemon without arguments.
type Setup struct {
	// Program is the name of the program, "" for the daemon.
	Program string
	// Args are the arguments, without the name of the program.
	Args []string
	// Env are variables, NAME=value. None of the test's own RAMJET_ variables is
	// passed on; DAEMON_ENGINE names the engine of daemons that are not told another.
	Env []string
	// Dir is the folder that it starts in; "" is that of the test.
	Dir string
	// Stdout takes the standard output in place of Child.Out, as it is: with a pipe
	// that nobody reads, a write there blocks. nil = Child.Out.
	Stdout *os.File
}

// Child is a running or finished daemon. Its methods may be used by several
// goroutines.
type Child struct {
	// Started is the moment just before the process was made.
	Started time.Time
	// Out and Log are what it wrote to standard output and standard error.
	Out, Log *Lines
	// PID is its process id.
	PID int

	t      testing.TB
	cmd    *exec.Cmd
	exited chan struct{} // closed once all output was read and the status is known
}

// Start runs the daemon. It does not wait for anything; see Serving.
func Start(t testing.TB, s Setup) *Child {
	t.Helper()
	c := &Child{t: t, Out: newLines(), Log: newLines(), exited: make(chan struct{})}
	name := s.Program
	if name == "" {
		name = "ramjet-ingressd"
	}
	c.cmd = exec.Command(Program(name), s.Args...)
	c.cmd.Dir = s.Dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "RAMJET_") {
			c.cmd.Env = append(c.cmd.Env, v)
		}
	}
	if engine := os.Getenv("DAEMON_ENGINE"); engine != "" && s.Program == "" {
		c.cmd.Env = append(c.cmd.Env, "RAMJET_ENGINE="+engine)
	}
	c.cmd.Env = append(c.cmd.Env, s.Env...)
	// Wait returns only when both have been written to their end.
	c.cmd.Stdout, c.cmd.Stderr = c.Out, c.Log
	if s.Stdout != nil {
		c.cmd.Stdout = s.Stdout
	}
	c.Started = time.Now()
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.PID = c.cmd.Process.Pid
	go func() {
		_ = c.cmd.Wait() // ProcessState has the status
		c.Out.end()
		c.Log.end()
		close(c.exited)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may be gone already
		<-c.exited
		if t.Failed() {
			t.Logf("%s was started with %q and wrote:\n%s%s", name, s.Args, c.Out, c.Log)
		}
	})
	return c
}

// Addresses are where a daemon listens, host:port, "off" where it does not.
type Addresses struct {
	HTTP  string `json:"http"`
	HTTPS string `json:"https"`
	Admin string `json:"admin"`
}

// Serving waits for the banner of a daemon that logs JSON and returns where it
// listens.
func (c *Child) Serving() (a Addresses) {
	c.t.Helper()
	line := c.Log.Wait(c.t, `"msg":"serving"`)
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		c.t.Fatalf("the banner is not JSON: %v: %s", err, line)
	}
	return a
}

// Signal sends a signal.
func (c *Child) Signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatalf("signal the daemon: %v", err)
	}
}

// Exit waits for the end of the process and returns its status, -1 for a process
// that a signal ended.
func (c *Child) Exit() int {
	c.t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case <-c.exited:
		return c.cmd.ProcessState.ExitCode()
	case <-late.C:
		c.t.Fatal("the daemon did not end")
		return -1
	}
}

// PeakMemory is the largest resident size that the process ever had, in bytes.
// The kernel keeps it, so no moment is missed between two looks.
func (c *Child) PeakMemory() int64 {
	c.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			if err != nil {
				c.t.Fatal(err)
			}
			return kib << 10
		}
	}
	c.t.Fatal("the kernel does not tell the peak size of a process")
	return 0
}
