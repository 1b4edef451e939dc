package watch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var (
	errRefused   = fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no rule"))
	errBusy      = apierrors.NewTooManyRequests("too many requests", 4)
	errTooLarge  = &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: 504, Reason: metav1.StatusReasonTimeout,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}},
	}}
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		want failure
	}{
		{errRefused, failureUnreachable},
		{context.DeadlineExceeded, failureUnreachable},
		{apierrors.NewInternalError(errors.New("etcd")), failureUnreachable},
		{apierrors.NewServiceUnavailable("starting"), failureUnreachable},
		{errBusy, failureBusy},
		{errForbidden, failureForbidden},
		{apierrors.NewUnauthorized("who"), failureUnauthorized},
		{apierrors.NewResourceExpired("old"), failureOther},
		{errTooLarge, failureOther},
		{apierrors.NewBadRequest("sendInitialEvents"), failureOther},
	} {
		if got := classify(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

// patient makes calls that fail in these ways and then succeed, and says how long that
// took and whether there was an outage.
func patient(t *testing.T, h *health, fails ...error) (took time.Duration, outage bool, err error) {
	t.Helper()
	began := time.Now()
	_, outage, err = patiently(t.Context(), h, func() (int, error) {
		if len(fails) == 0 {
			return 1, nil
		}
		next := fails[0]
		fails = fails[1:]
		return 0, next
	})
	return time.Since(began), outage, err
}

// TestPatiently: an API server that does not answer is asked again within two seconds or
// so, one that refuses less often; what the reflector has to solve is handed to it.
func TestPatiently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth("secrets", time.Now, func() {})
		if took, outage, err := patient(t, h); took != 0 || outage || err != nil {
			t.Errorf("%v %v %v", took, outage, err)
		}
		down := make([]error, 100)
		for i := range down {
			down[i] = errRefused
		}
		if took, outage, err := patient(t, h, down...); took > 100*5*time.Second/2 || took < 90*2*time.Second || !outage || err != nil {
			t.Errorf("down: %v %v %v", took, outage, err)
		}
		denied := make([]error, 20)
		for i := range denied {
			denied[i] = errForbidden
		}
		if took, outage, err := patient(t, h, denied...); took > 20*13*time.Second || took < 12*10*time.Second || outage || err != nil {
			t.Errorf("denied: %v %v %v", took, outage, err)
		}
		if took, outage, err := patient(t, h, errBusy, errBusy); took < 2*4*time.Second || took > 2*5*time.Second || outage || err != nil {
			t.Errorf("busy: %v %v %v", took, outage, err)
		}
		lost := apierrors.NewTooManyRequests("storage is (re)initializing: etcdserver: no leader", 1)
		if took, outage, err := patient(t, h, lost); took < time.Second || !outage || err != nil {
			t.Errorf("busy with reading its store: %v %v %v", took, outage, err)
		}
		absurd := apierrors.NewTooManyRequests("too many requests", 86400)
		if took, _, err := patient(t, h, absurd); took < mostAsked || took > mostAsked*5/4 || err != nil {
			t.Errorf("busy for a day: %v %v", took, err)
		}
		if took, _, err := patient(t, h, errTooLarge); took != 0 || err != errTooLarge {
			t.Errorf("a version of the future: %v %v", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, _, err := patiently(ctx, h, func() (int, error) { return 0, errRefused }); err == nil || ctx.Err() == nil {
			t.Errorf("it ended with %v before it was told to", err)
		}
	})
}

// TestConditions: how it stands with a kind follows what its requests meet.
func TestConditions(t *testing.T) {
	now := time.Unix(1000, 0)
	read := now // what is required
	news := 0
	h := newHealth("secrets", func() time.Time { return now }, func() { news++ })
	refuse := func(after time.Duration) {
		now = now.Add(after)
		h.failed(failureForbidden, errForbidden)
	}
	if c := h.condition(false); c.Up || c.err != nil || c.forbidden(read) {
		t.Errorf("at first: %+v", c)
	}
	refuse(0)
	refuse(patience - time.Second)
	now = now.Add(time.Minute) // it was not asked for
	if h.condition(false).forbidden(read) {
		t.Error("a moment's refusal is believed")
	}
	refuse(0)
	if !h.condition(false).forbidden(read) {
		t.Error("a lasting refusal is not believed")
	}
	read = now
	refuse(patience - time.Second)
	if h.condition(false).forbidden(read) {
		t.Error("a refusal from before the rest was read is believed")
	}
	refuse(time.Second)
	if !h.condition(false).forbidden(read) {
		t.Error("a refusal that lasts since the rest was read is not believed")
	}
	h.failed(failureUnreachable, errRefused)
	if h.condition(false).forbidden(read) {
		t.Error("an outage counts as a refusal")
	}
	h.succeeded()
	h.succeeded()
	if c := h.condition(true); !c.Up || !c.Synced || !c.Since.Equal(now) || news != 7 {
		t.Errorf("%+v after %d changes", c, news)
	}
}

func newClient(t *testing.T, server *httptest.Server) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestBusy: a watch that is to go on does so when a busy API server takes it, after no less
// than that asked for; nothing is listed anew.
func TestBusy(t *testing.T) {
	requests := make(chan string, 3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.URL.Query().Get("watch") + " " + r.URL.Query().Get("resourceVersion")
		if len(requests) == 1 { // as its flow control says it
			w.Header().Set("Retry-After", "1")
			http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "application/json")
	}))
	defer server.Close()
	s := &source{client: newClient(t, server).CoreV1().RESTClient(), resource: "services", selector: fields.Everything(), health: newHealth("services", time.Now, func() {})}
	began := time.Now()
	w, err := s.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "7"})
	if err != nil {
		t.Fatalf("the watch is given up: %v", err)
	}
	w.Stop()
	if took := time.Since(began); took < time.Second {
		t.Errorf("it asked again after %v", took)
	}
	if first, second := <-requests, <-requests; first != "true 7" || second != first || len(requests) > 0 {
		t.Errorf("it asked for %q and %q, and %d times more", first, second, len(requests))
	}
}

// TestConnectionsThatEnd: the client library turns an end of the connection into a watch
// that ended before it began. That is an outage all the same, and each attempt is one
// request.
func TestConnectionsThatEnd(t *testing.T) {
	requests := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.URL.Query().Get("fieldSelector")
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	failed := make(chan struct{}, 10)
	h := newHealth("secrets", time.Now, func() { failed <- struct{}{} })
	s := &source{client: newClient(t, server).CoreV1().RESTClient(), resource: "secrets", selector: fields.OneTermEqualSelector("type", "kubernetes.io/tls"), health: h}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := s.WatchWithContext(ctx, metav1.ListOptions{}); ended <- err }()
	for range 2 {
		<-failed
		if got := <-requests; got != "type=kubernetes.io/tls" {
			t.Errorf("selected by %q", got)
		}
	}
	if c := h.condition(false); c.Up || c.failure != failureUnreachable {
		t.Errorf("%+v", c)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("it has a watch")
	}
	if n := len(requests); n > 1 { // the attempt that was cut
		t.Errorf("%d more requests than attempts", n)
	}
}

// TestBeginsWithNow: a watch that begins with all objects asks for those of now, whatever
// was seen before; one that goes on does so from where it was.
func TestBeginsWithNow(t *testing.T) {
	versions := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		versions <- r.URL.Query().Get("resourceVersion")
		w.Header().Set("Content-Type", "application/json")
	}))
	defer server.Close()
	for _, c := range []struct {
		begins bool
		want   string
	}{{true, ""}, {false, "7"}} {
		s := &source{client: newClient(t, server).CoreV1().RESTClient(), resource: "services", selector: fields.Everything(), health: newHealth("services", time.Now, func() {})}
		o := metav1.ListOptions{ResourceVersion: "7"}
		if c.begins {
			o.SendInitialEvents = &c.begins
		}
		w, err := s.WatchWithContext(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		w.Stop()
		if got := <-versions; got != c.want {
			t.Errorf("begins: %v: asked for version %q, want %q", c.begins, got, c.want)
		}
	}
}
