//go:build linux

package readiness

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"ramjet.dev/ingress/internal/soak/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what has to come about; nothing is measured with it.
const patience = time.Minute

// quick is how the tests ask.
func quick(r config.Readiness) config.Readiness {
	r.Interval, r.Timeout = time.Millisecond, patience
	return r
}

// release is an HTTP server on a port of 127.0.0.1.
func release(t *testing.T, answer http.HandlerFunc) Target {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return Target{Version: "v2", Port: s.Listener.Addr().(*net.TCPAddr).Port}
}

// deaf is a port that nobody listens on.
func deaf(t *testing.T) Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return Target{Version: "v2", Port: l.Addr().(*net.TCPAddr).Port}
}

// TestHTTP: a status from 200 to 399 is ready, a redirect as it stands.
func TestHTTP(t *testing.T) {
	for status, want := range map[int]bool{200: true, 204: true, 302: true, 399: true, 400: false, 404: false, 500: false, 503: false} {
		var asked atomic.Value
		to := release(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Store(r.Method + " " + r.URL.String() + " " + r.Header.Get("User-Agent"))
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		})
		err := try(t.Context(), quick(config.Readiness{HTTPPath: "/healthz?deep=1"}), to)
		if (err == nil) != want {
			t.Errorf("%d: %v", status, err)
		}
		if got := asked.Load(); got != "GET /healthz?deep=1 soak" {
			t.Errorf("%d: asked %q", status, got)
		}
	}
}

// TestNobodyThere is not ready, for whoever asks over the network.
func TestNobodyThere(t *testing.T) {
	for _, r := range []config.Readiness{{HTTPPath: "/"}, {TCP: true}} {
		if err := try(t.Context(), quick(r), deaf(t)); err == nil {
			t.Errorf("%+v: ready", r)
		}
	}
}

func TestTCP(t *testing.T) {
	to := release(t, func(http.ResponseWriter, *http.Request) {})
	if err := try(t.Context(), quick(config.Readiness{TCP: true}), to); err != nil {
		t.Error(err)
	}
}

// TestCommand is ready with status 0, and finds version, port and folder.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	to := Target{Version: "v2", Port: 8081, Dir: dir}
	ask := func(script string) error {
		return try(t.Context(), quick(config.Readiness{Command: []string{"sh", "-c", script, "sh", "{version}", "{port}"}}), to)
	}
	if err := ask(`echo "$1 $2" >asked`); err != nil {
		t.Error(err)
	}
	if said, err := os.ReadFile(filepath.Join(dir, "asked")); err != nil || string(said) != "v2 8081\n" {
		t.Errorf("%q, %v", said, err)
	}
	if err := ask("exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("status 3: %v", err)
	}
	err := try(t.Context(), quick(config.Readiness{Command: []string{filepath.Join(dir, "none")}}), to)
	if err == nil {
		t.Error("a command that is not there is ready")
	}
}

// TestWaitTriesAgain until the release is ready.
func TestWaitTriesAgain(t *testing.T) {
	var tries atomic.Int32
	to := release(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) < 4 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	ready, last := Wait(t.Context(), quick(config.Readiness{HTTPPath: "/"}), to)
	if !ready || tries.Load() != 4 {
		t.Errorf("ready %v after %d tries, %v", ready, tries.Load(), last)
	}
}

// TestWaitEnds when nobody waits any more, in the middle of a try too, and says what the
// last try that came to an end was told.
func TestWaitEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var tries atomic.Int32
	to := release(t, func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		cancel()
		<-r.Context().Done() // the try was given up
	})
	ready, last := Wait(ctx, quick(config.Readiness{HTTPPath: "/"}), to)
	if ready || last == nil || !strings.Contains(last.Error(), "418") {
		t.Errorf("ready %v, %v", ready, last)
	}
}

// TestTimeout: one try that takes too long is over.
func TestTimeout(t *testing.T) {
	hangs := release(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for _, r := range []config.Readiness{
		{HTTPPath: "/", Timeout: 20 * time.Millisecond},
		{Command: []string{"sleep", "1000"}, Timeout: 20 * time.Millisecond},
	} {
		if err := try(t.Context(), r, hangs); err == nil {
			t.Errorf("%+v: ready", r)
		}
	}
}

// TestCommandIsKilledWhole: when a try is given up, what it started goes with it.
func TestCommandIsKilledWhole(t *testing.T) {
	to := Target{Dir: t.TempDir()}
	pipe := filepath.Join(to.Dir, "child")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	child := make(chan string, 1)
	go func() {
		said, _ := os.ReadFile(pipe) // waits for the child
		child <- string(said)
		cancel()
	}()
	if err := try(ctx, quick(config.Readiness{Command: []string{"sh", "-c", "sleep 1000 & echo $! >child; wait"}}), to); err == nil {
		t.Error("ready")
	}
	var pid int
	if _, err := fmt.Sscan(<-child, &pid); err != nil {
		t.Fatal(err)
	}
	// It is collected by whoever collects orphans.
	for end := time.Now().Add(patience); running(pid); {
		if time.Now().After(end) {
			t.Fatalf("process %d, started by a probe, still runs", pid)
		}
	}
}

// TestCommandLeavesNothing: what a program leaves behind when it ends by itself goes too.
func TestCommandLeavesNothing(t *testing.T) {
	to := Target{Dir: t.TempDir()}
	if err := try(t.Context(), quick(config.Readiness{Command: []string{"sh", "-c", "sleep 1000 & echo $! >child"}}), to); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(to.Dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); running(pid); {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d, left by a probe, still runs", pid)
		}
	}
}

// running reports whether there is a process that is not just waiting to be collected.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
