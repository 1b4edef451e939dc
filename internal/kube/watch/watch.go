package watch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"ramjet.dev/ingress/internal/translate"
)

// The kinds that are read.
const (
	ingresses      = "ingresses"
	ingressClasses = "ingressclasses"
	services       = "services"
	endpointSlices = "endpointslices"
	secrets        = "secrets"
	// publishedService is the one Service outside of the namespace that is read.
	publishedService = "published service"
)

// Options says what is watched.
type Options struct {
	// Client reads. Required.
	Client kubernetes.Interface
	// Server is where it reads from, for the log.
	Server string
	// Namespace is where the namespaced kinds are read. "" = everywhere.
	Namespace string
	// PublishService is the Service whose own status is read, wherever it is. The zero
	// value is none.
	PublishService types.NamespacedName
	// Log takes what there is to say. Required.
	Log *slog.Logger
	// Now is the clock. nil = time.Now.
	Now func() time.Time
}

// Watch is the copy. It is safe for concurrent use.
type Watch struct {
	log    *slog.Logger
	now    func() time.Time
	herald herald

	ingresses *store[*networkingv1.Ingress]
	classes   *store[*networkingv1.IngressClass]
	services  *store[*corev1.Service]
	slices    *store[*discoveryv1.EndpointSlice]
	secrets   *store[*corev1.Secret]
	// published has the Service of Options.PublishService where services does not.
	published *store[*corev1.Service]
	publish   types.NamespacedName

	kinds   []kind
	read    atomic.Pointer[time.Time] // when what is required had been read
	open    atomic.Bool               // everything was read once
	allowed bell                      // rights have come, or are waited for
	changes chan struct{}
	touched chan struct{}
	healthy chan struct{} // a signal that a condition changed
}

// kind is one reflector with what belongs to it.
type kind struct {
	health   *health
	required bool // nothing is said before it was read
	complete func() bool
	run      func(context.Context)
}

// New prepares a Watch. It reads nothing before Run.
func New(o Options) *Watch {
	if o.Now == nil {
		o.Now = time.Now
	}
	w := &Watch{
		log: o.Log, now: o.Now, herald: herald{server: o.Server}, publish: o.PublishService,
		changes: make(chan struct{}, 1), touched: make(chan struct{}, 1), healthy: make(chan struct{}, 1),
	}
	everything := fields.Everything()
	net, core := o.Client.NetworkingV1().RESTClient(), o.Client.CoreV1().RESTClient()
	slim := slimService(o.PublishService)
	w.ingresses = add(w, net, ingresses, o.Namespace, everything, true, &networkingv1.Ingress{}, slimIngress, compareIngresses)
	w.classes = add(w, net, ingressClasses, metav1.NamespaceAll, everything, true, &networkingv1.IngressClass{}, slimClass, compareClasses)
	w.services = add(w, core, services, o.Namespace, everything, true, &corev1.Service{}, slim, compareServices)
	w.slices = add(w, o.Client.DiscoveryV1().RESTClient(), endpointSlices, o.Namespace, everything, true, &discoveryv1.EndpointSlice{}, slimSlice, compareSlices)
	w.secrets = add(w, core, secrets, o.Namespace, fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS)), false, &corev1.Secret{}, slimSecret, compareSecrets)
	if p := o.PublishService; o.Namespace != "" && p.Name != "" && p.Namespace != o.Namespace {
		one := fields.OneTermEqualSelector(metav1.ObjectNameField, p.Name)
		w.published = add(w, core, publishedService, p.Namespace, one, false, &corev1.Service{}, slim, compareServices)
		w.published.most = forWriters // it is not served
	} else {
		w.published = w.services
	}
	return w
}

// object is what a store holds.
type object interface {
	metav1.Object
	runtime.Object
}

// add makes the store of one kind and what fills it.
func add[T object](w *Watch, c cache.Getter, resource, namespace string, selector fields.Selector, required bool, example T, slim func(T) T, compare func(T, T) effect) *store[T] {
	s := &store[T]{slim: slim, compare: compare, changed: w.changed, objects: map[types.NamespacedName]T{}}
	h := newHealth(resource, w.now, func() { signal(w.healthy) })
	h.allowed = &w.allowed
	path := resource
	if path == publishedService {
		path = services
	}
	r := cache.NewReflectorWithOptions(&source{client: c, resource: path, namespace: namespace, selector: selector, health: h}, example, s, cache.ReflectorOptions{
		Name: resource,
		// What takes time is waited out in the source. This is for the rest.
		Backoff: &wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 5, Cap: 2 * time.Second, Jitter: 0.5},
	})
	w.kinds = append(w.kinds, kind{health: h, required: required, complete: s.complete, run: r.RunWithContext})
	return s
}

// Run reads until ctx is done, and returns when everything has ended. It may be called
// once.
func (w *Watch) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, k := range w.kinds {
		running.Go(func() { k.run(ctx) })
	}
	w.tell(ctx)
	running.Wait()
}

// Changes receives after something changed that Snapshot shows, once everything was read
// for the first time. One signal may stand for many changes.
func (w *Watch) Changes() <-chan struct{} { return w.changes }

// Touched receives after a change that only those who write status have to know.
func (w *Watch) Touched() <-chan struct{} { return w.touched }

// Complete reports whether everything was read once.
func (w *Watch) Complete() bool { return w.open.Load() }

// Snapshot is everything as it is now, in no order. The slices are the caller's, the
// objects are shared and must not be changed.
func (w *Watch) Snapshot() translate.Snapshot {
	unread := !w.secrets.complete() // before the list, which may be complete after it
	return translate.Snapshot{
		Ingresses: w.ingresses.list(),
		Classes:   w.classes.list(),
		Services:  w.services.list(),
		Slices:    w.slices.list(),
		Secrets:   w.secrets.list(),

		SecretsUnread: unread,
	}
}

// Ingresses are all Ingresses as they are now, in no order.
func (w *Watch) Ingresses() []*networkingv1.Ingress { return w.ingresses.list() }

// Classes are all IngressClasses as they are now, in no order.
func (w *Watch) Classes() []*networkingv1.IngressClass { return w.classes.list() }

// Published is the Service of Options.PublishService, nil if it does not exist. It is
// false before that is known.
func (w *Watch) Published() (*corev1.Service, bool) {
	if !w.published.complete() {
		return nil, false
	}
	s, _ := w.published.get(w.publish)
	return s, true
}

// Conditions are how it stands with each kind, always in the same order.
func (w *Watch) Conditions() []Condition {
	all := make([]Condition, len(w.kinds))
	for i, k := range w.kinds {
		all[i] = k.health.condition(k.complete())
	}
	return all
}

// changed is called by the stores.
func (w *Watch) changed(e effect) {
	switch {
	case !w.open.Load():
		w.openGate()
	case e == forCompiling:
		signal(w.changes)
	case e == forWriters:
		signal(w.touched)
	}
}

// openGate lets changes through once everything is there. What is not required is waited
// for too, unless it is refused for good.
func (w *Watch) openGate() {
	for _, k := range w.kinds {
		if k.required && !k.complete() {
			return
		}
	}
	if now := w.now(); w.read.CompareAndSwap(nil, &now) {
		w.allowed.ring() // nothing but what is refused is waited for now
	}
	for _, k := range w.kinds {
		if !k.complete() && !k.health.condition(false).forbidden(*w.read.Load()) {
			return
		}
	}
	if w.open.CompareAndSwap(false, true) {
		signal(w.changes)
	}
}

// tell writes to the log how it stands, and opens the gate when what was missing turns
// out to be refused.
func (w *Watch) tell(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.healthy:
		case <-timer.C:
		}
		if !w.open.Load() {
			w.openGate()
		}
		lines, next := w.herald.notices(w.now(), w.open.Load(), w.Conditions())
		for _, l := range lines {
			if l.good {
				w.log.Info(l.text, l.attrs...)
			} else {
				w.log.Warn(l.text, l.attrs...)
			}
		}
		if next > 0 {
			timer.Reset(next)
		}
	}
}

// signal leaves a signal for the one who waits, if none waits already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
