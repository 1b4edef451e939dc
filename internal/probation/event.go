package probation

// EventKind says what happened.
type EventKind uint8

// The kinds of events. The first four are those of a plan; the others come from a
// supervisor and the people who talk to it.
const (
	Tick            EventKind = iota // time has passed; so it has with an event that nobody knows
	Serving                          // Version is the baseline: good by definition, and current
	Promoted                         // Version takes over and is on probation from now on
	Exited                           // a process of Version died without being asked to
	Deploy                           // somebody wants Version; it has to become ready first
	ReadinessFailed                  // Version, being started, did not become ready; Reason says why
	Abandoned                        // Version, being started, is given up; Reason says why
	Operator                         // somebody wants to go back to Version; "" leaves it to the kernel
)

// PlanKind is the kind of an event that a plan calls name. A name that is unknown
// stands for an event that only carries time, and so do the names of those that
// plans do not have.
func PlanKind(name string) EventKind {
	switch name {
	case "serving":
		return Serving
	case "promoted":
		return Promoted
	case "exited":
		return Exited
	}
	return Tick
}

// Event is something that happened, at a time in milliseconds since the epoch.
// Times may go back; that closes no window.
type Event struct {
	TS      uint64
	Kind    EventKind
	Version string
	Reason  Reason // of ReadinessFailed and Abandoned
	Now     bool   // of Operator: what serves is not to serve on until the other one is ready
}

// Reason is one fixed word that says why.
type Reason string

// The reasons.
const (
	ReasonBudget     Reason = "restart_budget_exceeded" // rolled_back: one exit more than the budget has
	ReasonOperator   Reason = "operator"                // rolled_back, deploy_abandoned: somebody wanted it
	ReasonSupervisor Reason = "supervisor_restarted"    // deploy_abandoned: nobody waits for it any more
	ReasonLedger     Reason = "ledger_unwritable"       // deploy_abandoned: meanwhile nothing could be written

	ReasonDeadline Reason = "deadline" // readiness_failed: it took too long
	ReasonExited   Reason = "exited"   // readiness_failed: it died before it was ready

	ReasonBusy         Reason = "deploy_in_progress"  // deploy_refused: another one is being started
	ReasonNotGood      Reason = "not_confirmed"       // rollback_refused: no earlier good release has that name
	ReasonNoneEarlier  Reason = "nothing_earlier"     // rollback_refused: there is no release to go back to
	ReasonIsCurrent    Reason = "already_current"     // rollback_refused: that release serves
	ReasonIsRolledBack Reason = "already_rolled_back" // rollback_refused: to go back further, name the release
)
