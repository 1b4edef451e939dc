//go:build linux

// Package process runs the processes of releases, in a way that they outlive their
// supervisor: it starts them, takes over those that another supervisor started, stops
// them, and tells when they are gone.
//
// Guarantees: a signal reaches the process that was meant or none, whoever has its
// number by then; when a process is gone, nothing of its process group is left; what
// a release writes never kills it, also while nobody reads.
//
// It never knows why a process is started or stopped. It is for Linux: it uses
// process descriptors (pidfd_open(2)) and /proc.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// lookAgain is how often a process is looked at that the system does not tell about.
const lookAgain = 100 * time.Millisecond

// Spec says what to start.
type Spec struct {
	// StateDir and Line are the mark that the process can be found by later.
	StateDir string
	Line     int

	Version string
	Port    int
	// Command is the program and its arguments, Dir where it is started, Env what its
	// environment has beside ours, NAME=value.
	Command []string
	Dir     string
	Env     []string
	Output  Output
}

// Process is one that runs, or did. Its methods may be used by several goroutines.
type Process struct {
	// ID is its identity.
	ID Identity
	// Unheard says why what it writes is lost; nil if it is not.
	Unheard error

	mark string
	cmd  *exec.Cmd // nil for one that was taken over
	h    *handle
	out  *stream // nil if there is nothing to pass on

	died   chan struct{}
	diedAt time.Time // once died is closed
	gone   chan struct{}

	mu     sync.Mutex
	killer *time.Timer // nil until it is asked to stop
	status string      // how it ended, once gone is closed
}

// Start starts a process in a process group of its own. With an error none runs.
func Start(s Spec) (*Process, error) {
	out, unheard := s.Output.open(s.Version, s.Line)
	mark := instance(s.StateDir, s.Line)
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir = s.Dir
	cmd.Env = append(append(os.Environ(), s.Env...),
		envVersion+"="+s.Version, envPort+"="+strconv.Itoa(s.Port), envInstance+"="+mark)
	if out.stdout != nil && out.stderr != nil { // a nil *os.File is no nil io.Writer
		cmd.Stdout, cmd.Stderr = out.stdout, out.stderr
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Start()
	out.started()
	if err != nil {
		out.end()
		return nil, fmt.Errorf("start %s: %w", s.Version, err)
	}
	p := &Process{Unheard: unheard, mark: mark, cmd: cmd, out: out, died: make(chan struct{}), gone: make(chan struct{})}
	// It cannot go away for good before Wait, so what is read now is about it.
	info, err := readStat(cmd.Process.Pid)
	p.ID = Identity{PID: cmd.Process.Pid, StartTicks: info.ticks}
	if err == nil {
		p.h, err = open(p.ID)
	}
	if err != nil {
		_ = syscall.Kill(-p.ID.PID, syscall.SIGKILL) // it is ours, and was not waited for
		_ = cmd.Wait()
		out.end()
		return nil, fmt.Errorf("watch %s, which was started and is killed again: %w", s.Version, err)
	}
	go p.watch()
	return p, nil
}

// Found is a process that somebody else started and that runs. It is to be adopted, or
// let go.
type Found struct {
	id Identity
	h  *handle
}

// Find gets hold of a process. The error is os.ErrProcessDone if it is gone; with
// another one it may run.
func Find(id Identity) (*Found, error) {
	h, err := open(id)
	if err != nil {
		return nil, err
	}
	alive, err := id.alive()
	if err == nil && !alive {
		err = fmt.Errorf("process %d: %w", id.PID, os.ErrProcessDone)
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return &Found{id: id, h: h}, nil
}

// Release lets the process go, as it is.
func (f *Found) Release() { f.h.close() }

// Adopt takes the process over.
func (f *Found) Adopt(s Spec) *Process {
	out, unheard := s.Output.reopen(s.Version, s.Line)
	p := &Process{ID: f.id, Unheard: unheard, mark: instance(s.StateDir, s.Line), h: f.h, out: out, died: make(chan struct{}), gone: make(chan struct{})}
	go p.watch()
	return p
}

// Shortage reports whether Start has failed because the machine, or the supervisor, had
// too little of something: that says nothing about the release.
func Shortage(err error) bool {
	for _, lack := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		if errors.Is(err, lack) {
			return true
		}
	}
	return false
}

// watch waits for the end and cleans up behind it.
func (p *Process) watch() {
	for {
		alive, err := p.ID.alive()
		if err == nil && !alive {
			break
		}
		if err == nil {
			err = p.h.wait()
		}
		if err != nil { // it says nothing: look again
			time.Sleep(lookAgain)
		}
	}
	p.diedAt = time.Now()
	close(p.died)
	for p.sweep() != nil {
		time.Sleep(lookAgain)
	}
	status := "it is not known how: another supervisor had started it"
	if p.cmd != nil {
		_ = p.cmd.Wait() // ProcessState says it
		status = p.cmd.ProcessState.String()
	}
	p.out.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
	if p.killer != nil {
		p.killer.Stop()
	}
	p.h.close()
	close(p.gone)
}

// Died is closed as soon as the process is dead. What is left of it, its group and its last
// words, is seen to between that and Gone, which may take seconds.
func (p *Process) Died() <-chan struct{} { return p.died }

// DiedAt is when the process was seen dead. It is for after Died.
func (p *Process) DiedAt() time.Time { return p.diedAt }

// Gone is closed once nothing of the process is left.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Status says how it ended. It is for after Gone.
func (p *Process) Status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Stop asks the process to end, with SIGTERM, and kills its group with SIGKILL when
// it has not ended after grace. It does not wait. A second call changes nothing.
func (p *Process) Stop(grace time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gone:
		return nil
	default:
	}
	if p.killer != nil {
		return nil
	}
	p.killer = time.AfterFunc(grace, p.Kill)
	return p.h.signal(syscall.SIGTERM)
}

// Kill ends it at once, with all of its group. It does not wait.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gone:
	default:
		_ = p.h.signal(syscall.SIGKILL) // what is left of its group is swept by watch
	}
}
