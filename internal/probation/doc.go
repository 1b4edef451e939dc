// Package probation decides about releases of a program that were just promoted:
// whether a candidate that died is started again, when it has become good, and
// which release to go back to when it has not. It is a state machine: Step takes a
// state and an event and returns the next state and the entries of the ledger,
// which are at the same time the work to be done.
//
// Three rules, the reason for it all:
//
//   - a promoted release is not good yet; it becomes good, and with that the one to
//     go back to, when its soak window closes with the restart budget intact;
//   - a candidate that breaks the budget is rolled back to the last good release,
//     and the ledger says why;
//   - which release that is, the kernel alone knows. Nothing that an event claims
//     has a say in it.
//
// It guarantees that LastGood is the baseline or a release whose window closed (or,
// by an operator, an earlier one of these), that after a rollback it is the current
// one, that no more restarts are granted in a window than the budget has, and that
// the entries alone, applied to a new state, lead to the same state (Replay).
//
// It never knows what time it is, what a process is, or who reads the ledger.
package probation
