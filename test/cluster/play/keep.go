//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

const (
	// mostPause is the longest pause before a program starts again.
	mostPause = 30 * time.Second
	// healthy is how long it has to live for the next pause to be a short one.
	healthy = time.Minute
)

// keep runs a program until ctx is done; then it is asked to end, and keep returns when it
// has. Whenever it ends before, keep says so on out and starts it again, as a kubelet would:
// after a pause, which is twice as long each time.
func keep(ctx context.Context, out io.Writer, pause time.Duration, program func() *exec.Cmd) error {
	next := pause
	for {
		p, began := program(), time.Now()
		if err := run(ctx, out, p); err != nil {
			return err
		}
		if time.Since(began) >= healthy {
			next = pause
		}
		select {
		case <-ctx.Done():
			return nil
		default:
			_, _ = fmt.Fprintf(out, "The daemon ended (%s). The control plane goes on; the daemon starts again in %s.\n", p.ProcessState, next)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
			next = min(2*next, mostPause)
		}
	}
}

// run runs a program until it ends, which it is asked to do when ctx is done.
func run(ctx context.Context, out io.Writer, p *exec.Cmd) error {
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.Start(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "The daemon runs: kill -9 %d kills it, and it comes back.\n", p.Process.Pid)
	stop := context.AfterFunc(ctx, func() { _ = p.Process.Signal(syscall.SIGTERM) }) // it may have ended
	defer stop()
	_ = p.Wait() // ProcessState has the status
	return nil
}
