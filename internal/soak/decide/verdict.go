package decide

import (
	"fmt"

	"ramjet.dev/ingress/internal/probation"
)

// Verdict is what has become of a deploy.
type Verdict uint8

// The verdicts. Only the first two may be followed by another.
const (
	Open      Verdict = iota // nothing yet
	Promoted                 // it was ready, took over, and is on probation
	Confirmed                // its window closed
	Failed                   // anything else
)

// Judge is the verdict on the deploy of a version that an entry written after its
// beginning brings, with the reason in words; Open if it brings none.
func Judge(version string, e probation.Entry) (Verdict, string) {
	own := e.Version == version
	switch {
	case e.Kind == probation.EntryPromoted && own:
		return Promoted, fmt.Sprintf("%s is ready and serves, on probation for %s", version, seconds(e.Policy.SoakMS))
	case e.Kind == probation.EntryPromoted:
		return Failed, fmt.Sprintf("%s was promoted before the window of %s had closed", e.Version, version)
	case !own:
		return Open, ""
	}
	switch e.Kind {
	case probation.EntryConfirmed:
		return Confirmed, fmt.Sprintf("%s is confirmed, after %s", version, count(e.Restarts, "restart"))
	case probation.EntryReadinessFailed:
		return Failed, fmt.Sprintf("%s was not promoted: %s", version, why(e.Reason))
	case probation.EntryAbandoned, probation.EntryDeployRefused:
		return Failed, fmt.Sprintf("%s is not deployed: %s", version, why(e.Reason))
	case probation.EntryRolledBack:
		if e.Reason == probation.ReasonOperator {
			return Failed, fmt.Sprintf("%s was rolled back to %s by an operator", version, e.To)
		}
		return Failed, fmt.Sprintf("%s was rolled back to %s: it died %s within its window of %s, with a budget of %s",
			version, e.To, times(e.Exits), seconds(e.Policy.SoakMS), count(e.Policy.MaxRestarts, "restart"))
	}
	return Open, ""
}

// Refusal says in words why the kernel refused what an operator wanted, "" if the
// entry is no refusal. State is the one before.
func Refusal(s probation.State, e probation.Entry) string {
	switch e.Kind {
	case probation.EntryDeployRefused:
		return fmt.Sprintf("%s is not deployed: %s is being started; wait for it, or end it with soak rollback", e.Version, s.Starting)
	case probation.EntryRollbackRefused:
	default:
		return ""
	}
	switch e.Reason {
	case probation.ReasonNotGood:
		return fmt.Sprintf("there is no way back to %s: it is not among the earlier confirmed releases (%s)", e.Version, listed(s.Earlier()))
	case probation.ReasonNoneEarlier:
		return fmt.Sprintf("there is nothing to go back to: no release was confirmed before %s", s.Current)
	case probation.ReasonIsCurrent:
		return fmt.Sprintf("%s serves already", e.Version)
	case probation.ReasonIsRolledBack:
		return fmt.Sprintf("%s serves after a rollback already; to go back further, name a release (%s)", s.Current, listed(s.Earlier()))
	}
	return "refused: " + string(e.Reason)
}

func why(r probation.Reason) string {
	switch r {
	case probation.ReasonDeadline:
		return "it was not ready by its deadline"
	case probation.ReasonExited:
		return "it died before it was ready"
	case probation.ReasonOperator:
		return "an operator ended it"
	case probation.ReasonSupervisor:
		return "the supervisor was stopped, or the machine started again, while it was being started"
	case probation.ReasonLedger:
		return "the ledger could not be written while it was being started"
	case probation.ReasonBusy:
		return "another release is being started"
	}
	return string(r)
}

func listed(versions []string) string {
	if len(versions) == 0 {
		return "there are none"
	}
	text := versions[0]
	for _, v := range versions[1:] {
		text += ", " + v
	}
	return text
}

func seconds(ms uint64) string { return fmt.Sprintf("%g s", float64(ms)/1000) }

func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
