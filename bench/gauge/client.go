package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// get sends one request that ends its connection and reads the whole answer.
func get(c net.Conn, host, path string) error {
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, host); err != nil {
		return err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
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

// wait asks until the answer is 200.
func wait(address, host, path string) error {
	return waitEvery(5*time.Millisecond, address, host, path)
}

func waitEvery(pause time.Duration, address, host, path string) (err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(pause) {
		var c net.Conn
		if c, err = net.Dial("tcp", address); err != nil {
			continue
		}
		err = get(c, host, path)
		c.Close()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s does not answer: %w", address, err)
}

// handshakes runs loops of full TLS 1.3 handshakes for a while. The key exchange
// is the one that all servers have, and no session is ever resumed.
func handshakes(address string, loops int, length time.Duration) error {
	config := &tls.Config{
		InsecureSkipVerify: true, // the benchmark's certificate signs itself
		ServerName:         "bench.test",
		MinVersion:         tls.VersionTLS13,
		CurvePreferences:   []tls.CurveID{tls.X25519},
		NextProtos:         []string{"http/1.1"},
	}
	var done, failed atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(length)
	for range loops {
		all.Go(func() {
			for time.Now().Before(end) {
				if err := handshake(address, config); err != nil {
					failed.Add(1)
					continue
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	fmt.Println(done.Load(), failed.Load())
	return nil
}

func handshake(address string, config *tls.Config) error {
	c, err := tls.Dial("tcp", address, config)
	if err != nil {
		return err
	}
	defer c.Close()
	return get(c, "bench.test", "/128")
}
