//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKeep: a daemon that is killed is said to have ended and starts again, each time; one
// that is asked to end does not.
func TestKeep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	said, out := io.Pipe()
	kept := make(chan error, 1)
	go func() {
		kept <- keep(ctx, out, time.Millisecond, func() *exec.Cmd { return exec.Command("sleep", "3600") })
		_ = out.Close()
	}()
	lines := bufio.NewScanner(said)
	line := func() string {
		if !lines.Scan() {
			t.Fatal("it says nothing more", lines.Err())
		}
		return lines.Text()
	}
	pids := map[int]bool{}
	for range 3 {
		var pid int
		if text := line(); !strings.Contains(text, "kill -9 ") {
			t.Fatal(text)
		} else if _, err := fmt.Sscanf(text[strings.Index(text, "kill -9 "):], "kill -9 %d", &pid); err != nil || pids[pid] {
			t.Fatalf("%s: %v, process %d", text, err, pid)
		}
		pids[pid] = true
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if text := line(); !strings.Contains(text, "signal: killed") || !strings.Contains(text, "starts again") {
			t.Fatal(text)
		}
	}
	line()
	cancel()
	if lines.Scan() {
		t.Error("at the end it says", lines.Text())
	}
	if err := <-kept; err != nil {
		t.Error(err)
	}
}
