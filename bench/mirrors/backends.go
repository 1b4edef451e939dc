package main

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// backends are the primary and the mirrors, in this process.
type backends struct {
	primary, up, refusing, hanging, slow string // addresses

	closers []io.Closer
	serving sync.WaitGroup
}

func startBackends() (*backends, error) {
	b := &backends{}
	answer := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "ok")
	}
	for _, one := range []struct {
		address *string
		handler http.HandlerFunc
	}{
		{&b.primary, answer},
		{&b.up, answer},
		{&b.hanging, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{&b.slow, func(w http.ResponseWriter, r *http.Request) {
			late := time.NewTimer(time.Second)
			defer late.Stop()
			select {
			case <-late.C:
				answer(w, r)
			case <-r.Context().Done():
			}
		}},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.close()
			return nil, err
		}
		*one.address = l.Addr().String()
		s := &http.Server{Handler: one.handler, ReadHeaderTimeout: time.Minute}
		b.closers = append(b.closers, s)
		b.serving.Go(func() { _ = s.Serve(l) }) // ends with close
	}
	// The near end of a connection holds its port, and nobody listens there.
	c, err := net.Dial("tcp", b.up)
	if err != nil {
		b.close()
		return nil, err
	}
	b.refusing = c.LocalAddr().String()
	b.closers = append(b.closers, c)
	return b, nil
}

// mirror is the address of the mirror of a mode, "" for none.
func (b *backends) mirror(mode string) string {
	return map[string]string{"up": b.up, "refusing": b.refusing, "hanging": b.hanging, "slow": b.slow}[mode]
}

func (b *backends) close() {
	for _, c := range b.closers {
		c.Close()
	}
	b.serving.Wait()
}
