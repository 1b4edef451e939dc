//go:build linux

package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// ends waits until a process does not run any more.
func ends(t *testing.T, what string, pid int) {
	t.Helper()
	until(t, "the end of "+what, func() bool {
		st, err := readStat(pid)
		return err != nil || st.dead()
	})
}

// child is the number that a script has written into a file: what it writes otherwise may
// go to a supervisor that dies.
func child(t *testing.T, s Spec) (pid int) {
	t.Helper()
	path := filepath.Join(s.Dir, "child")
	until(t, "the child", func() bool { return there(path) })
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestLeftovers: when the process is gone, so is what it started, also what does not show
// whose it is.
func TestLeftovers(t *testing.T) {
	for _, adopted := range []bool{false, true} {
		for _, program := range []string{"sleep 1000", "env -i sleep 1000"} {
			s, _ := spec(t, program+` & echo $! > new; mv new child; exec sleep 1000`)
			var p *Process
			if adopted {
				p = orphan(t, s).Adopt(s)
			} else {
				p = start(t, s)
			}
			pid := child(t, s)
			if err := syscall.Kill(p.ID.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			gone(t, p)
			ends(t, program, pid)
		}
	}
}

// TestGroupByHand: without a kernel that can signal a group whose leader is gone the same is
// left, nothing; also of what shows nothing, if another one shows whose group it is.
func TestGroupByHand(t *testing.T) {
	s, _ := spec(t, `env -i sleep 1000 & sleep 1000 & exec sleep 1000`)
	held := orphan(t, s)
	held.Release()
	until(t, "what it starts", func() bool {
		all, err := leftovers(held.id.PID, instance(s.StateDir, s.Line))
		return err == nil && len(all) == 2 && all[0].marked != all[1].marked
	})
	if err := syscall.Kill(held.id.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "its end", func() bool { return !held.id.in(held.id.PID) })
	if err := Sweep(held.id, s.StateDir, s.Line); err != nil {
		t.Error(err)
	}
	if all, err := leftovers(held.id.PID, ""); err != nil || len(all) > 0 {
		t.Errorf("left: %+v, %v", all, err)
	}
}

// TestGroupOfStrangers: a number says nothing about whose a group is.
func TestGroupOfStrangers(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	pid := 0
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatal(err)
	}
	before, err := readStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := Sweep(Identity{PID: cmd.Process.Pid, StartTicks: 1}, t.TempDir(), 7); err != nil {
		t.Error(err)
	}
	if alive, err := (Identity{PID: pid, StartTicks: before.ticks}).alive(); !alive || err != nil {
		t.Errorf("a stranger was killed, %v", err)
	}
}
