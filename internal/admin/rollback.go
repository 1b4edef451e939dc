package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
)

// pin puts the generation that the body names back on the wire. What the body is
// called does not matter: curl -d calls everything a form.
func (a *api) pin(w http.ResponseWriter, r *http.Request) {
	asked, err := readRollback(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		tooLarge(w)
		return
	case err != nil:
		fail(w, http.StatusBadRequest, Failure{Error: err.Error()})
		return
	}
	if asked.Digest != "" && !a.meant(w, asked) {
		return
	}
	state, err := a.controller.Pin(r.Context(), asked.Generation)
	a.answer(w, state, err)
}

// meant reports whether the number of a rollback stands for the generation with its
// digest; if not the answer is written. In one process a number never comes to stand for
// another table, so that what was compared here is what is pinned after it.
func (a *api) meant(w http.ResponseWriter, asked Rollback) bool {
	kept := a.controller.State().Kept
	i := slices.IndexFunc(kept, func(g generation.Generation) bool { return g.Number == asked.Generation })
	if i < 0 {
		a.answer(w, nil, &generation.NotKeptError{Number: asked.Generation})
		return false
	}
	digest := kept[i].Table.Digest()
	if digest != asked.Digest {
		fail(w, http.StatusConflict, Failure{
			Error:      fmt.Sprintf("generation %d has another digest, nothing was changed: GET %s lists what is kept", asked.Generation, PathGenerations),
			Generation: &asked.Generation, Digest: digest,
		})
	}
	return digest == asked.Digest
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

// readRollback reads the body of a rollback. The keys are compared exactly, the number
// must be spelled as one, and a digest that is none is refused, because a brake that
// guesses is none.
func readRollback(body io.Reader) (asked Rollback, err error) {
	const want = `send {"generation":N}, with a number that GET ` + PathGenerations + ` lists`
	dec := json.NewDecoder(body)
	var keys map[string]json.RawMessage
	if err := dec.Decode(&keys); err != nil {
		return asked, bodyError(err, "the body is not a JSON object: "+want)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return asked, bodyError(err, "there is something after the JSON object: "+want)
	}
	text, ok := keys["generation"]
	if !ok || string(text) == "null" {
		return asked, errors.New("the generation is missing: " + want)
	}
	if asked.Generation, err = strconv.ParseUint(string(text), 10, 64); err != nil {
		return asked, errors.New("the generation is not a whole number from 0 up: " + want)
	}
	if text, ok := keys["digest"]; ok && (json.Unmarshal(text, &asked.Digest) != nil || asked.Digest == "") {
		return asked, errors.New("the digest is not a text: send that of GET " + PathGenerations + ", or leave it out")
	}
	return asked, nil
}

// bodyError keeps the error of a body that is too large, and words all others.
func bodyError(err error, words string) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return err
	}
	return errors.New(words)
}
