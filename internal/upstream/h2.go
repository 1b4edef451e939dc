package upstream

import (
	"net/http"
	"time"
)

// HTTP2 returns the connections to an endpoint that speaks HTTP/2 in the clear
// with prior knowledge. Requests share connections; net/http keeps them. They
// are closed, once their streams have ended, when the endpoint leaves the table.
func (p *Pools) HTTP2(address string) http.RoundTripper {
	q := p.of(address)
	q.h2Once.Do(func() {
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		q.h2 = &http.Transport{
			Protocols:              protocols,
			DialContext:            p.dialer.DialContext,
			DisableCompression:     true,
			IdleConnTimeout:        idleLife,
			ResponseHeaderTimeout:  p.options.ResponseTimeout,
			ExpectContinueTimeout:  time.Second,
			MaxResponseHeaderBytes: int64(p.options.MaxHeaderBytes),
			HTTP2: &http.HTTP2Config{
				// A peer that vanished is noticed within 45 s also while a stream is silent.
				SendPingTimeout: 30 * time.Second,
				PingTimeout:     15 * time.Second,
			},
		}
	})
	return q.h2
}

// closeH2 closes HTTP/2 connections that no stream uses.
func (q *pool) closeH2() {
	q.h2Once.Do(func() {}) // a transport made later belongs to a request that is late itself
	if q.h2 != nil {
		q.h2.CloseIdleConnections()
	}
}
