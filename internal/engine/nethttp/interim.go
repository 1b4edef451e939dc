package nethttp

import (
	"net/http"
	"net/textproto"
	"sync"

	"ramjet.dev/ingress/internal/engine"
)

// interims brings the interim responses of an HTTP/2 endpoint from the transport to the
// goroutine of the exchange. The transport tells of them while it reads for all streams
// of a connection, so it must not wait for one client; and net/http's server does not
// stand two goroutines that write what comes before a response.
type interims struct {
	news chan struct{} // holds one, when there are notes
	over chan struct{} // closed once nobody takes notes any more

	mu    sync.Mutex
	notes []note
	many  int           // told of so far
	wrong *engine.Reply // what was wrong with one of them
}

// note is an interim response to be written.
type note struct {
	code    int
	fields  textproto.MIMEHeader
	written chan struct{} // is closed then; nil = nobody waits
}

func newInterims() *interims {
	return &interims{news: make(chan struct{}, 1), over: make(chan struct{})}
}

// tell is httptrace.ClientTrace.Got1xxResponse. It never waits, and may be called when
// the exchange has ended.
func (i *interims) tell(code int, fields textproto.MIMEHeader) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.many++
	switch {
	case code == http.StatusSwitchingProtocols: // HTTP/2 has no such thing (RFC 9113 section 8.6)
		i.wrong = engine.ReplyUnaskedSwitch
	case i.many > engine.MaxInterim:
		i.wrong = engine.ReplyTooMany1xx
	}
	if i.wrong != nil {
		return &badResponse{i.wrong}
	}
	if code != http.StatusContinue { // the client is asked for its body when that is read
		i.add(note{code: code, fields: fields})
	}
	return nil
}

// add is called with mu held.
func (i *interims) add(n note) {
	i.notes = append(i.notes, n)
	select {
	case i.news <- struct{}{}:
	default:
	}
}

// fault is what was wrong with one of them, nil = nothing.
func (i *interims) fault() *engine.Reply {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.wrong
}

// ask has an HTTP/1 client asked for its body, which it holds back until then. It
// returns when the client was asked, or the answer has come.
func (i *interims) ask() {
	n := note{code: http.StatusContinue, written: make(chan struct{})}
	i.mu.Lock()
	i.add(n)
	i.mu.Unlock()
	select {
	case <-n.written:
	case <-i.over:
	}
}

// relayUntil writes what is told, until there is a result, and what was told before it.
func (i *interims) relayUntil(results <-chan roundTrip, write func(note)) roundTrip {
	defer close(i.over)
	for {
		select {
		case <-i.news:
			i.writeAll(write)
		case r := <-results:
			i.writeAll(write)
			return r
		}
	}
}

func (i *interims) writeAll(write func(note)) {
	i.mu.Lock()
	notes := i.notes
	i.notes = nil
	i.mu.Unlock()
	for _, n := range notes {
		write(n)
	}
}

// roundTrip is what a transport returned.
type roundTrip struct {
	response *http.Response
	err      error
}

// interim writes an interim response to the client.
func (x *exchange) interim(n note) {
	if n.written != nil {
		defer close(n.written)
	}
	if !x.r.ProtoAtLeast(1, 1) {
		return // RFC 9110 §15.2
	}
	h := x.w.Header()
	forwardFields(h, http.Header(n.fields))
	x.w.WriteHeader(n.code)
	clear(h)
}
