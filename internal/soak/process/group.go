//go:build linux

package process

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"time"
)

// quietPasses is how many looks in a row have to find nobody before a group is held for
// gone: one look takes a while, and who forks and ends meanwhile may be in neither place.
const quietPasses = 3

// Sweep kills what is left of the group of a process that died while nobody watched. With
// an error there may be more; without one, at most who did not die of it in lookPatience.
func Sweep(leader Identity, stateDir string, line int) error {
	return sweepByHand(leader, instance(stateDir, line))
}

// sweep kills what is left of the group once its leader has ended. With an error there
// may be more.
func (p *Process) sweep() error {
	if p.cmd != nil { // the leader was not collected yet: its number is still its own
		_ = syscall.Kill(-p.ID.PID, syscall.SIGKILL)
		return nil
	}
	if p.h.signalGroup(syscall.SIGKILL) == nil {
		return nil
	}
	return sweepByHand(p.ID, p.mark)
}

// sweepByHand is for kernels that cannot signal the group of a process that is gone. It
// looks and kills until nobody is found, since whoever is killed may have forked, and gives
// up on who does not die of it.
func sweepByHand(leader Identity, mark string) error {
	begun, known := time.Now(), make(map[Identity]bool)
	for quiet := 0; time.Since(begun) < lookPatience; time.Sleep(lookPause) {
		found, err := sweepOnce(leader, mark, known)
		switch {
		case errors.Is(err, errEarly) || found:
			quiet = 0
		case err != nil:
			return err
		default:
			quiet++
		}
		if quiet == quietPasses {
			return nil
		}
	}
	return nil
}

// member is a process of a group, without its leader.
type member struct {
	Identity
	marked bool // it bears the mark of its instance
	h      *handle
}

// sweepOnce kills those of a group that are seen now, and adds them to the known, who may
// take a moment to die. Whoever bears the mark is meant. Who does not, because it has
// cleared its environment, is only if the number is still that of this group: a number is
// not given away while one of its group, or its leader that was not collected, is there. So
// that is looked at last.
func sweepOnce(leader Identity, mark string, known map[Identity]bool) (found bool, err error) {
	all, err := leftovers(leader.PID, mark)
	if err != nil {
		return false, err
	}
	defer func() {
		for _, m := range all {
			if m.h != nil {
				m.h.close()
			}
		}
	}()
	for i, m := range all {
		if m.marked {
			known[m.Identity] = true
		}
		if all[i].h, err = open(m.Identity); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return false, err
		}
	}
	here := slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.h == nil || !m.in(leader.PID) })
	same := leader.in(leader.PID) || slices.ContainsFunc(here, func(m member) bool { return known[m.Identity] && m.in(leader.PID) })
	for _, m := range here {
		if same || known[m.Identity] {
			found, known[m.Identity] = true, true
			_ = m.h.signal(syscall.SIGKILL) // who may not be killed is left
		}
	}
	return found, nil
}

// in reports whether a process is in a group, or was until it died and is not collected.
func (id Identity) in(group int) bool {
	s, err := readStat(id.PID)
	return err == nil && s.ticks == id.StartTicks && s.group == group
}

// leftovers are the processes of a group that run, without the leader. With an error there
// may be more.
func leftovers(group int, mark string) ([]member, error) {
	among, err := pids()
	if err != nil {
		return nil, err
	}
	var all []member
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
		all = append(all, member{Identity: Identity{PID: pid, StartTicks: s.ticks}, marked: env[envInstance] == mark})
	}
	return all, nil
}
