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

	"ramjet.dev/ingress/internal/probation"
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

// pad fills the last page of the ledger with lines that mean nothing, up to so many
// bytes: a file system of pages has room in them when it is full. It is for a ledger
// that nobody has open.
func (s *service) pad(leave int) {
	s.t.Helper()
	note := func(bytes int) {
		const frame = len(`{"event":"note","ts":1,"version":""}` + "\n")
		s.append(`{"event":"note","ts":1,"version":"` + strings.Repeat("x", bytes-frame) + `"}` + "\n")
	}
	info, err := os.Stat(s.ledgerPath())
	if err != nil {
		s.t.Fatal(err)
	}
	const page = 4096
	for left := 2*page - leave - int(info.Size()%page); left > 0; {
		size := left
		if left > 200 {
			size = 100
		}
		note(size)
		left -= size
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
	s.pad(0)
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
	s.pad(0)
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
	s.pad(0)
	s.run()
	s.serves("v3")
	s.fill()
	s.super.Signal(syscall.SIGTERM)
	if status := s.super.Exit(); status != 0 {
		t.Errorf("stopped with %d", status)
	}
}

// TestDiskFullWhileStarting: a deploy that cannot be written any more is given up, its
// command says why, and what serves does not notice.
func TestDiskFullWhileStarting(t *testing.T) {
	s := newService(t, knobs{})
	s.mountSmall()
	s.run()
	s.serves("v1")
	s.kill()
	line := probation.Entry{Kind: probation.EntryStarting, TS: uint64(time.Now().UnixMilli()), Version: "v3"}
	s.pad(len(line.String()) + 1) // room for the beginning of the deploy
	s.run()
	before := s.serves("v1")
	s.fill()
	lines := len(s.entries())

	given := func(up string) {
		t.Helper()
		s.wants(1, "v3 is not deployed: write "+up, "deploy", s.config, "v3")
		st := s.until("the end of v3", func(st control.Status) bool { return len(st.Processes) == 1 })
		if st.Processes[0] != before || st.Current != "v1" || !strings.Contains(st.LedgerError, "no space left on device") {
			t.Errorf("before %+v, after %+v", before, st)
		}
	}
	given(`"promoted" into the ledger ` + s.ledgerPath() + ": no space left on device; v1 serves on")
	given(`"deploy_abandoned" into the ledger ` + s.ledgerPath() + ": no space left on device") // which comes first
	s.wantEvents(lines, "starting v3")

	// A successor goes by the ledger, and comes to the same end.
	s.kill()
	s.run()
	s.super.Log.Wait(t, "the release that is being started is given up")
	s.until("the end of v3", func(st control.Status) bool { return len(st.Processes) == 1 && st.Processes[0] == before })
	s.wantEvents(lines, "starting v3")

	s.free()
	s.super.Log.Wait(t, "the ledger can be written again")
	s.wantEvents(lines, "starting v3", "deploy_abandoned v3")
	if e := s.entries()[lines+1]; e.Reason != probation.ReasonLedger {
		t.Errorf("given up because of %q", e.Reason)
	}
	s.wants(0, "v3 serves", "deploy", "--detach", s.config, "v3")
	s.serves("v3")
}

func (s *service) free() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.state, "ballast")); err != nil {
		s.t.Fatal(err)
	}
}
