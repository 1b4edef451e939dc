package lead

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock is the Lease, with an ear for what goes wrong.
type lock struct {
	resourcelock.Interface
	log *slog.Logger

	mu      sync.Mutex
	said    time.Time // when it was last warned of an error
	renewed time.Time // when the last renewal was sent that succeeded
}

func (k *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := k.Interface.Get(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		k.say(err)
	}
	if record != nil { // one that was given back is trusted for a second only
		record.LeaseDurationSeconds = min(record.LeaseDurationSeconds, int(trust/time.Second))
	}
	return record, raw, err
}

func (k *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	began := time.Now()
	err := k.Interface.Create(ctx, record)
	k.wrote(began, err)
	return err
}

func (k *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	began := time.Now()
	err := k.Interface.Update(ctx, record)
	k.wrote(began, err)
	return err
}

// wrote notes how it went.
func (k *lock) wrote(began time.Time, err error) {
	if err != nil {
		k.say(err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewed = began
}

// sent is when the last renewal was sent that succeeded.
func (k *lock) sent() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.renewed
}

// RecordEvent writes nothing: that is said in the log.
func (k *lock) RecordEvent(string) {}

// say says that the Lease cannot be had. That another replica was faster is no reason,
// and an API server that does not answer is spoken of by those who read from it. Nor is
// one that refuses a leader what it is about to allow again, as one does that has just
// started: a warning is due when the refusal has outlasted the leading.
func (k *lock) say(err error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.ReasonForError(err) == "" {
		return
	}
	attrs := []any{"lease", k.Describe(), "error", strings.Join(strings.Fields(err.Error()), " ")}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	switch {
	case now.Sub(k.renewed) < renewDeadline:
		k.log.Debug("could not renew the Lease, will try again; this replica leads as before", attrs...)
	case now.Sub(k.said) >= repeat:
		k.said = now
		k.log.Warn("cannot hold the Lease, so this replica writes neither status nor Events; serving goes on", attrs...)
	}
}
