//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is one program of the control plane. It dies with the process that
// started it, however that ends.
type process struct {
	name   string
	log    string // path of the file that has all that it wrote
	cmd    *exec.Cmd
	exited chan struct{}
}

// launch starts a program. What it writes is added to NAME.log in dir.
func launch(dir, path string, args ...string) (*process, error) {
	p := &process{name: filepath.Base(path), exited: make(chan struct{})}
	p.log = filepath.Join(dir, p.name+".log")
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("keep the log of %s: %w", p.name, err)
	}
	defer out.Close() // the child has its own
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = out, out
	// A group of its own: Ctrl-C is for its parent, which ends it in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState has the status
		close(p.exited)
	}()
	return p, nil
}

// ready waits until ask says nil. It gives up when the program ends, or with ctx.
func (p *process) ready(ctx context.Context, ask func(context.Context) error) error {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended (%s) instead of becoming ready:\n%s", p.name, p.cmd.ProcessState, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s did not become ready: %w:\n%s", p.name, errors.Join(ctx.Err(), err), p.tail())
		case <-tick.C:
		}
	}
}

// stop asks a program to end and kills it when it takes longer than grace.
func (p *process) stop(grace time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-p.exited:
	case <-late.C:
		p.kill()
	}
}

// kill ends a program as the kernel does when memory is short.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
}

// tail is the end of the log.
func (p *process) tail() []byte {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	const most = 4 << 10
	if len(text) > most {
		text = text[len(text)-most:]
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}
