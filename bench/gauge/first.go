package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// first starts a command, waits for its first good answer and ends it. It prints the
// time from the exec to that answer, in milliseconds.
func first(address, host, path string, command []string) error {
	c := exec.Command(command[0], command[1:]...)
	c.Stderr = os.Stderr
	began := time.Now()
	if err := c.Start(); err != nil {
		return err
	}
	err := waitEvery(time.Millisecond/2, address, host, path)
	took := time.Since(began)
	_ = c.Process.Signal(syscall.SIGTERM)
	_ = c.Wait() // it says how the command was ended: by us
	if err != nil {
		return err
	}
	fmt.Printf("%.1f\n", float64(took.Microseconds())/1000)
	return nil
}
