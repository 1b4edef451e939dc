package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// workers is how many connections share the rate. At a thousand requests a second
// each of them is idle nearly all the time, so that requests do not queue here.
const workers = 16

// client is one connection that is kept over all turns.
type client struct {
	conn net.Conn
	in   *bufio.Reader
}

// load sends requests at a fixed rate for a while and returns what each took, from
// the first byte sent to the last received.
func (d *daemon) load(o options, length time.Duration) (r result) {
	request := "GET / HTTP/1.1\r\nHost: bench.test\r\n\r\n"
	if o.body > 0 {
		request = fmt.Sprintf("POST / HTTP/1.1\r\nHost: bench.test\r\nContent-Length: %d\r\n\r\n%s", o.body, strings.Repeat("x", o.body))
	}
	each := max(int(length.Seconds()*float64(o.rate))/workers, 1)
	pause := time.Duration(workers) * time.Second / time.Duration(o.rate)
	var took [workers][]time.Duration
	began := time.Now()
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			first := began.Add(time.Duration(w) * pause / workers)
			took[w] = d.clients[w].drive(d.http, request, each, first, pause)
		})
	}
	all.Wait()
	for _, list := range took {
		r.took = append(r.took, list...)
	}
	r.failed = workers*each - len(r.took)
	return r
}

// drive sends n requests, one every pause, and stops at the first that fails.
func (c *client) drive(address, request string, n int, first time.Time, pause time.Duration) (took []time.Duration) {
	for i := range n {
		time.Sleep(time.Until(first.Add(time.Duration(i) * pause)))
		if err := c.connect(address); err != nil {
			return took
		}
		sent := time.Now()
		if err := c.exchange(request, sent); err != nil {
			c.conn.Close()
			c.conn = nil
			return took
		}
		took = append(took, time.Since(sent))
	}
	return took
}

func (c *client) connect(address string) (err error) {
	if c.conn == nil {
		if c.conn, err = net.Dial("tcp", address); err == nil {
			c.in = bufio.NewReader(c.conn)
		}
	}
	return err
}

func (c *client) exchange(request string, sent time.Time) error {
	if err := c.conn.SetDeadline(sent.Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(c.conn, request); err != nil {
		return err
	}
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return errors.New(r.Status)
	}
	return nil
}
