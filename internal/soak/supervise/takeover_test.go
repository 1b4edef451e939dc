//go:build linux

package supervise

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/process"
)

// TestLeftBehindUnwatched: what a release had started, and that died while nobody watched,
// is gone before it is started again.
func TestLeftBehindUnwatched(t *testing.T) {
	s := byHand(t, service(t))
	s.hears(t, probation.Event{Kind: probation.Serving, Version: "v1", TS: s.clock.now()})
	// As a supervisor starts it, but not as its child, of which it would know.
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; exec sleep 1000")
	cmd.Env = append(os.Environ(), "SOAK_VERSION=v1", "SOAK_PORT=1", "SOAK_INSTANCE="+s.Config.StateDir+"#1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
	child := 0
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &child); err != nil {
		t.Fatal(err)
	}
	all := orphans(t, s.Config)
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	r := records{BootID: s.bootID, Processes: []record{{Identity: all[0].Identity, Line: 1, Version: "v1", Port: 1, Ready: true}}}
	if err := r.save(s.path(recordsName)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := s.takeOver(); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of what it had started", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
	if s.running[1] == nil || len(s.running) != 1 {
		t.Errorf("the death of v1 is not told: %+v", s.running)
	}
	if left, err := process.Orphans(s.Config.StateDir); err != nil || len(left) != 0 {
		t.Errorf("%+v, %v", left, err)
	}
}
