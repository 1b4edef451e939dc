package webhook

import (
	"encoding/json"
	"fmt"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/route"
)

// The bodies of the three kinds of POST. Keys are only ever added.

type configBody struct {
	Event      string `json:"event"`
	Generation uint64 `json:"generation"`
	Previous   uint64 `json:"previous"`
	Published  bool   `json:"published"`
	Summary    string `json:"summary"`
	Warning    string `json:"warning,omitempty"`
	lists
}

// lists is the diff, each list under its own name. It is a type of its own so that
// no method of the diff can take over the encoding of the whole body.
type lists route.Diff

type pinBody struct {
	Event      string `json:"event"`
	Generation uint64 `json:"generation"`
	Replaced   uint64 `json:"replaced"`
	Summary    string `json:"summary"`
}

type resumeBody struct {
	Event      string `json:"event"`
	Generation uint64 `json:"generation"`
	Summary    string `json:"summary"`
}

// encode writes an event as one JSON object. The encoder escapes control
// characters and replaces bytes that are not UTF-8, so that names chosen by users
// stay inside their strings.
func encode(e audit.Event) ([]byte, error) {
	switch e := e.(type) {
	case audit.Config:
		return json.Marshal(configBody{
			Event: e.Kind(), Generation: e.Generation, Previous: e.Previous, Published: e.Published,
			Summary: e.Message(), Warning: e.Warning, lists: lists(e.Diff),
		})
	case audit.Pin:
		return json.Marshal(pinBody{e.Kind(), e.Generation, e.Replaced, e.Message()})
	case audit.Resume:
		return json.Marshal(resumeBody{e.Kind(), e.Generation, e.Message()})
	}
	return nil, fmt.Errorf("no body for %T", e)
}
