//go:build linux

// Package readiness finds out whether a release is ready: by a request, a connection
// or a command, as its config says.
//
// Guarantees: one try never takes longer than its timeout, and nothing of a try, no
// connection and no process, is left after it.
//
// It never knows what follows from the answer.
package readiness

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ramjet.dev/ingress/internal/soak/config"
)

// Target is a release that runs.
type Target struct {
	Version string
	Port    int
	// Dir is where the command of a probe is run.
	Dir string
}

// Wait tries until the release is ready, or ctx is done; its error is then that of
// the last try, nil if there was none.
func Wait(ctx context.Context, r config.Readiness, t Target) (ready bool, last error) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, last
		case <-pause.C:
		}
		err := try(ctx, r, t)
		if err == nil {
			return true, nil
		}
		if ctx.Err() == nil {
			last = err
		}
		pause.Reset(r.Interval)
	}
}

// try asks once.
func try(ctx context.Context, r config.Readiness, t Target) error {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	switch {
	case r.HTTPPath != "":
		return get(ctx, "http://"+config.Address(t.Port)+r.HTTPPath)
	case r.TCP:
		return connect(ctx, config.Address(t.Port))
	}
	return command(ctx, config.ExpandAll(r.Command, t.Version, t.Port), t.Dir)
}

// client keeps no connection, since a release that stops would wait for it, and
// follows no redirect: where it leads is another question.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func get(ctx context.Context, url string) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	q.Header.Set("User-Agent", "soak")
	a, err := client.Do(q)
	if err != nil {
		return err
	}
	a.Body.Close()
	if a.StatusCode < 200 || a.StatusCode >= 400 {
		return fmt.Errorf("%s answers %s", url, a.Status)
	}
	return nil
}

func connect(ctx context.Context, address string) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		c.Close()
	}
	return err
}

// command runs a program in a process group of its own, all of which is killed when
// the time is over, and what is left of it when the program has ended.
func command(ctx context.Context, words []string, dir string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Start()
	if err == nil {
		ended(cmd.Process.Pid)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // not collected yet: the number is still its own
		err = cmd.Wait()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	return nil
}

// ended waits until a child has ended, and does not collect it.
func ended(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
