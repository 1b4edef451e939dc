//go:build linux

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Identity tells one process from all others, also from later ones that get its
// number: those start at another time, or after another boot.
type Identity struct {
	PID int `json:"pid"`
	// StartTicks is when it started, in clock ticks since the boot (proc(5), field 22
	// of stat).
	StartTicks uint64 `json:"start_ticks"`
}

// stat is what is needed of /proc/PID/stat.
type stat struct {
	state byte // R, S, Z and so on
	group int
	ticks uint64
	// early is set while it has let go of the program that started it and does not
	// have its environment yet, which takes a moment (execve(2)).
	early bool
}

// readStat reads about a process. The second field is its name in parentheses, which
// may contain anything; the others count from the last closing one.
func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, group, flags, ticks, code = 0, 2, 6, 19, 23 // proc(5) counts from 1 and from the number: 3, 5, 9, 22 and 26
	if len(fields) <= code {
		return stat{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	s := stat{state: fields[state][0]}
	if s.group, err = strconv.Atoi(fields[group]); err != nil {
		return stat{}, err
	}
	if s.ticks, err = strconv.ParseUint(fields[ticks], 10, 64); err != nil {
		return stat{}, err
	}
	const thread = 0x00200000 // PF_KTHREAD of linux/sched.h: the kernel's own have none for good
	of, err := strconv.ParseUint(fields[flags], 10, 64)
	s.early = fields[code] == "0" && of&thread == 0 // where the program begins; its environment is set before
	return s, err
}

// dead reports whether nothing runs in it any more: it waits to be collected.
func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// missing reports whether an error about a process says that there is none: another
// one, that no more files can be opened for example, says nothing of the kind.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// alive reports whether the process of an identity runs; with an error it is not known.
func (id Identity) alive() (bool, error) {
	s, err := readStat(id.PID)
	if missing(err) {
		return false, nil
	}
	return err == nil && s.ticks == id.StartTicks && !s.dead(), err
}

// BootID names this run of the machine. It is "" where /proc does not say.
func BootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

// The variables that a release finds in its environment.
const (
	envVersion = "SOAK_VERSION"
	envPort    = "SOAK_PORT"
	// envInstance names the state folder and the line of the ledger, so that a process
	// is found whose supervisor died before it wrote its number down.
	envInstance = "SOAK_INSTANCE"
)

// instance is the value of envInstance.
func instance(stateDir string, line int) string { return stateDir + "#" + strconv.Itoa(line) }

// errEarly is the error about a process that is early: it has to be looked at again.
var errEarly = errors.New("a process is about to run another program")

// environ is the environment that a process was started with; nil if it may not be
// read, or the process is gone. The error may be errEarly.
func environ(pid int) (map[string]string, error) {
	// It may have become early, or late, between two looks; not time and again.
	for range 3 {
		env, err := readEnviron(pid)
		if err != nil || env == nil || len(env) > 0 {
			return env, err
		}
		s, err := readStat(pid)
		switch {
		case missing(err):
			return nil, nil
		case err != nil:
			return nil, err
		case s.early:
			return nil, errEarly
		}
	}
	return map[string]string{}, nil
}

// readEnviron is environ at one moment: empty also for a process that is early.
func readEnviron(pid int) (map[string]string, error) {
	text, err := readAtOnce(fmt.Sprintf("/proc/%d/environ", pid))
	if missing(err) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := make(map[string]string)
	for v := range strings.SplitSeq(string(text), "\x00") {
		if name, value, ok := strings.Cut(v, "="); ok {
			all[name] = value
		}
	}
	return all, nil
}

// readAtOnce reads a file in one call. A second one of /proc/PID/environ ends the text in
// its middle if the process began to run another program in between.
func readAtOnce(path string) ([]byte, error) {
	for size := 32 << 10; ; size *= 4 {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		text := make([]byte, size)
		n, err := f.Read(text)
		f.Close()
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case n < size:
			return text[:n], nil
		}
	}
}

// pids are the numbers of all processes that are visible.
func pids() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	var all []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all, err
}

// Orphan is a process that bears the mark of a state folder.
type Orphan struct {
	Identity
	Line    int
	Version string
	Port    int
}

// Processes that have no environment yet are looked at again after such a pause, for so
// long: a machine may be busy.
const (
	lookPause    = 5 * time.Millisecond
	lookPatience = 10 * time.Second
)

// Orphans finds the processes that were started for a state folder and run: of each
// line of its ledger the one that leads its process group. With an error there may be
// more.
func Orphans(stateDir string) ([]Orphan, error) {
	among, err := pids()
	if err != nil {
		return nil, err
	}
	all, early, err := orphans(stateDir, among)
	for start := time.Now(); err == nil && len(early) > 0 && time.Since(start) < lookPatience; {
		time.Sleep(lookPause)
		var more []Orphan
		more, early, err = orphans(stateDir, early)
		all = append(all, more...)
	}
	return all, err
}

// orphans is Orphans among some processes; of those that are early it cannot be said yet.
func orphans(stateDir string, among []int) (all []Orphan, early []int, err error) {
	for _, pid := range among {
		s, err := readStat(pid)
		if err != nil && !missing(err) {
			return nil, nil, err
		}
		if err != nil || s.dead() || s.group != pid {
			continue
		}
		env, err := environ(pid)
		if errors.Is(err, errEarly) {
			early = append(early, pid)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		text, ok := strings.CutPrefix(env[envInstance], stateDir+"#")
		if !ok {
			continue
		}
		line, err1 := strconv.Atoi(text)
		port, err2 := strconv.Atoi(env[envPort])
		if err1 == nil && err2 == nil {
			all = append(all, Orphan{Identity: Identity{PID: pid, StartTicks: s.ticks}, Line: line, Version: env[envVersion], Port: port})
		}
	}
	return all, early, nil
}
