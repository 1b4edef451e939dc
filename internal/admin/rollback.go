package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
)

// pin puts the generation that the body names back on the wire. What the body is
// called does not matter: curl -d calls everything a form.
func (a *api) pin(w http.ResponseWriter, r *http.Request) {
	number, err := readRollback(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		tooLarge(w)
		return
	case err != nil:
		fail(w, http.StatusBadRequest, Failure{Error: err.Error()})
		return
	}
	state, err := a.controller.Pin(r.Context(), number)
	a.answer(w, state, err)
}

// release lets go of the pin, if there is one.
func (a *api) release(w http.ResponseWriter, r *http.Request) {
	state, err := a.controller.Release(r.Context())
	a.answer(w, state, err)
}

// answer says what became of a pin or a release.
func (a *api) answer(w http.ResponseWriter, state *control.State, err error) {
	var gone *generation.NotKeptError
	var held *generation.AlreadyPinnedError
	switch {
	case err == nil:
		reply(w, http.StatusOK, Pin{Pinned: state.Pinned, Serving: state.Serving})
	case errors.As(err, &gone):
		fail(w, http.StatusNotFound, Failure{
			Error:      fmt.Sprintf("generation %d is not kept: GET %s lists those that are", gone.Number, PathGenerations),
			Generation: &gone.Number,
		})
	case errors.As(err, &held):
		fail(w, http.StatusConflict, Failure{
			Error:  fmt.Sprintf("generation %d is pinned already: release it with DELETE %s first", held.Pinned, PathRollback),
			Pinned: &held.Pinned,
		})
	default:
		fail(w, http.StatusServiceUnavailable, Failure{Error: "nothing was changed: the process is stopping, or was asked to give up waiting"})
	}
}

// readRollback reads the body of a rollback. The keys are compared exactly and the
// number must be spelled as one, because a brake that guesses is none.
func readRollback(body io.Reader) (number uint64, err error) {
	const want = `send {"generation":N}, with a number that GET ` + PathGenerations + ` lists`
	dec := json.NewDecoder(body)
	var keys map[string]json.RawMessage
	if err := dec.Decode(&keys); err != nil {
		return 0, bodyError(err, "the body is not a JSON object: "+want)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return 0, bodyError(err, "there is something after the JSON object: "+want)
	}
	text, ok := keys["generation"]
	if !ok || string(text) == "null" {
		return 0, errors.New("the generation is missing: " + want)
	}
	if number, err = strconv.ParseUint(string(text), 10, 64); err != nil {
		return 0, errors.New("the generation is not a whole number from 0 up: " + want)
	}
	return number, nil
}

// bodyError keeps the error of a body that is too large, and words all others.
func bodyError(err error, words string) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return err
	}
	return errors.New(words)
}
