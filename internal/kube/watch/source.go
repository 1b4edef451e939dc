package watch

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	// firstRetry is the wait after the first failed attempt; it doubles up to mostRetry
	// for an API server that does not answer, and to mostRefused for one that refuses or
	// is busy: the one comes back while people wait for it, the others after somebody
	// changed something, or fewer ask.
	firstRetry  = 250 * time.Millisecond
	mostRetry   = 2 * time.Second
	mostRefused = 10 * time.Second
	// mostAsked is how long a busy API server may make us wait: a Retry-After of a day
	// would be a mistake of somebody on the way.
	mostAsked = time.Minute
)

// source reads one kind from the API server for a reflector. What can pass by itself
// it waits out here, where the wait can be ended and is short: the reflector would wait
// longer each time, and list anew for nothing.
type source struct {
	client    cache.Getter
	resource  string
	namespace string // "" = all of them
	selector  fields.Selector
	health    *health
}

// request is one that the client library does not repeat by itself: it would do so ten
// times, each as long as a connection takes to fail, before anybody heard of it.
func (s *source) request(o metav1.ListOptions) *rest.Request {
	o.FieldSelector = s.selector.String()
	return s.client.Get().Namespace(s.namespace).Resource(s.resource).VersionedParams(&o, metav1.ParameterCodec).MaxRetries(0)
}

// List is there because the reflector's constructor asks for it; it is not called.
func (s *source) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

// Watch is there because the reflector's constructor asks for it; it is not called.
func (s *source) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), o)
}

// ListWithContext lists, as soon as the API server answers.
func (s *source) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, _, err := patiently(ctx, s.health, func() (runtime.Object, error) {
		return s.request(o).Do(ctx).Get()
	})
	return list, err
}

// WatchWithContext watches, as soon as the API server answers. A watch that was to go
// on from where an earlier one ended is said to have expired if the server could not be
// reached for a while: the one that answers now may have been set back to an older
// state, and would then say nothing until it had caught up with what we remember. One that
// was only busy is the same server still, and is not made busier by a list.
//
// One that begins with all objects begins with those of now. Left to itself the
// reflector asks for a state that is no older than what it has, and a server that was
// set back sends no end of it before it has caught up.
func (s *source) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if o.SendInitialEvents != nil {
		o.ResourceVersion = ""
	}
	w, outage, err := patiently(ctx, s.health, func() (watch.Interface, error) {
		o.Watch = true
		w, err := s.request(o).Watch(ctx)
		if err == nil && reflect.TypeOf(w) == noWatch {
			return nil, errNoAnswer
		}
		return w, err
	})
	if goesOn := o.SendInitialEvents == nil && o.ResourceVersion != "" && o.ResourceVersion != "0"; err == nil && outage && goesOn {
		w.Stop()
		return nil, apierrors.NewResourceExpired("read anew after an outage")
	}
	return w, err
}

// noWatch is the type of what the library returns in place of some errors: a watch that
// ended before it began.
var noWatch = reflect.TypeOf(watch.NewEmptyWatch())

var errNoAnswer = errors.New("the connection failed or timed out")

// patiently makes a call until it succeeds, or fails in a way that the reflector knows
// how to go on from. outage reports whether the API server could not be reached first.
func patiently[T any](ctx context.Context, h *health, call func() (T, error)) (result T, outage bool, err error) {
	var last failure
	for tries := 0; ; tries++ {
		allowed := h.allowed.listen() // before the call, which may be refused a moment too soon
		result, err = call()
		if err == nil {
			h.succeeded()
			return result, outage, nil
		}
		kind := classify(err)
		if ctx.Err() != nil || kind == failureOther {
			return result, outage, err
		}
		h.failed(kind, err)
		outage = outage || kind == failureUnreachable || kind == failureBusy && reinitializing(err)
		if kind != last {
			tries, last = 0, kind
		}
		if kind != failureForbidden {
			allowed = nil
		}
		switch sleep(ctx, pause(kind, err, tries), allowed) {
		case ended:
			return result, outage, ctx.Err()
		case woken:
			tries = -1 // rights are being given: as at the beginning
		}
	}
}

// pause is how long to wait after a failure that came after so many others of its kind.
func pause(kind failure, err error, tries int) time.Duration {
	most := mostRefused
	if kind == failureUnreachable {
		most = mostRetry
	}
	d := min(firstRetry<<min(tries, 10), most)
	if kind == failureBusy {
		asked, _ := apierrors.SuggestsClientDelay(err)
		d = max(d, min(time.Duration(asked)*time.Second, mostAsked))
	}
	return d
}

// reinitializing reports whether an API server is busy because it lost its own store and
// reads that anew: it may have been set back to an older state. Nothing but the text says
// it (readGenerationLocked in storage/cacher/ready.go of k8s.io/apiserver).
func reinitializing(err error) bool {
	return strings.Contains(err.Error(), "storage is (re)initializing")
}

// waking says why a sleep is over.
type waking uint8

const (
	rested waking = iota // it was long enough
	woken
	ended // ctx has ended
)

// sleep waits for about d, or until wake is closed.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) waking {
	t := time.NewTimer(d + rand.N(d/4+1)) // replicas that lost a server together do not come back as one
	defer t.Stop()
	select {
	case <-t.C:
		return rested
	case <-wake:
		return woken
	case <-ctx.Done():
		return ended
	}
}

// failure says in what way the API server failed us.
type failure uint8

const (
	// failureOther is for the reflector to solve: a version that expired, a way of
	// asking that this server does not know.
	failureOther failure = iota
	// failureUnreachable: no answer, or one that says that it cannot answer now.
	failureUnreachable
	// failureForbidden: we are known, and may not read this.
	failureForbidden
	// failureUnauthorized: we are not known.
	failureUnauthorized
	// failureBusy: we are to come later.
	failureBusy
)

// classify sorts an error of a list or watch request.
func classify(err error) failure {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return failureUnreachable
	}
	switch code := status.Status().Code; {
	case apierrors.IsForbidden(err):
		return failureForbidden
	case apierrors.IsUnauthorized(err):
		return failureUnauthorized
	case apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge):
		return failureOther
	case apierrors.IsTooManyRequests(err):
		return failureBusy
	case code >= 500: // with a Status too: that is how a server speaks that lost its store
		return failureUnreachable
	}
	return failureOther
}
