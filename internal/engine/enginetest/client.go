package enginetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Raw is a client that sends bytes as they stand and reads answers.
type Raw struct {
	net.Conn
	T  testing.TB
	In *bufio.Reader

	received transcript
}

// transcript keeps every byte that came.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

// Transcript is every byte received so far.
func (r *Raw) Transcript() string {
	r.received.mu.Lock()
	defer r.received.mu.Unlock()
	return r.received.b.String()
}

// Dial connects to the plaintext listener.
func (p *Proxy) Dial() *Raw {
	p.T.Helper()
	c, err := net.Dial("tcp", p.HTTP)
	if err != nil {
		p.T.Fatal(err)
	}
	return p.raw(c)
}

// DialTLS connects to the TLS listener and speaks HTTP/1.1.
func (p *Proxy) DialTLS(serverName string) *Raw {
	p.T.Helper()
	c, err := tls.Dial("tcp", p.HTTPS, &tls.Config{ServerName: serverName, RootCAs: p.Roots, NextProtos: []string{"http/1.1"}})
	if err != nil {
		p.T.Fatal(err)
	}
	return p.raw(c)
}

func (p *Proxy) raw(c net.Conn) *Raw {
	p.T.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	r := &Raw{Conn: c, T: p.T}
	r.In = bufio.NewReader(io.TeeReader(c, &r.received))
	return r
}

// Send writes bytes; a connection that was closed meanwhile is no error: what
// counts is the answer.
func (r *Raw) Send(s string) { io.WriteString(r.Conn, s) }

// Answer is one response.
type Answer struct {
	Status  int
	Header  http.Header
	Body    string
	Trailer http.Header
	// BodyErr is set when the body was cut short.
	BodyErr error
	// Close is set when the response says that the connection ends.
	Close bool
	// Length is the Content-Length, -1 when there is none.
	Length int64
}

// Next reads one response to a request with this method, an interim one
// included. ok is false when the connection ended instead.
func (r *Raw) Next(method string) (a Answer, ok bool) {
	r.T.Helper()
	resp, err := http.ReadResponse(r.In, &http.Request{Method: method})
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return a, false
	}
	var op *net.OpError
	if errors.As(err, &op) && !op.Timeout() {
		return a, false
	}
	if err != nil {
		r.T.Fatalf("reading a response: %v\nreceived: %q", err, r.Transcript())
	}
	a = Answer{Status: resp.StatusCode, Header: resp.Header, Close: resp.Close, Length: resp.ContentLength}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return a, true
	}
	body, err := io.ReadAll(resp.Body)
	a.Body, a.BodyErr, a.Trailer = string(body), err, resp.Trailer
	return a, true
}

// Final reads the final response and returns the interim ones before it.
func (r *Raw) Final(method string) (final Answer, interim []Answer) {
	r.T.Helper()
	for {
		a, ok := r.Next(method)
		if !ok {
			r.T.Fatalf("the connection ended before a response; received: %q", r.Transcript())
		}
		if a.Status >= 200 || a.Status == http.StatusSwitchingProtocols {
			return a, interim
		}
		interim = append(interim, a)
	}
}

// Do sends a whole request and reads its final response.
func (r *Raw) Do(method, bytes string) Answer {
	r.T.Helper()
	r.Send(bytes)
	a, _ := r.Final(method)
	return a
}

// Closed waits for the end of the connection and reports whether it came
// without another byte.
func (r *Raw) Closed() bool {
	_, err := r.In.ReadByte()
	var t net.Error
	return err != nil && !(errors.As(err, &t) && t.Timeout())
}

// Client is an ordinary HTTP client that reaches the proxy whatever the URL's
// host; h2 makes it speak HTTP/2, over TLS for https URLs, else with prior
// knowledge.
func (p *Proxy) Client(h2 bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!h2)
	protocols.SetHTTP2(h2)
	protocols.SetUnencryptedHTTP2(h2)
	dial := &net.Dialer{Timeout: patience}
	t := &http.Transport{
		Protocols:          protocols,
		DisableCompression: true,
		TLSClientConfig:    &tls.Config{RootCAs: p.Roots},
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if port == "443" {
			return dial.DialContext(ctx, network, p.HTTPS)
		}
		return dial.DialContext(ctx, network, p.HTTP)
	}
	p.T.Cleanup(t.CloseIdleConnections)
	return &http.Client{
		Transport:     t,
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Get fetches a URL with a client of Client and returns the whole answer.
func (p *Proxy) Get(c *http.Client, url string) Answer {
	p.T.Helper()
	resp, err := c.Get(url)
	if err != nil {
		p.T.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(body), BodyErr: err, Trailer: resp.Trailer, Length: resp.ContentLength}
}

// Leaf dials TLS with this server name and returns the certificate served.
func (p *Proxy) Leaf(serverName string) (*x509.Certificate, error) {
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", p.HTTPS, &tls.Config{ServerName: serverName, InsecureSkipVerify: true})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0], nil
}
