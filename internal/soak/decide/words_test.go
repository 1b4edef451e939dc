package decide

import (
	"testing"
	"time"

	"ramjet.dev/ingress/internal/probation"
)

func TestBackoff(t *testing.T) {
	b := Backoff{First: 100 * time.Millisecond, Max: time.Second}
	for deaths, ms := range []int{100, 100, 200, 400, 800, 1000, 1000} {
		want := time.Duration(ms) * time.Millisecond
		if least, most := b.Pause(deaths, 0), b.Pause(deaths, 1); most != want || least != most/2 {
			t.Errorf("%d deaths: %s to %s, want up to %s", deaths, least, most, want)
		}
	}
	if got := b.Pause(1<<30, 0.5); got != 750*time.Millisecond {
		t.Errorf("after very many deaths: %s", got)
	}
	if n := b.Deaths(7, time.Second); n != 8 {
		t.Errorf("a short life: %d", n)
	}
	if n := b.Deaths(7, time.Second+1); n != 1 {
		t.Errorf("a long life: %d", n)
	}
}

// TestJudge: what each entry means for the deploy of v2, and in which words.
func TestJudge(t *testing.T) {
	policy := probation.Policy{SoakMS: 30_000, MaxRestarts: 1}
	for _, c := range []struct {
		e    probation.Entry
		want Verdict
		why  string
	}{
		{probation.Entry{Kind: probation.EntryStarting, Version: "v2"}, Open, ""},
		{probation.Entry{Kind: probation.EntryRestarting, Version: "v2"}, Open, ""},
		{probation.Entry{Kind: probation.EntryConfirmed, Version: "v1"}, Open, ""},
		{probation.Entry{Kind: probation.EntryRolledBack, Version: "v1", To: "v0"}, Open, ""},
		{probation.Entry{Kind: probation.EntryPromoted, Version: "v2", Policy: policy}, Promoted, "v2 is ready and serves, on probation for 30 s"},
		{probation.Entry{Kind: probation.EntryPromoted, Version: "v3"}, Failed, "v3 was promoted before the window of v2 had closed"},
		{probation.Entry{Kind: probation.EntryConfirmed, Version: "v2", Restarts: 1}, Confirmed, "v2 is confirmed, after 1 restart"},
		{probation.Entry{Kind: probation.EntryReadinessFailed, Version: "v2", Reason: "deadline"}, Failed, "v2 was not promoted: it was not ready by its deadline"},
		{probation.Entry{Kind: probation.EntryReadinessFailed, Version: "v2", Reason: "exited"}, Failed, "v2 was not promoted: it died before it was ready"},
		{probation.Entry{Kind: probation.EntryAbandoned, Version: "v2", Reason: "operator"}, Failed, "v2 is not deployed: an operator ended it"},
		{probation.Entry{Kind: probation.EntryRolledBack, Version: "v2", To: "v1", Reason: "operator"}, Failed, "v2 was rolled back to v1 by an operator"},
		{probation.Entry{Kind: probation.EntryRolledBack, Version: "v2", To: "v1", Reason: "restart_budget_exceeded", Exits: 2, Policy: policy}, Failed,
			"v2 was rolled back to v1: it died 2 times within its window of 30 s, with a budget of 1 restart"},
	} {
		if got, why := Judge("v2", c.e); got != c.want || why != c.why {
			t.Errorf("%s: %d %q, want %d %q", c.e, got, why, c.want, c.why)
		}
	}
}

func TestRefusal(t *testing.T) {
	s := bookOf(t, "serving v1 @0, deploy v2 @1, promoted v2 @2, tick - @1500, deploy v3 @1600").State
	for _, c := range []struct {
		e    probation.Entry
		want string
	}{
		{probation.Entry{Kind: probation.EntryRolledBack}, ""},
		{probation.Entry{Kind: probation.EntryDeployRefused, Version: "v4", Reason: "deploy_in_progress"},
			"v4 is not deployed: v3 is being started; wait for it, or end it with soak rollback"},
		{probation.Entry{Kind: probation.EntryRollbackRefused, Version: "v9", Reason: "not_confirmed"},
			"there is no way back to v9: it is not among the earlier confirmed releases (v1)"},
		{probation.Entry{Kind: probation.EntryRollbackRefused, Reason: "nothing_earlier"}, "there is nothing to go back to: no release was confirmed before v2"},
		{probation.Entry{Kind: probation.EntryRollbackRefused, Version: "v2", Reason: "already_current"}, "v2 serves already"},
		{probation.Entry{Kind: probation.EntryRollbackRefused, Reason: "already_rolled_back"},
			"v2 serves after a rollback already; to go back further, name a release (v1)"},
	} {
		if got := Refusal(s, c.e); got != c.want {
			t.Errorf("%s: %q, want %q", c.e, got, c.want)
		}
	}
}
