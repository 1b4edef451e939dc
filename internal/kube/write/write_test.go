package write_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"ramjet.dev/ingress/internal/kube/pace"
	"ramjet.dev/ingress/internal/kube/write"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	what      = schema.GroupResource{Resource: "ingresses"}
	forbidden = apierrors.NewForbidden(what, "a", errors.New("no rule"))
	conflict  = apierrors.NewConflict(what, "a", errors.New("another uid"))
	invalid   = apierrors.NewInvalid(schema.GroupKind{Kind: "Ingress"}, "a", nil)
	busy      = apierrors.NewServiceUnavailable("etcd")
	malformed = apierrors.NewBadRequest("what is that")
	recreated = apierrors.NewInvalid(schema.GroupKind{Kind: "Ingress"}, "a", field.ErrorList{
		field.Invalid(field.NewPath("metadata", "uid"), "1", "field is immutable"),
	})
)

// server is what the writes of a test meet. It notes each with the time since the begin.
type server struct {
	began   time.Time
	answers map[string][]error // to the first writes under a name; nil from then on
	got     []string
}

func (s *server) do(_ context.Context, name string, todo int) error {
	s.got = append(s.got, fmt.Sprintf("%s=%d@%v", name, todo, time.Since(s.began)))
	if all := s.answers[name]; len(all) > 0 {
		s.answers[name] = all[1:]
		return all[0]
	}
	return nil
}

// queue makes one that meets s, with a budget of 3 and then one a second.
func (s *server) queue(may func() bool, log *bytes.Buffer) *write.Queue[int] {
	s.began = time.Now()
	return write.New(write.Options[int]{
		What: "things", Budget: pace.Bucket{Burst: 3, Every: time.Second}, Do: s.do, May: may,
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
}

// runFor runs a queue for a while, of a clock that only moves while all wait.
func runFor(t *testing.T, q *write.Queue[int], d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	q.Run(ctx)
}

func (s *server) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(s.got, want) {
		t.Errorf("got  %v\nwant %v", s.got, want)
	}
}

// TestPace: a burst at once, then the rest in its time, the highest rank first, and of
// several changes under one name the last.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s server
		q := s.queue(nil, new(bytes.Buffer))
		for i, name := range []string{"a", "b", "c", "d", "e"} {
			q.Put(name, i, 0)
		}
		q.Put("e", 100, 7)
		q.Put("c", 200, 0)
		q.Put("gone", 1, 9)
		q.Drop("gone")
		runFor(t, q, time.Minute)
		s.expect(t, "e=100@0s", "a=0@0s", "b=1@0s", "c=200@1s", "d=3@2s")
	})
}

// TestFailures: what may pass is tried again, later each time, while the others go on;
// what will not pass is left.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server{answers: map[string][]error{"a": {busy, errors.New("connection refused")}, "b": {conflict}}}
		q := s.queue(nil, new(bytes.Buffer))
		q.Put("a", 1, 0)
		q.Put("b", 2, 0)
		q.Put("c", 3, 0)
		runFor(t, q, time.Minute)
		s.expect(t, "a=1@0s", "b=2@0s", "c=3@0s", "a=1@1s", "a=1@3s")
		if q.Len() != 0 {
			t.Errorf("%d are left", q.Len())
		}
	})
}

// TestDroppedUnderWay: what is taken back while it is under way is not tried again, whatever
// came of it, and what is asked for after that is.
func TestDroppedUnderWay(t *testing.T) {
	for reason, refusal := range map[string]error{"fails": busy, "is forbidden": forbidden} {
		for after, back := range map[string]func(*write.Queue[int]){
			"Drop":  func(q *write.Queue[int]) { q.Drop("a") },
			"Clear": func(q *write.Queue[int]) { q.Clear() },
		} {
			t.Run(reason+" after "+after, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var got []string
					var q *write.Queue[int]
					q = write.New(write.Options[int]{
						What: "things", Budget: pace.Bucket{Burst: 3, Every: time.Second}, Log: slog.New(slog.DiscardHandler),
						Do: func(_ context.Context, name string, todo int) error {
							got = append(got, fmt.Sprintf("%s=%d", name, todo))
							switch todo {
							case 1:
								back(q)
								return refusal
							case 2:
								back(q)
								q.Put(name, 3, 0)
								return refusal
							}
							return nil
						},
					})
					q.Put("a", 1, 0)
					runFor(t, q, 10*time.Minute)
					q.Put("a", 2, 0)
					runFor(t, q, 10*time.Minute)
					if want := []string{"a=1", "a=2", "a=3"}; !slices.Equal(got, want) || q.Len() != 0 {
						t.Errorf("%v, want %v; %d left", got, want, q.Len())
					}
				})
			})
		}
	}
}

// TestRecreated: what was asked of objects that others have followed is left. It is nothing
// that a right could help with, and nothing waits for it.
func TestRecreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := server{answers: map[string][]error{}}
		q := s.queue(nil, &log)
		for i := range 11 {
			name := fmt.Sprintf("gone-%02d", i)
			s.answers[name] = []error{recreated}
			q.Put(name, i, 1)
		}
		q.Put("there", 1, 0)
		runFor(t, q, 10*time.Second)
		if len(s.got) != 12 || q.Len() != 0 || log.Len() > 0 {
			t.Errorf("%v, %d left\n%s", s.got, q.Len(), log.String())
		}
	})
}

// TestMalformed: what the API server does not understand is not tried again, and that is said
// once.
func TestMalformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := server{answers: map[string][]error{"a": {malformed}, "b": {malformed}}}
		q := s.queue(nil, &log)
		q.Put("a", 1, 0)
		q.Put("b", 2, 0)
		runFor(t, q, 10*time.Minute)
		s.expect(t, "a=1@0s", "b=2@0s")
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "could not write things") {
			t.Errorf("said %d times:\n%s", n, log.String())
		}
	})
}

// TestForbidden: what is forbidden, by a rule or by an admission policy, is said once and tried
// each minute. When it is allowed later, it happens.
func TestForbidden(t *testing.T) {
	for reason, refusal := range map[string]error{"without the right": forbidden, "by a policy without a reason of its own": invalid} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s := server{answers: map[string][]error{"a": {refusal, refusal}}}
				q := s.queue(nil, &log)
				q.Put("a", 1, 1)
				runFor(t, q, 10*time.Minute)
				s.expect(t, "a=1@0s", "a=1@1m0s", "a=1@2m0s")
				if n := strings.Count(log.String(), "not allowed to write things"); n != 1 {
					t.Errorf("said %d times:\n%s", n, log.String())
				}
			})
		})
	}
}

// TestForbiddenForOne: a policy that refuses some objects, for ever and the newest edits, is
// not in the way of the others.
func TestForbiddenForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server{answers: map[string][]error{"x": slices.Repeat([]error{forbidden}, 100), "y": slices.Repeat([]error{forbidden}, 100)}}
		q := s.queue(nil, new(bytes.Buffer))
		q.Put("x", 1, 9)
		q.Put("y", 2, 8)
		q.Put("a", 3, 1)
		q.Put("b", 4, 0)
		runFor(t, q, 59*time.Second)
		s.expect(t, "x=1@0s", "y=2@0s", "a=3@0s", "b=4@1s")
		runFor(t, q, 10*time.Minute)
		if n := len(s.got); n > 4+2*11 {
			t.Errorf("%d tries in eleven minutes: %v", n, s.got)
		}
	})
}

// TestForbiddenForAll: without the right there are a few tries a minute, however much there is
// to write, and each has its turn.
func TestForbiddenForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server{answers: map[string][]error{}}
		q := s.queue(nil, new(bytes.Buffer))
		const things = 25
		for i := range things {
			name := fmt.Sprintf("thing-%02d", i)
			s.answers[name] = slices.Repeat([]error{forbidden}, 100)
			q.Put(name, i, 1)
		}
		const minutes = 10
		runFor(t, q, minutes*time.Minute)
		if n := len(s.got); n < 5*minutes || n > 10*minutes {
			t.Errorf("%d tries in %d minutes", n, minutes)
		}
		tried := map[string]bool{}
		for _, one := range s.got[:things] {
			name, _, _ := strings.Cut(one, "=")
			tried[name] = true
		}
		if len(tried) != things {
			t.Errorf("the first %d tries were of %d things: %v", things, len(tried), s.got[:things])
		}
		for name := range s.answers {
			s.answers[name] = nil
		}
		runFor(t, q, 2*time.Minute)
		if q.Len() != 0 {
			t.Errorf("%d are left although they are allowed", q.Len())
		}
	})
}

// TestContested: somebody undoes each write of one thing at once. It is written less and less
// often, that is said, and the others do not suffer.
func TestContested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var got []string
		var q *write.Queue[int]
		q = write.New(write.Options[int]{
			What: "things", Budget: pace.Bucket{Burst: 100, Every: time.Second}, Each: pace.Bucket{Burst: 5, Every: time.Minute},
			Do: func(_ context.Context, name string, todo int) error {
				got = append(got, name)
				if name == "fought over" {
					q.Put(name, todo, 9) // it was undone, which is known before the answer is there
				}
				return nil
			},
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		q.Put("fought over", 1, 9)
		q.Put("other", 2, 0)
		runFor(t, q, 10*time.Minute+time.Second)
		if n := len(got); n != 6+10+1 || got[6] != "other" {
			t.Errorf("%d writes in ten minutes: %v", n, got)
		}
		if n := strings.Count(log.String(), "somebody undoes"); n == 0 || n > 11 || !strings.Contains(log.String(), `name="fought over"`) {
			t.Errorf("said %d times:\n%s", n, log.String())
		}
		// After a while of peace it is as if nothing had been.
		q.Clear()
		got = nil
		<-time.After(time.Hour)
		q.Put("other", 2, 0)
		q.Put("fought over", 1, 9)
		runFor(t, q, time.Second)
		if len(got) != 6+1 {
			t.Errorf("%v", got)
		}
	})
}

// TestContestedVersions: what is written again is the same change to Each if Same says so,
// although it is written over another version.
func TestContestedVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		var q *write.Queue[int]
		q = write.New(write.Options[int]{
			What: "things", Budget: pace.Bucket{Burst: 100, Every: time.Second}, Each: pace.Bucket{Burst: 5, Every: time.Minute},
			Same: func(int, int) bool { return true }, Log: slog.New(slog.DiscardHandler),
			Do: func(_ context.Context, name string, version int) error {
				writes++
				q.Put(name, version+1, 9)
				return nil
			},
		})
		q.Put("a", 1, 9)
		runFor(t, q, time.Second)
		if writes != 6 {
			t.Errorf("%d writes at once", writes)
		}
	})
}

// TestEdits: one thing that is edited often is written as often, since each change is another.
func TestEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var got []int
		var q *write.Queue[int]
		q = write.New(write.Options[int]{
			What: "things", Budget: pace.Bucket{Burst: 100, Every: time.Second}, Each: pace.Bucket{Burst: 5, Every: time.Minute},
			Do: func(_ context.Context, name string, todo int) error {
				if got = append(got, todo); todo < 50 {
					q.Put(name, todo+1, 9)
				}
				return nil
			},
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		q.Put("a", 1, 9)
		runFor(t, q, time.Second)
		if len(got) != 50 || log.Len() > 0 {
			t.Errorf("%v\n%s", got, log.String())
		}
	})
}

// TestMay: nothing is sent by who may not write, and nothing is lost.
func TestMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s server
		may := false
		q := s.queue(func() bool { return may }, new(bytes.Buffer))
		q.Put("a", 1, 0)
		runFor(t, q, 10*time.Second)
		s.expect(t)
		may = true
		runFor(t, q, time.Minute)
		if len(s.got) != 1 || q.Len() != 0 {
			t.Errorf("%v, %d left", s.got, q.Len())
		}
	})
}

// TestEnd: a write that is under way at the end is cut, and Run returns.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := write.New(write.Options[int]{
			What: "things", Budget: pace.Bucket{Burst: 1}, Log: slog.New(slog.DiscardHandler),
			Do: func(ctx context.Context, _ string, _ int) error { <-ctx.Done(); return ctx.Err() },
		})
		q.Put("a", 1, 0)
		began := time.Now()
		runFor(t, q, time.Second)
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
		q.Clear()
		if q.Len() != 0 {
			t.Error("something is left")
		}
	})
}
