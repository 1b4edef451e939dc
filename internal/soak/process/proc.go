package process

import (
	"bytes"
	"errors"
	"fmt"
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
}

// readStat reads about a process. The second field is its name in parentheses, which
// may contain anything; the others count from the last closing one.
func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const state, group, ticks = 0, 2, 19 // proc(5) counts from 1 and from the number: 3, 5 and 22
	if len(fields) <= ticks {
		return stat{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	s := stat{state: fields[state][0]}
	if s.group, err = strconv.Atoi(fields[group]); err != nil {
		return stat{}, err
	}
	s.ticks, err = strconv.ParseUint(fields[ticks], 10, 64)
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

// environ is the environment that a process was started with; nil if it may not be
// read, or the process is gone, and empty also while it has let go of the program that
// started it and does not run its own yet (execve(2)).
func environ(pid int) (map[string]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
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

// Processes without an environment are looked at again so often, with such a pause:
// most have none for good, and one that was being started has it in a moment.
const (
	moreLooks = 20
	lookPause = 5 * time.Millisecond
)

// Orphans finds the processes that were started for a state folder and run: of each
// line of its ledger the one that leads its process group. With an error there may be
// more.
func Orphans(stateDir string) ([]Orphan, error) {
	among, err := pids()
	if err != nil {
		return nil, err
	}
	all, bare, err := orphans(stateDir, among)
	for range moreLooks {
		if err != nil || len(bare) == 0 {
			break
		}
		time.Sleep(lookPause)
		var more []Orphan
		more, bare, err = orphans(stateDir, bare)
		all = append(all, more...)
	}
	return all, err
}

// orphans is Orphans among some processes; of those that are bare it cannot be said yet.
func orphans(stateDir string, among []int) (all []Orphan, bare []int, err error) {
	for _, pid := range among {
		s, err := readStat(pid)
		if err != nil && !missing(err) {
			return nil, nil, err
		}
		if err != nil || s.dead() || s.group != pid {
			continue
		}
		env, err := environ(pid)
		if err != nil {
			return nil, nil, err
		}
		if env != nil && len(env) == 0 {
			bare = append(bare, pid)
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
	return all, bare, nil
}

// leftovers are the processes of a group that bear the mark of its instance and run,
// without the leader. With an error there may be more.
func leftovers(group int, mark string) ([]Identity, error) {
	among, err := pids()
	if err != nil {
		return nil, err
	}
	var all []Identity
	for _, pid := range among {
		s, err := readStat(pid)
		if err != nil && !missing(err) {
			return all, err
		}
		if err != nil || pid == group || s.dead() || s.group != group {
			continue
		}
		env, err := environ(pid)
		if err != nil {
			return all, err
		}
		if env[envInstance] == mark {
			all = append(all, Identity{PID: pid, StartTicks: s.ticks})
		}
	}
	return all, nil
}
