// Package events tells the owners of objects, through Events of the API, what became of
// them: warnings on Ingresses, and changes of the configuration on the IngressClass.
//
// Guarantees: whoever has something to tell never waits; what waits to be told is
// bounded, and goes with the process; a thousand faults at once, a restart, or a fault
// that comes and goes is no flood; that Events are forbidden changes nothing else.
//
// The package never knows what a warning means, or how a generation is made.
package events

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	client "k8s.io/client-go/kubernetes/typed/events/v1"

	"ramjet.dev/ingress/internal/translate"
)

const (
	// maxNote is what the API takes of a note, in bytes.
	maxNote = 1024
	// maxStem is how much of an object's name is in that of an Event, in bytes.
	maxStem = 200
)

// Event is one thing to be told.
type Event struct {
	// Regarding is the object that it is about.
	Regarding corev1.ObjectReference
	// Warning makes it a Warning; else it is Normal.
	Warning bool
	// Reason is a word in upper camel case, Action what was being done.
	Reason, Action string
	// Note is one line in words. What is too long for the API is cut.
	Note string
	// Time is when it happened.
	Time time.Time
	// Once gives it a name that is made of its contents, so that the same is not told
	// twice as long as the cluster remembers.
	Once bool
}

// Teller writes Events as one reporter. It is safe for concurrent use.
type Teller struct {
	client   client.EventsV1Interface
	instance string
	log      *slog.Logger

	forbidden sync.Once // is said once
}

// NewTeller returns a reporter that writes with client. instance is the name of this
// replica's pod.
func NewTeller(client client.EventsV1Interface, instance string, log *slog.Logger) *Teller {
	return &Teller{client: client, instance: instance, log: log}
}

// Tell creates the Event. It is no error that one is there already that is told once, or
// that Events are forbidden: they are a courtesy.
func (t *Teller) Tell(ctx context.Context, e Event) error {
	object := t.object(e)
	_, err := t.client.Events(object.Namespace).Create(ctx, object, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		t.forbidden.Do(func() {
			t.log.Debug("not allowed to write Events: going on without", "error", oneLine(err))
		})
		return nil
	case apierrors.IsAlreadyExists(err) && e.Once:
		return nil // told before, by us or a replica that led
	}
	return err
}

// oneLine is the text of an error, without the line breaks that a server could have sent.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func (t *Teller) object(e Event) *eventsv1.Event {
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	meta := metav1.ObjectMeta{Namespace: e.Regarding.Namespace, Name: fmt.Sprintf("%s.%x.%s", stem(e.Regarding.Name), e.Time.UnixNano(), rand.String(5))}
	if meta.Namespace == "" {
		meta.Namespace = metav1.NamespaceDefault // where Events of cluster-scoped objects live
	}
	if e.Once {
		meta.Name = onceName(e)
	}
	return &eventsv1.Event{
		ObjectMeta:          meta,
		EventTime:           metav1.NewMicroTime(e.Time),
		ReportingController: translate.ControllerName,
		ReportingInstance:   cut(t.instance, 128),
		Action:              e.Action,
		Reason:              e.Reason,
		Regarding:           e.Regarding,
		Note:                cut(e.Note, maxNote),
		Type:                kind,
	}
}

// onceName is a name made of what is told of which object.
func onceName(e Event) string {
	h := fnv.New128a()
	for _, part := range []string{e.Regarding.Kind, string(e.Regarding.UID), e.Regarding.Name, e.Reason, e.Note} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return fmt.Sprintf("%s.%x", stem(e.Regarding.Name), h.Sum(nil)[:8])
}

// stem is the begin of a name, fit for more to follow.
func stem(name string) string {
	if len(name) > maxStem {
		name = strings.TrimRight(name[:maxStem], ".-")
	}
	return name
}

// cut shortens a text to so many bytes, at the end of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	text = text[:most-len(more)]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + more
}
