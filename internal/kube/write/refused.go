package write

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"ramjet.dev/ingress/internal/kube/backlog"
)

// handleForbidden puts a change behind all others, and says once in the life of the process
// what is not allowed.
func (q *Queue[T]) handleForbidden(t backlog.Taken[T], err error) {
	again := time.Now().Add(forbiddenRest)
	q.mu.Lock()
	said := q.forbidden
	q.forbidden = true
	if !q.dropped {
		q.backlog.Demote(t, again)
	}
	if q.row++; q.row >= forbiddenRow {
		q.row, q.rests = 0, again
	}
	q.mu.Unlock()
	if !said {
		q.options.Log.Warn("not allowed to write "+q.options.What+": trying again each minute", "error", oneLine(err))
	}
}

// handleMalformed says once in the life of the process that the API server does not
// understand what it is sent. Sending it again would be no different.
func (q *Queue[T]) handleMalformed(err error) {
	q.mu.Lock()
	said := q.malformed
	q.malformed = true
	q.mu.Unlock()
	level := slog.LevelWarn
	if said {
		level = slog.LevelDebug
	}
	q.options.Log.Log(context.Background(), level, "could not write "+q.options.What+", and do not try again: the API server does not understand the request; is it of a version that this program supports?", "error", oneLine(err))
}

// recreated reports whether a request failed because the object is another one by now: the
// API server takes a UID that does not fit for an attempt to change it.
func recreated(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}

// passes reports whether a request may succeed later without anybody changing it.
func passes(err error) bool {
	reason := apierrors.ReasonForError(err)
	switch {
	case reason == "": // no answer of the API server
		return true
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsBadRequest(err), apierrors.IsAlreadyExists(err), recreated(err):
		return false
	}
	return true
}

// oneLine is the text of an error, without the line breaks that a server could have sent.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
