package probation

// EntryKind is the word under which the ledger has an entry.
type EntryKind string

// The kinds of entries, with what they ask of who carries them out. An entry is
// written before its work is begun.
const (
	// EntryServing is the baseline: start Version.
	EntryServing EntryKind = "serving"
	// EntryStarting is a deploy: start Version beside the current release, and see
	// whether it becomes ready.
	EntryStarting EntryKind = "starting"
	// EntryReadinessFailed ends a deploy: stop Version. The current release is not touched.
	EntryReadinessFailed EntryKind = "readiness_failed"
	// EntryAbandoned ends a deploy too: stop Version.
	EntryAbandoned EntryKind = "deploy_abandoned"
	// EntryDeployRefused asks for nothing but an answer.
	EntryDeployRefused EntryKind = "deploy_refused"
	// EntryPromoted opens a window: Version takes over, and the one before is stopped.
	EntryPromoted EntryKind = "promoted"
	// EntryRestarting is an exit within the budget: start Version again.
	EntryRestarting EntryKind = "restarting"
	// EntryConfirmed is a window that closed: nothing to do.
	EntryConfirmed EntryKind = "confirmed"
	// EntryRestartedPostSoak is an exit of a confirmed release: start it again.
	EntryRestartedPostSoak EntryKind = "restarted_post_soak"
	// EntryRestarted is an exit of the current release that was not promoted, but is
	// the baseline or was gone back to: start it again.
	EntryRestarted EntryKind = "restarted"
	// EntryExited is an exit of a release that is not current: nothing to do.
	EntryExited EntryKind = "exited"
	// EntryRolledBack is a candidate that broke its budget, or the will of an operator:
	// stop Version and start To.
	EntryRolledBack EntryKind = "rolled_back"
	// EntryRollbackRefused asks for nothing but an answer.
	EntryRollbackRefused EntryKind = "rollback_refused"

	// EntryStopped is a note of a supervisor: it was asked to stop, and stops Version.
	// No event leads to it.
	EntryStopped EntryKind = "stopped"
	// EntryResumed is a note too: a supervisor that came back starts Version, of which
	// no process is left and no exit is known.
	EntryResumed EntryKind = "resumed"
)

// Known reports whether an entry is one of those above, and not of a newer program.
func (k EntryKind) Known() bool {
	_, known := fields[k]
	return known
}

// note reports whether an entry is one of the supervisor's own, which tells what was
// done and decides nothing.
func (k EntryKind) note() bool { return k == EntryStopped || k == EntryResumed }

// Decision reports whether an entry is one that a plan is answered with. The others
// repeat what happened, so that the ledger is complete without the events.
func (k EntryKind) Decision() bool {
	switch k {
	case EntryRestarting, EntryConfirmed, EntryRestartedPostSoak, EntryRolledBack:
		return true
	}
	return false
}

// Entry is a line of the ledger. Which fields count depends on the kind; the others
// are zero. An entry is a value and may be shared.
type Entry struct {
	Kind    EntryKind
	TS      uint64 // of the event that led to it, in milliseconds since the epoch
	Version string

	Reason   Reason // of those that have one
	To       string // rolled_back: the release that is current from now on
	Attempt  uint64 // restarting: the how manieth restart in this window
	Restarts uint64 // confirmed: how many there were
	Now      bool   // rolled_back: stop Version without waiting until To is ready
	Exits    uint64 // rolled_back: exits in the window that it ends, 0 if none was open
	Policy   Policy // promoted, rolled_back: of the last window; restarting: its MaxRestarts only
}
