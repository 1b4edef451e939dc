package nethttp

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/deadline"
	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/upstream"
)

// upload streams the request body to the endpoint, beside the goroutine that
// reads the response. It ends at the end of the body, at the first error on
// either side, or when it is told to.
type upload struct {
	x    *exchange
	c    *upstream.Conn
	done chan struct{} // closed when run has ended
	// sentAt is when the last byte was sent, in nanoseconds since rec.Start.
	sentAt atomic.Int64
	// stopped is set when the exchange ends the upload: the errors that follow
	// are nobody's fault.
	stopped atomic.Bool
	// failed is set when the client is to blame for the end of the upload.
	failed atomic.Bool
	// fault is set, before done closes, when the end of the upload decides how
	// the request is answered.
	fault *engine.Reply
	// gone is set, before done closes, when the client broke off.
	gone bool

	mu         sync.Mutex
	responding bool          // the response head is there: its timeout is no more
	deadline   deadline.Lazy // of HTTP/2 streams; HTTP/1 bodies have the gate's
}

// An upload whose last byte was read, and whose answer is complete, may take so many
// turns to hand that byte to the kernel. Usually it has, and its goroutine has only not
// been told yet. They are turns and not one span of time because a machine that stalls
// takes all of a span, and one turn.
const (
	tailTurns = 10
	tailTurn  = 5 * time.Millisecond
)

// startUpload begins to send the body.
func (x *exchange) startUpload(c *upstream.Conn) {
	x.begun = true
	x.upload = &upload{x: x, c: c, done: make(chan struct{})}
	c.ReadWithin(0) // the wait for the answer begins when the body has been sent
	rc := http.NewResponseController(x.w)
	if x.r.ProtoMajor == 1 {
		rc.EnableFullDuplex()
		if x.asked.expect {
			// net/http asks for the body with a 100 of its own at the first read, on
			// the goroutine of the upload. Whether and when to ask is the backend's to
			// say, so that one is taken out, and the backend's passed on; a backend of
			// HTTP/1.0 cannot, so it is sent in its place, and from here.
			x.client.gate.swallow.Store(!c.HTTP10())
			x.w.WriteHeader(http.StatusContinue)
		}
	}
	go x.upload.run()
}

// endUpload stops an upload that is still going on and waits for it. The
// client's connection is of no further use if it was.
func (x *exchange) endUpload(c *upstream.Conn) {
	u := x.upload
	if u == nil {
		return
	}
	if u.x.allRead.Load() {
		turn := time.NewTicker(tailTurn)
		defer turn.Stop()
		for range tailTurns {
			select {
			case <-u.done:
				return
			case <-turn.C:
			}
		}
	}
	u.stopped.Store(true)
	c.Abort()
	if !u.x.allRead.Load() {
		x.stopReading()
	}
	<-u.done
}

// stopReading ends reads of the request body.
func (x *exchange) stopReading() {
	if x.client.gate != nil && x.r.ProtoMajor == 1 {
		x.client.gate.abortRead()
		return
	}
	http.NewResponseController(x.w).SetReadDeadline(time.Unix(1, 0))
}

// uploadFault waits for the end of the upload and returns the reply that its
// failure calls for, nil if it decides nothing. A client that broke off ends the
// exchange.
func (x *exchange) uploadFault() *engine.Reply {
	u := x.upload
	x.endUpload(u.c)
	if u.gone {
		x.rec.Status = engine.StatusClientGone
		panic(errAbandon)
	}
	return u.fault
}

func (u *upload) run() {
	defer close(u.done)
	err := u.copy()
	var from *readError
	switch {
	case err == nil:
		u.sentAt.Store(int64(time.Since(u.x.rec.Start)))
		u.awaitAnswer()
	case errors.As(err, &from):
		u.blame(from.err)
		u.c.Abort()
	case isDeadline(err):
		u.stall()
	default:
		u.awaitAnswer() // the endpoint has closed, and may have answered before
	}
}

// awaitAnswer gives the endpoint its time to answer, unless it has begun to.
func (u *upload) awaitAnswer() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.responding {
		u.c.ReadWithin(u.x.e.options.ResponseTimeout)
	}
}

// stall ends an exchange whose endpoint has stopped reading without a word.
func (u *upload) stall() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.responding && !u.stopped.Load() {
		u.fault = engine.ReplyStalled
		u.c.Abort()
	}
}

// respond notes that the endpoint has begun its final response.
func (u *upload) respond() {
	u.mu.Lock()
	u.responding = true
	u.mu.Unlock()
}

// sent notes that a piece of the body has gone upstream: a response that is
// silent meanwhile has not stalled.
func (u *upload) sent() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.responding {
		u.c.ReadWithin(u.x.e.options.StreamIdle)
	}
}

// received notes that a piece of the response has come: a client that listens
// meanwhile has not stalled.
func (u *upload) received() {
	switch {
	case u.x.allRead.Load():
	case u.x.r.ProtoMajor == 1:
		u.x.client.gate.readWithin(u.x.e.options.StreamIdle)
	default:
		u.readWithin()
	}
}

// readWithin moves the deadline of an HTTP/2 stream.
func (u *upload) readWithin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if at, change := u.deadline.Next(time.Now(), u.x.e.options.StreamIdle); change {
		http.NewResponseController(u.x.w).SetReadDeadline(at)
	}
}

// readError is an error of the client's side.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }

// blame says what the client did.
func (u *upload) blame(err error) {
	if u.stopped.Load() {
		return
	}
	u.failed.Store(true)
	u.fault, u.gone = clientFault(err)
}

// clientFault says how a request is answered whose body could not be read: with a
// reply, or not at all because the client is gone.
func clientFault(err error) (reply *engine.Reply, gone bool) {
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		return &refused.reply, false
	case isTimeout(err):
		return engine.ReplyBodyStalled, false
	}
	return nil, true
}

// Room before and after the data of a chunk for its framing: up to 8 digits and
// two line ends.
const (
	chunkHead = 10
	chunkTail = 2
)

func (u *upload) copy() error {
	r := u.x.r
	length := r.ContentLength
	chunked := length < 0
	buf := upstream.GetSmall()
	defer func() { upstream.PutBuffer(buf) }()
	for sent := int64(0); ; {
		n, err := u.read((*buf)[chunkHead : len(*buf)-chunkTail])
		sent += int64(n)
		u.x.bytesIn.Add(int64(n))
		ended := err == io.EOF || !chunked && sent == length
		if ended {
			u.x.allRead.Store(true)
		}
		u.x.shadow.Add((*buf)[chunkHead:chunkHead+n], ended)
		if n > 0 {
			if err := u.write(*buf, n, chunked); err != nil {
				return err
			}
			u.sent()
		}
		switch {
		case ended:
			return u.finish(chunked)
		case err != nil: // what came before it has gone upstream
			return &readError{err}
		}
		if n == len(*buf)-chunkHead-chunkTail && len(*buf) == upstream.Small {
			upstream.PutBuffer(buf)
			buf = upstream.GetLarge()
		}
	}
}

func (u *upload) read(p []byte) (int, error) {
	if u.x.r.ProtoMajor != 1 {
		u.readWithin()
	}
	return u.x.readBody(p)
}

// readBody reads the client's body. Its error is the gate's where the gate has one:
// net/http has other words for an error in the middle of a trailer section, and
// nothing in them says whether the client went away, stalled or sent nonsense. The end
// of the connection is not the end of the body: net/http's word for it stands.
func (x *exchange) readBody(p []byte) (int, error) {
	n, err := x.r.Body.Read(p)
	if err != nil && err != io.EOF && x.r.ProtoMajor == 1 && x.client.gate != nil {
		if broke := x.client.gate.broke.Load(); broke != nil && *broke != io.EOF {
			err = *broke
		}
	}
	return n, err
}

// write sends n bytes that lie in buf behind chunkHead.
func (u *upload) write(buf []byte, n int, chunked bool) error {
	if !chunked {
		return u.send(buf[chunkHead : chunkHead+n])
	}
	start := chunkHead - 2
	copy(buf[start:], "\r\n")
	for size := n; ; size >>= 4 {
		start--
		buf[start] = "0123456789abcdef"[size&15]
		if size < 16 {
			break
		}
	}
	copy(buf[chunkHead+n:], "\r\n")
	return u.send(buf[start : chunkHead+n+chunkTail])
}

// send writes to the endpoint.
func (u *upload) send(b []byte) error {
	_, err := u.c.Write(b, u.x.e.options.StreamIdle, u.waiting)
	return err
}

// waiting is asked while the endpoint takes nothing. Nobody reads from the client
// meanwhile. So an HTTP/1 client that goes away has to be asked for: it is an error. And
// one of HTTP/2, whose read deadline runs on, must not be blamed for it.
func (u *upload) waiting() error {
	g := u.x.client.gate
	switch {
	case u.x.r.ProtoMajor != 1:
		u.readWithin()
	case g != nil && g.raw.hungUp():
		return &readError{io.ErrUnexpectedEOF}
	}
	return nil
}

// finish ends a chunked body, with the trailers that may cross.
func (u *upload) finish(chunked bool) error {
	if !chunked {
		return nil
	}
	b := []byte("0\r\n")
	for name, values := range u.x.r.Trailer {
		if !u.x.trailerPasses(name) {
			continue
		}
		for _, v := range values {
			b = appendField(b, name, v)
		}
	}
	return u.send(append(b, "\r\n"...))
}
