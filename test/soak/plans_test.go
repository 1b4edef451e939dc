//go:build e2e

package soak

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"ramjet.dev/ingress/test/daemon"
)

// planEvents is how many events the plans of these tests have: enough for a ledger of
// many times the memory that soak may have.
const planEvents = 1_000_000

// writePlan writes a plan whose events all have a line in the ledger, and then a last line.
func writePlan(to io.Writer, last string) error {
	w := bufio.NewWriter(to)
	w.WriteString(`{"ts":0,"event":"promoted","version":"v2"}` + "\n")
	line := []byte(nil)
	for i := range planEvents - 1 {
		line = strconv.AppendInt(append(line[:0], `{"ts":`...), int64(30_000+i), 10)
		w.Write(append(line, `,"event":"exited","version":"v2"}`+"\n"...))
	}
	w.WriteString(last)
	return w.Flush()
}

// lines counts.
type lines int

func (n *lines) Write(b []byte) (int, error) {
	*n += lines(strings.Count(string(b), "\n"))
	return len(b), nil
}

// applyCommand is soak apply with a folder for its temporary file, which it checks at
// the end of the test.
func applyCommand(t *testing.T, plan string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	cmd := exec.Command(daemon.Program("soak"), "apply", plan)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	return cmd
}

// TestPlanOfManyEvents: memory stays within what is promised, and all is printed.
func TestPlanOfManyEvents(t *testing.T) {
	t.Parallel()
	cmd := applyCommand(t, "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var printed lines
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The pipe holds 64 KiB, so nearly all of it was read when this returns.
	if err := writePlan(in, ""); err != nil {
		t.Error(err)
	}
	peak := peakKiB(t, cmd.Process.Pid)
	in.Close()
	if err := cmd.Wait(); err != nil || printed != planEvents || said.Len() > 0 {
		t.Errorf("%v, %d lines, %q", err, printed, said.String())
	}
	if peak > 32<<10 {
		t.Errorf("%d KiB of memory, 32768 are promised", peak)
	}
}

// peakKiB is the largest resident size that a running process had.
func peakKiB(t *testing.T, pid int) (kib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("%v in\n%s", err, status)
	}
	return kib
}

// TestPlanWithALateFault: nothing is printed, however much there was to print.
func TestPlanWithALateFault(t *testing.T) {
	t.Parallel()
	cmd := applyCommand(t, "-")
	in, out := io.Pipe()
	go func() { out.CloseWithError(writePlan(out, `{"ts":1.5,"event":"tick"}`)) }()
	cmd.Stdin = in
	var said strings.Builder
	cmd.Stderr = &said
	printed, err := cmd.Output()
	const want = "soak: -:1000001: column 7: ts has to be an integer from 0 to 18446744073709551615\n"
	if cmd.ProcessState.ExitCode() != 2 || len(printed) > 0 || said.String() != want {
		t.Errorf("%v, %d bytes, %q", err, len(printed), said.String())
	}
}

// TestApplyKilled: whoever is killed while the plan is read leaves nothing behind.
func TestApplyKilled(t *testing.T) {
	t.Parallel()
	cmd := applyCommand(t, "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The pipe holds 64 KiB, so nearly all of it was read when this returns.
	if err := writePlan(in, ""); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it ended by itself")
	}
}

// TestApplyUnread: whoever reads no further than a line gets no complaint.
func TestApplyUnread(t *testing.T) {
	t.Parallel()
	cmd := applyCommand(t, "-")
	in, out := io.Pipe()
	go func() { out.CloseWithError(writePlan(out, "")) }()
	cmd.Stdin = in
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	stdout.Close()
	if err != nil || line != `{"event":"confirmed","restarts":0,"ts":30000,"version":"v2"}`+"\n" {
		t.Errorf("%q, %v", line, err)
	}
	_ = cmd.Wait() // killed by the pipe, or done before it broke
	if said.Len() > 0 {
		t.Error(said.String())
	}
}
