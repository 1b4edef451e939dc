package engine

import "testing"

// TestMayRetry: one thing in the way is enough.
func TestMayRetry(t *testing.T) {
	stale := Failure{Method: "GET", Reused: true, Wrote: true, Closed: true}
	for say, c := range map[string]struct {
		change func(*Failure)
		want   bool
	}{
		"a used connection that was closed":       {func(*Failure) {}, true},
		"a fresh one":                             {func(f *Failure) { f.Reused = false }, false},
		"one that was silent, or spoke garbage":   {func(f *Failure) { f.Closed = false }, false},
		"for the second time":                     {func(f *Failure) { f.Retried = true }, false},
		"with a body that is gone":                {func(f *Failure) { f.BodyTaken = true }, false},
		"POST, of which something was sent":       {func(f *Failure) { f.Method = "POST" }, false},
		"POST, of which nothing was sent":         {func(f *Failure) { f.Method, f.Wrote = "POST", false }, true},
		"POST, nothing sent but its body is gone": {func(f *Failure) { f.Method, f.Wrote, f.BodyTaken = "POST", false, true }, false},
		"an unknown method":                       {func(f *Failure) { f.Method = "BREW" }, false},
		"an unknown method, nothing sent":         {func(f *Failure) { f.Method, f.Wrote = "BREW", false }, true},
	} {
		f := stale
		c.change(&f)
		if got := f.MayRetry(); got != c.want {
			t.Errorf("%s: %v", say, got)
		}
	}
}

// TestIdempotent is the table of RFC 9110 section 9.2.2, by the letter: methods
// are case-sensitive.
func TestIdempotent(t *testing.T) {
	for method, want := range map[string]bool{
		"GET": true, "HEAD": true, "OPTIONS": true, "TRACE": true, "PUT": true, "DELETE": true,
		"POST": false, "PATCH": false, "CONNECT": false, "get": false, "": false, "PROPFIND": false,
	} {
		if got := Idempotent(method); got != want {
			t.Errorf("Idempotent(%q) = %v", method, got)
		}
	}
}
