package events

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"ramjet.dev/ingress/internal/translate"
)

func warning(name, reason, message string) translate.Warning {
	return translate.Warning{Object: translate.Ref{Kind: "Ingress", Namespace: "prod", Name: name, UID: "1"}, Reason: reason, Message: message}
}

// Whatever an object is called and whatever is to be said, the API server takes it.
func TestEventIsValid(t *testing.T) {
	for _, name := range []string{"shop", strings.Repeat("a", 253), strings.Repeat("a.", 126) + "a", strings.Repeat("a-", 100) + "b"} {
		for _, note := range []string{"short", strings.Repeat("x", 2000), strings.Repeat("é", 1000), strings.Repeat("…", 500)} {
			for _, once := range []bool{false, true} {
				o := (&Teller{instance: strings.Repeat("p", 200)}).object(Event{
					Regarding: corev1.ObjectReference{Namespace: "prod", Name: name}, Note: note, Once: once, Time: time.Unix(1000, 5),
				})
				if bad := validation.IsDNS1123Subdomain(o.Name); len(bad) > 0 {
					t.Errorf("%s: %v", o.Name, bad)
				}
				if len(o.Note) > maxNote || !utf8.ValidString(o.Note) || o.Note[:4] != note[:4] {
					t.Errorf("a note of %d bytes became one of %d", len(note), len(o.Note))
				}
				if len(o.ReportingInstance) > 128 {
					t.Errorf("an instance of %d bytes", len(o.ReportingInstance))
				}
			}
		}
	}
}

// The same told twice has the same name, so that the cluster refuses the second.
func TestOnce(t *testing.T) {
	base := Event{Regarding: corev1.ObjectReference{Kind: "Ingress", Namespace: "prod", Name: "shop", UID: "1"}, Reason: "PathConflict", Note: "n", Once: true}
	names := map[string]bool{}
	for _, change := range []func(*Event){
		func(*Event) {},
		func(e *Event) { e.Reason = "HostConflict" },
		func(e *Event) { e.Note = "m" },
		func(e *Event) { e.Regarding.UID = "2" },
		func(e *Event) { e.Regarding.Name = "shop2" },
		func(e *Event) { e.Reason, e.Note = "PathConflictn", "" },
	} {
		e := base
		change(&e)
		first := (&Teller{instance: "a"}).object(e).Name
		e.Time = e.Time.Add(time.Hour)
		if again := (&Teller{instance: "b"}).object(e).Name; again != first {
			t.Errorf("%s and %s", first, again)
		}
		if names[first] {
			t.Errorf("%s is told of two things", first)
		}
		names[first] = true
	}
}

// A cluster-scoped object has its Events in the namespace default.
func TestNamespace(t *testing.T) {
	for namespace, want := range map[string]string{"": "default", "prod": "prod"} {
		if o := (&Teller{}).object(Event{Regarding: corev1.ObjectReference{Namespace: namespace, Name: "x"}}); o.Namespace != want {
			t.Errorf("%q: %q", namespace, o.Namespace)
		}
	}
}

// TestStanding: what is new and what is over, and nothing of what stays.
func TestStanding(t *testing.T) {
	var s Standing
	a, b, c := warning("a", "PathConflict", "1"), warning("b", "PathConflict", "1"), warning("a", "PathConflict", "2")
	for _, step := range []struct{ now, fresh, over []translate.Warning }{
		{now: []translate.Warning{a, b}, fresh: []translate.Warning{a, b}},
		{now: []translate.Warning{a, b}},
		{now: []translate.Warning{b, c}, fresh: []translate.Warning{c}, over: []translate.Warning{a}},
		{over: []translate.Warning{c, b}},
		{now: []translate.Warning{a}, fresh: []translate.Warning{a}},
	} {
		fresh, over := s.Update(step.now)
		if fmt.Sprint(fresh) != fmt.Sprint(step.fresh) || fmt.Sprint(over) != fmt.Sprint(step.over) || s.Len() != len(step.now) {
			t.Errorf("%v: fresh %v, over %v", step.now, fresh, over)
		}
	}
}

// A thousand equal faults are a few lines of the log and a number.
func TestLog(t *testing.T) {
	var fresh []translate.Warning
	for i := range 1000 {
		fresh = append(fresh, warning(fmt.Sprint(i), "PathConflict", "taken"))
	}
	fresh = append(fresh, warning("x", "HostConflict", "one\nline"))
	var out bytes.Buffer
	Log(slog.New(slog.NewTextHandler(&out, nil)), fresh)
	if n := strings.Count(out.String(), "\n"); n != logEach+2 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
	for _, want := range []string{`object="Ingress prod/4" reason=PathConflict`, "reason=PathConflict count=995", `msg="one\nline"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// A thousand compiles by other objects tell a thousand standing warnings once.
func TestStandingIsToldOnce(t *testing.T) {
	var all []translate.Warning
	for n := range 1000 {
		all = append(all, warning(fmt.Sprint("shop-", n), "ServiceUnresolved", "missing"))
	}
	var s Standing
	told := 0
	for range 1000 {
		fresh, over := s.Update(all)
		told += len(fresh)
		if len(over) > 0 {
			t.Fatalf("%d warnings are over", len(over))
		}
	}
	if told != len(all) || s.Len() != len(all) {
		t.Errorf("%d warnings told, %d stand, want %d", told, s.Len(), len(all))
	}
}
