package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// paced is how many connections share the rate. None is busy for long at a time, so
// that requests do not queue here.
const paced = 32

// pace sends rate requests a second for a while, however long the answers take, and
// prints how many were answered, how many were not, and the 99th percentile of the
// latency in microseconds. A request that is late because the one before it on its
// connection was slow counts from when it was due.
func pace(address string, rate int, length time.Duration) error {
	each := int(length.Seconds()*float64(rate)) / paced
	gap := paced * time.Second / time.Duration(rate)
	var took [paced][]time.Duration
	began := time.Now()
	var all sync.WaitGroup
	for i := range paced {
		all.Go(func() { took[i] = drip(address, began.Add(time.Duration(i)*gap/paced), gap, each) })
	}
	all.Wait()
	every := slices.Concat(took[:]...)
	if len(every) == 0 {
		return errors.New("nothing was answered")
	}
	slices.Sort(every)
	fmt.Println(len(every), paced*each-len(every), every[len(every)*99/100].Microseconds())
	return nil
}

// drip sends n requests on one connection, one every gap, and stops at the first that
// fails.
func drip(address string, first time.Time, gap time.Duration, n int) (took []time.Duration) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for i := range n {
		due := first.Add(time.Duration(i) * gap)
		time.Sleep(time.Until(due))
		if c.SetDeadline(time.Now().Add(10*time.Second)) != nil || again(c, in) != nil {
			return took
		}
		took = append(took, time.Since(due))
	}
	return took
}

// again asks once more on a connection that is kept.
func again(c net.Conn, in *bufio.Reader) error {
	if _, err := io.WriteString(c, "GET /128 HTTP/1.1\r\nHost: bench.test\r\n\r\n"); err != nil {
		return err
	}
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return errors.New(r.Status)
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err
}
