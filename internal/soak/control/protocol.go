// Package control is how commands talk to a running supervisor: over a Unix socket in
// its state folder, one JSON object a line. A connection carries one request; the
// answer is any number of updates and then one result.
//
// Guarantees: a client that is slow or gone holds nobody up; whoever may open the
// socket may do everything, and only its owner may open it.
//
// It never knows what a request leads to.
package control

import "ramjet.dev/ingress/internal/probation"

// The requests.
const (
	DoDeploy   = "deploy"
	DoRollback = "rollback"
	DoStatus   = "status"
	// DoFollow goes on following a deploy whose connection broke.
	DoFollow = "follow"
)

// Request is what a client wants.
type Request struct {
	Do      string `json:"do"`
	Version string `json:"version,omitempty"`
	// Line is where to follow from: the line of the ledger that began the deploy.
	Line int `json:"line,omitempty"`
	// Now, of a rollback, stops what is rolled back without waiting until something
	// else is ready.
	Now bool `json:"now,omitempty"`
}

// Reply is one line of the answer; what is nil or "" is not part of it.
type Reply struct {
	// Line is the line of the ledger that began the deploy, sent once.
	Line int `json:"line,omitempty"`
	// Entry is what was just written into the ledger.
	Entry *Entry `json:"entry,omitempty"`
	// Status is how things stand now.
	Status *Status `json:"status,omitempty"`
	// Result is the end of the answer.
	Result *Result `json:"result,omitempty"`
}

// Entry is a line of the ledger, in its own form.
type Entry struct{ probation.Entry }

// MarshalJSON is the line.
func (e Entry) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// UnmarshalJSON reads the line.
func (e *Entry) UnmarshalJSON(line []byte) (err error) {
	e.Entry, err = probation.ParseEntry(line)
	return err
}

// Result is how a request ended.
type Result struct {
	// OK is set if what was asked for has come about.
	OK bool `json:"ok"`
	// Message is one line for people.
	Message string `json:"message"`
}

// Status is how things stand. Members only ever get more.
type Status struct {
	// Running is false when there is no supervisor, and this was read from its ledger.
	Running bool `json:"running"`
	// PID is the supervisor's.
	PID int `json:"pid,omitempty"`

	State     string   `json:"state"` // serving, soaking, confirmed, rolled_back
	Current   string   `json:"current"`
	LastGood  string   `json:"last_good"`
	Candidate string   `json:"candidate"`
	Starting  string   `json:"starting"`
	Earlier   []string `json:"earlier"` // confirmed before LastGood, newest first

	WindowMS     uint64 `json:"window_ms"` // of the open window, or of the last one
	WindowLeftMS uint64 `json:"window_left_ms"`
	Restarts     uint64 `json:"restarts"`
	MaxRestarts  uint64 `json:"max_restarts"`
	Exits        uint64 `json:"exits"`

	Processes []Process `json:"processes"`
	// LedgerLines is how many lines the ledger has, LedgerError why it cannot be
	// written at the moment, "" if it can.
	LedgerLines int    `json:"ledger_lines"`
	LedgerError string `json:"ledger_error,omitempty"`
}

// Process is one process of a release.
type Process struct {
	Version string `json:"version"`
	Line    int    `json:"line"` // of the ledger that asked for it
	PID     int    `json:"pid"`
	Port    int    `json:"port"`
	Phase   string `json:"phase"` // starting, ready, stopping
}

// Describe fills in what the kernel knows. nowMS is the time, for what is left of the
// window.
func (s *Status) Describe(k probation.State, nowMS uint64) {
	s.State, s.Current, s.LastGood, s.Candidate, s.Starting = k.Phase.String(), k.Current, k.LastGood, k.Candidate, k.Starting
	s.Earlier = append([]string{}, k.Earlier()...)
	s.WindowMS, s.MaxRestarts = k.Window.SoakMS, k.Window.MaxRestarts
	s.WindowLeftMS = k.LeftMS(nowMS)
	s.Restarts, s.Exits = k.Restarts, k.Exits
}
