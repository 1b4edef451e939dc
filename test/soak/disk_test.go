//go:build e2e && soak

package soak

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ramjet.dev/ingress/internal/soak/control"
)

// mountSmall makes the state folder a file system of a few pages.
func (s *service) mountSmall() {
	s.t.Helper()
	if err := os.MkdirAll(s.state, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", s.state, "tmpfs", 0, "size=64k"); err != nil {
		s.t.Fatalf("mount a small file system on %s: %v: this test needs root", s.state, err)
	}
	s.t.Cleanup(func() {
		if err := unix.Unmount(s.state, unix.MNT_DETACH); err != nil {
			s.t.Error(err)
		}
	})
}

// fill takes all the room that is left, also that in the last page of the ledger.
func (s *service) fill() {
	s.t.Helper()
	f, err := os.OpenFile(filepath.Join(s.state, "ballast"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{4096, 1} {
		for err = nil; err == nil; _, err = f.Write(make([]byte, size)) {
		}
		if !errors.Is(err, syscall.ENOSPC) {
			s.t.Fatal(err)
		}
	}
}

// pad fills the last page of the ledger with lines that mean nothing, up to a few
// bytes: a file system of pages has room in them when it is full.
func (s *service) pad() {
	s.t.Helper()
	for {
		info, err := os.Stat(s.ledgerPath())
		if err != nil {
			s.t.Fatal(err)
		}
		left := 4096 - int(info.Size()%4096)
		const least = len(`{"event":"note","ts":1,"version":""}`) + 1
		switch {
		case left < 2*least:
			s.append(`{"event":"note","ts":1,"version":"` + strings.Repeat("x", left-least) + `"}` + "\n")
			return
		default:
			s.append(`{"event":"note","ts":1,"version":""}` + "\n")
		}
	}
}

// TestDiskFull: what cannot be written is not begun, what runs keeps running, the
// error says what is wrong, and when there is room again it goes on.
func TestDiskFull(t *testing.T) {
	s := newService(t, knobs{window: 10 * time.Second})
	s.mountSmall()
	s.run()
	s.serves("v1")
	s.kill() // to pad the ledger, which is for its owner alone
	s.pad()
	s.run()
	before := s.serves("v1")
	s.fill()

	s.wants(1, "no space left on device", "deploy", s.config, "v3")
	s.wants(1, "no space left on device", "rollback", s.config)
	if st := s.status(); !strings.Contains(st.LedgerError, "no space left on device") || st.Starting != "" || len(st.Processes) != 1 {
		t.Errorf("on a full disk: %+v", st)
	}
	s.super.Log.Wait(t, "the ledger cannot be written")
	if after := s.serves("v1"); after != before {
		t.Errorf("before %+v, after %+v", before, after)
	}
	// One that dies is not started again as long as that cannot be written.
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.super.Log.Wait(t, `"msg":"ended","version":"v1"`)
	lines := len(s.entries())
	s.until("the death of v1", func(st control.Status) bool { return len(st.Processes) == 1 && st.Processes[0].Phase == "gone" })
	if len(s.entries()) != lines {
		t.Errorf("lines were written on a full disk: %q", s.events(lines))
	}

	s.free()
	s.super.Log.Wait(t, "the ledger can be written again")
	s.serves("v1")
	s.wantEvents(lines, "restarted v1")

	// The same in a window: the candidate's death counts when it can be written, for the
	// moment at which it died.
	s.wants(0, "", "deploy", "--detach", s.config, "v3")
	p := s.serves("v3")
	s.kill()
	s.pad()
	s.run()
	s.fill()
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.super.Log.Wait(t, "the ledger cannot be written")
	s.until("the end of the window", func(st control.Status) bool { return st.WindowLeftMS == 0 })
	s.free()
	s.serves("v3")
	var all []string
	for _, e := range s.events(lines + 1) {
		if !strings.HasPrefix(e, "note") {
			all = append(all, e)
		}
	}
	if got := strings.Join(all, ", "); got != "starting v3, promoted v3, restarting v3, confirmed v3" {
		t.Errorf("ledger: %s", got)
	}
	// A supervisor that is asked to stop on a full disk does.
	s.kill()
	s.pad()
	s.run()
	s.serves("v3")
	s.fill()
	s.super.Signal(syscall.SIGTERM)
	if status := s.super.Exit(); status != 0 {
		t.Errorf("stopped with %d", status)
	}
}

func (s *service) free() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.state, "ballast")); err != nil {
		s.t.Fatal(err)
	}
}
