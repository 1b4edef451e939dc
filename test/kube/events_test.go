//go:build cluster

package kube

import (
	"fmt"
	"strings"

	events "k8s.io/api/events/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// about returns the Events on an object, in any namespace.
func (w *world) about(kind, name string) (all []events.Event) {
	w.t.Helper()
	list, err := w.Admin.Client.EventsV1().Events(meta.NamespaceAll).List(w.ctx, meta.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Regarding.Kind == kind && e.Regarding.Name == name {
			all = append(all, e)
		}
	}
	return all
}

// warned waits for a Warning on an Ingress, with a reason and a text in its note.
func (w *world) warned(ingress, reason, text string) {
	w.t.Helper()
	w.eventually("a Warning on Ingress "+ingress, func() error {
		all := w.about("Ingress", ingress)
		for _, e := range all {
			if e.Type == "Warning" && e.Reason == reason && strings.Contains(e.Note, text) {
				return nil
			}
		}
		return fmt.Errorf("none with reason %s and %q, only: %s", reason, text, lines(all))
	})
}

// lines are Events as a person reads them.
func lines(all []events.Event) string {
	var text strings.Builder
	for _, e := range all {
		fmt.Fprintf(&text, "\n  %s %s: %s", e.Type, e.Reason, e.Note)
	}
	return text.String()
}
