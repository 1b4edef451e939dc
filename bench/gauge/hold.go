package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"time"
)

// hold opens connections, sends one request on each, and keeps them open and idle
// until a line comes in. Then it asks all of them once more and prints how many
// answered.
func hold(address string, n int, in io.Reader) error {
	all := make([]net.Conn, n)
	for i := range all {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, n, err)
		}
		defer c.Close()
		all[i] = c
		if err := ask(c); err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, n, err)
		}
	}
	fmt.Println("open")
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return err
	}
	lived := 0
	for _, c := range all {
		if ask(c) == nil {
			lived++
		}
	}
	fmt.Println(lived)
	return nil
}

// ask sends one request on a connection that is kept, and keeps no buffer for it.
func ask(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	return again(c, bufio.NewReader(c))
}
