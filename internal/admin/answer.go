package admin

import (
	"encoding/json"
	"net/http"
)

// reply writes an answer in JSON.
func reply(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // "a -> b" stays readable; the type says that it is no HTML
	// The status is out: a client that is gone cannot be told.
	_ = enc.Encode(answer)
}

// fail writes the refusal of a request.
func fail(w http.ResponseWriter, status int, f Failure) { reply(w, status, f) }

// tooLarge refuses a body. The connection is closed, because the rest of the body
// is in the way of a next request.
func tooLarge(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	fail(w, http.StatusRequestEntityTooLarge, Failure{Error: "the body is larger than 64 KiB"})
}

// say writes one line of text, for probes.
func say(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(line + "\n"))
}

// health answers whenever the process answers.
func (a *api) health(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") }

// ready is 200 from the first publish on, for good: what was published once keeps
// serving, whatever happens to where it came from.
func (a *api) ready(w http.ResponseWriter, _ *http.Request) {
	if !a.controller.State().Ready() {
		say(w, http.StatusServiceUnavailable, "not ready: no generation is published yet")
		return
	}
	say(w, http.StatusOK, "ok")
}
