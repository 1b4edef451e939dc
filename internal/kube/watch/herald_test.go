package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHerald plays outages and refusals. Each step is a time in seconds and how it stands
// with some kinds; below it is what the log hears, with + for what is over.
func TestHerald(t *testing.T) {
	const start = 1_000_000
	at := func(seconds int) time.Time { return time.Unix(start+int64(seconds), 0) }
	up := func(resource string) Condition { return Condition{Resource: resource, Synced: true, Up: true} }
	fails := func(resource string, f failure, err error, since int) Condition {
		return Condition{Resource: resource, failure: f, err: err, Since: at(since)}
	}
	down := func(resource string, since int) Condition {
		return fails(resource, failureUnreachable, errRefused, since)
	}
	type step struct {
		at         int
		complete   bool
		conditions []Condition
		want       string // first words of each line
	}
	for intent, steps := range map[string][]step{
		"down at start, one line a minute, then it answers": {
			{0, false, []Condition{{Resource: ingresses, Since: at(0)}, {Resource: services, Since: at(0)}}, ""},
			{1, false, []Condition{down(ingresses, 1), down(services, 1)}, "not ready, since the API server does not answer"},
			{2, false, []Condition{down(ingresses, 1), down(services, 1)}, ""},
			{60, false, []Condition{down(ingresses, 1), down(services, 1)}, ""},
			{61, false, []Condition{down(ingresses, 1), down(services, 1)}, "not ready, since the API server does not answer"},
			{90, false, []Condition{up(ingresses), down(services, 1)}, ""},
			{91, true, []Condition{up(ingresses), up(services)}, "+the API server answers again"},
			{200, true, []Condition{up(ingresses), up(services)}, ""},
		},
		"gone later": {
			{0, true, []Condition{down(ingresses, 0)}, "the API server does not answer"},
			{5, true, []Condition{up(ingresses)}, "+the API server answers again"},
			// It comes and goes: not more than a line a minute.
			{10, true, []Condition{down(ingresses, 10)}, ""},
			{15, true, []Condition{up(ingresses)}, ""},
			{65, true, []Condition{down(ingresses, 65)}, "the API server does not answer"},
		},
		"Secrets forbidden": {
			{1, false, []Condition{up(ingresses), fails(secrets, failureForbidden, errForbidden, 0)}, ""}, // perhaps for a moment only
			{6, true, []Condition{up(ingresses), fails(secrets, failureForbidden, errForbidden, 0)}, "no TLS from Secrets"},
			{600, true, []Condition{up(ingresses), fails(secrets, failureForbidden, errForbidden, 0)}, ""},
			{3606, true, []Condition{up(ingresses), fails(secrets, failureForbidden, errForbidden, 0)}, "no TLS from Secrets"},
			{3700, true, []Condition{up(ingresses), up(secrets)}, "+the API server allows again to read secrets"},
		},
		"what is needed is forbidden": {
			{6, false, []Condition{fails(ingresses, failureForbidden, errForbidden, 0)}, "not ready: the API server does not let us read ingresses"},
			{66, false, []Condition{fails(ingresses, failureForbidden, errForbidden, 0)}, "not ready: the API server does not let us read ingresses"},
		},
		"it answers, and does not come to an end": {
			{0, false, []Condition{{Resource: ingresses, Up: true, Since: at(0)}}, ""},
			{9, false, []Condition{{Resource: ingresses, Up: true, Since: at(0)}}, ""},
			{10, false, []Condition{{Resource: ingresses, Up: true, Since: at(0)}}, "not ready, since the API server has not sent everything yet"},
			{69, false, []Condition{{Resource: ingresses, Up: true, Since: at(0)}}, ""},
			{70, false, []Condition{{Resource: ingresses, Up: true, Since: at(0)}}, "not ready, since the API server has not sent everything yet"},
			{75, true, []Condition{up(ingresses)}, ""},
		},
		"not a word from it": {
			{5, false, []Condition{{Resource: ingresses, Since: at(0)}}, ""},
			{10, false, []Condition{{Resource: ingresses, Since: at(0)}}, "not ready, since the API server has not sent everything yet"},
			{12, false, []Condition{down(ingresses, 12)}, "not ready, since the API server does not answer"},
		},
		"busy": {
			{1, true, []Condition{fails(ingresses, failureBusy, errBusy, 0)}, ""}, // for a moment: nobody needs to know
			{2, true, []Condition{up(ingresses)}, ""},
			{16, true, []Condition{fails(ingresses, failureBusy, errBusy, 10), up(services)}, "the API server has too many requests"},
			{75, true, []Condition{fails(ingresses, failureBusy, errBusy, 10), up(services)}, ""},
			{76, true, []Condition{fails(ingresses, failureBusy, errBusy, 10), up(services)}, "the API server has too many requests"},
			{80, true, []Condition{up(ingresses), up(services)}, "+the API server takes our requests again"},
		},
		"busy at start": {
			{6, false, []Condition{fails(ingresses, failureBusy, errBusy, 0)}, "not ready, since the API server has too many requests"},
		},
		"unknown to the server": {
			{0, false, []Condition{fails(ingresses, failureUnauthorized, errForbidden, 0), fails(secrets, failureUnauthorized, errForbidden, 0)}, "not ready: the API server does not know who we are"},
			{5, true, []Condition{up(ingresses), up(secrets)}, "+the API server knows us again"},
		},
	} {
		h := herald{server: "https://192.0.2.1:6443"}
		for _, s := range steps {
			lines, next := h.notices(at(s.at), s.complete, s.conditions)
			got := make([]string, 0, len(lines))
			for _, l := range lines {
				text := l.text
				if l.good {
					text = "+" + text
				}
				for want := range strings.SplitSeq(s.want, "\n") {
					if want != "" && strings.HasPrefix(text, want) {
						text = want
					}
				}
				got = append(got, text)
				if !slices.Contains(l.attrs, any("https://192.0.2.1:6443")) {
					t.Errorf("%s: %q does not name the server", intent, l.text)
				}
			}
			if text := strings.Join(got, "\n"); text != s.want {
				t.Errorf("%s, at %d: got %q, want %q", intent, s.at, text, s.want)
			}
			if wrong := fmt.Sprint(s.conditions); next == 0 && strings.Contains(wrong, "dial") {
				t.Errorf("%s, at %d: nobody would look again", intent, s.at)
			}
		}
	}
}
