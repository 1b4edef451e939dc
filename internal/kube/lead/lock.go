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
	last    look
	others  time.Time // when another held the Lease, and renewed it afterwards
}

// look is what the Lease said when it was read.
type look struct {
	at      time.Time // before it was
	holder  string    // "" = nobody
	renewed time.Time // by the holder's clock
}

func (k *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	began := time.Now()
	record, raw, err := k.Interface.Get(ctx)
	switch {
	case err == nil:
		k.see(look{at: began, holder: record.HolderIdentity, renewed: record.RenewTime.Time})
	case apierrors.IsNotFound(err):
		k.see(look{at: began})
	default:
		k.say(err)
	}
	if record != nil {
		record.LeaseDurationSeconds = trusted(record.LeaseDurationSeconds)
	}
	return record, raw, err
}

// see compares what the Lease says with what it said before: a holder that renewed it
// meanwhile was there at the look before.
func (k *lock) see(now look) {
	k.mu.Lock()
	defer k.mu.Unlock()
	another := now.holder != "" && now.holder != k.Identity()
	if again := now.holder != k.last.holder || !now.renewed.Equal(k.last.renewed); another && again && !k.last.at.IsZero() {
		k.others = k.last.at
	}
	k.last = now
}

// othersAt is when another held the Lease, and renewed it afterwards.
func (k *lock) othersAt() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.others
}

// trusted is for how many seconds a Lease is left alone that says says. One that was given
// back says one, and one that says more than ours is of another version of this program,
// which may take as long to notice that it must stop.
func trusted(says int) int {
	if says > int(leaseDuration/time.Second) {
		return says
	}
	return min(says, int(trust/time.Second))
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
