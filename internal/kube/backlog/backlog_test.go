package backlog_test

import (
	"fmt"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/kube/backlog"
)

var start = time.Unix(1_000_000, 0)

// take is one step: what comes first, or how long to wait for it.
func take(b *backlog.Backlog[string], at time.Duration) (string, backlog.Taken[string]) {
	t, wait, ok := b.Take(start.Add(at))
	if !ok {
		return "wait " + wait.String(), t
	}
	return fmt.Sprintf("%s: %s", t.Name, t.Todo), t
}

func TestOrder(t *testing.T) {
	b := backlog.New[string]()
	b.Put("b", "old", 1)
	b.Put("c", "first fault", 1)
	b.Put("a", "first fault", 1)
	b.Put("z", "an edit", 7)
	b.Put("b", "new", 1) // in place of the old
	b.Put("d", "no more", 9)
	b.Drop("d")
	for _, want := range []string{"z: an edit", "a: first fault", "b: new", "c: first fault", "wait 0s"} {
		if got, _ := take(b, 0); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestReturn(t *testing.T) {
	b := backlog.New[string]()
	b.Put("a", "this fails", 1)
	b.Put("b", "this does not", 1)
	_, failed := take(b, 0)
	b.Return(failed, start.Add(2*time.Second))
	for _, step := range []struct {
		at   time.Duration
		want string
	}{
		{0, "b: this does not"}, // what failed is not in the way
		{time.Second, "wait 1s"},
		{2 * time.Second, "a: this fails"},
	} {
		got, taken := take(b, step.at)
		if got != step.want {
			t.Errorf("at %v: got %q, want %q", step.at, got, step.want)
		}
		failed = taken
	}
	if failed.Tries() != 1 {
		t.Errorf("%d tries, want 1", failed.Tries())
	}
	// Something newer came while it was under way.
	b.Put("a", "newer", 1)
	b.Return(failed, start)
	if got, _ := take(b, time.Hour); got != "a: newer" || b.Len() != 0 {
		t.Errorf("got %q, and %d are left", got, b.Len())
	}
}

// TestDemote: what may never succeed is behind all others from then on, and still gets its
// turn.
func TestDemote(t *testing.T) {
	b := backlog.New[string]()
	b.Put("a", "refused", 9)
	b.Put("b", "no edit", 0)
	b.Put("c", "an edit", 3)
	_, refused := take(b, 0)
	b.Demote(refused, start.Add(time.Minute))
	for _, step := range []struct {
		at   time.Duration
		want string
	}{
		{time.Minute, "c: an edit"},
		{time.Minute, "b: no edit"},
		{time.Minute, "a: refused"},
	} {
		if got, _ := take(b, step.at); got != step.want {
			t.Errorf("at %v: got %q, want %q", step.at, got, step.want)
		}
	}
}

// TestHold: what is held waits, and what comes for the same name does not unless it is held
// too.
func TestHold(t *testing.T) {
	b := backlog.New[string]()
	b.Hold("nobody", start.Add(time.Hour))
	b.Put("a", "held", 9)
	b.Hold("a", start.Add(time.Minute))
	b.Put("b", "not held", 0)
	for _, want := range []string{"b: not held", "wait 1m0s"} {
		if got, _ := take(b, 0); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	b.Put("a", "newer", 9)
	if got, _ := take(b, 0); got != "a: newer" {
		t.Errorf("got %q", got)
	}
}
