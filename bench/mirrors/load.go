package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// workers is how many connections share the rate. At a thousand requests a second
// each of them is idle nearly all the time, so that requests do not queue here.
const workers = 16

// load sends requests at a fixed rate for a while and returns the quantiles of what
// they took, from the first byte sent to the last received.
func (d *daemon) load(o options, length time.Duration) (slice, error) {
	request := "GET / HTTP/1.1\r\nHost: bench.test\r\n\r\n"
	if o.body > 0 {
		request = fmt.Sprintf("POST / HTTP/1.1\r\nHost: bench.test\r\nContent-Length: %d\r\n\r\n%s", o.body, strings.Repeat("x", o.body))
	}
	each := max(int(length.Seconds()*float64(o.rate))/workers, 1)
	pause := time.Duration(workers) * time.Second / time.Duration(o.rate)
	took := make([][]time.Duration, workers)
	failed := make([]error, workers)
	began := time.Now()
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			first := began.Add(time.Duration(w) * pause / workers)
			took[w], failed[w] = drive(d.http, request, each, first, pause)
		})
	}
	all.Wait()
	var s slice
	var list []time.Duration
	for w := range workers {
		list = append(list, took[w]...)
		s.errors += each - len(took[w])
	}
	s.requests = len(list)
	if len(list) == 0 {
		return s, fmt.Errorf("nothing was answered: %w", errors.Join(failed...))
	}
	slices.Sort(list)
	s.p50, s.p99 = list[len(list)/2], list[len(list)*99/100]
	return s, nil
}

// drive sends requests over one connection, one every pause.
func drive(address, request string, n int, first time.Time, pause time.Duration) (took []time.Duration, err error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for i := range n {
		time.Sleep(time.Until(first.Add(time.Duration(i) * pause)))
		sent := time.Now()
		if err := c.SetDeadline(sent.Add(10 * time.Second)); err != nil {
			return took, err
		}
		if _, err := io.WriteString(c, request); err != nil {
			return took, err
		}
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			return took, err
		}
		_, err = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK {
			return took, fmt.Errorf("got %s, %w", r.Status, err)
		}
		took = append(took, time.Since(sent))
	}
	return took, nil
}
