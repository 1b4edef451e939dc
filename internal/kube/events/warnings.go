package events

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ramjet.dev/ingress/internal/kube/pace"
	"ramjet.dev/ingress/internal/kube/write"
	"ramjet.dev/ingress/internal/translate"
)

const (
	// warningBurst Events about warnings are written at once, then one each warningEvery.
	warningBurst = 25
	warningEvery = time.Second
	// logEach is how many new warnings of one reason are logged one by one at a time;
	// the rest is counted.
	logEach = 5
)

// Standing is the warnings that stand. It belongs to one goroutine.
type Standing struct {
	set map[translate.Warning]bool
}

// Len is how many stand.
func (s *Standing) Len() int { return len(s.set) }

// Update takes the warnings that stand now. It returns those that did not stand before
// and those that stood and do not any more, each sorted.
func (s *Standing) Update(all []translate.Warning) (fresh, over []translate.Warning) {
	set := make(map[translate.Warning]bool, len(all))
	for _, w := range all {
		set[w] = true
		if !s.set[w] {
			fresh = append(fresh, w)
		}
	}
	for w := range s.set {
		if !set[w] {
			over = append(over, w)
		}
	}
	slices.SortFunc(over, compareWarnings)
	s.set = set
	return fresh, over
}

func compareWarnings(a, b translate.Warning) int {
	return cmp.Or(
		cmp.Compare(a.Object.String(), b.Object.String()), cmp.Compare(a.Object.UID, b.Object.UID),
		cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message),
	)
}

// Log writes new warnings to the log: the first few of each reason, and how many more
// there are.
func Log(log *slog.Logger, fresh []translate.Warning) {
	count := make(map[string]int)
	for _, w := range fresh {
		if count[w.Reason]++; count[w.Reason] <= logEach {
			log.Warn(w.Message, "object", w.Object.String(), "reason", w.Reason)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(count)) {
		if more := count[reason] - logEach; more > 0 {
			log.Warn("more warnings of the same reason: see the Events of the objects", "reason", reason, "count", more)
		}
	}
}

// Warnings writes an Event for each warning that stands. Its methods are safe for
// concurrent use.
type Warnings struct {
	now   func() time.Time
	queue *write.Queue[Event]

	mu       sync.Mutex
	standing map[translate.Warning]bool
	rank     uint64
}

// NewWarnings returns a writer that does nothing before Run. may is asked before each
// Event.
func NewWarnings(t *Teller, may func() bool, log *slog.Logger) *Warnings {
	return &Warnings{
		now:      time.Now,
		standing: make(map[translate.Warning]bool),
		queue: write.New(write.Options[Event]{
			What:   "Events",
			Budget: pace.Bucket{Burst: warningBurst, Every: warningEvery},
			May:    may,
			Log:    log,
			Do:     func(ctx context.Context, _ string, e Event) error { return t.Tell(ctx, e) },
		}),
	}
}

// Update takes what has changed: it is told by whoever leads, the latest first.
func (w *Warnings) Update(fresh, over []translate.Warning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rank++
	for _, one := range fresh {
		w.standing[one] = true
		w.queue.Put(keyOf(one), w.event(one), w.rank)
	}
	for _, one := range over {
		delete(w.standing, one)
		w.queue.Drop(keyOf(one))
	}
}

// Run writes until ctx is done. It begins with all warnings that stand, since it is not
// known which of them were told by who led before; those that were are refused by the
// cluster, which remembers them.
func (w *Warnings) Run(ctx context.Context) {
	w.mu.Lock()
	for one := range w.standing {
		w.queue.Put(keyOf(one), w.event(one), 0)
	}
	w.mu.Unlock()
	w.queue.Run(ctx)
	w.queue.Clear()
}

func keyOf(w translate.Warning) string {
	return fmt.Sprintf("%s %s %s %s", w.Object, w.Object.UID, w.Reason, w.Message)
}

func (w *Warnings) event(one translate.Warning) Event {
	version := "v1"
	if one.Object.Kind == "Ingress" || one.Object.Kind == "IngressClass" {
		version = "networking.k8s.io/v1"
	}
	return Event{
		Regarding: corev1.ObjectReference{
			APIVersion: version, Kind: one.Object.Kind,
			Namespace: one.Object.Namespace, Name: one.Object.Name, UID: one.Object.UID,
		},
		Warning: true, Reason: one.Reason, Action: "Translate", Note: one.Message, Time: w.now(), Once: true,
	}
}
