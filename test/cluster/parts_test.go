//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNamesOfLeftovers: what may be removed is recognised by the number of its
// process, and only when that process is no more.
func TestNamesOfLeftovers(t *testing.T) {
	for _, c := range []struct {
		intent string
		name   string
		want   bool
	}{
		{"of a process that cannot exist", "ramjet-999999999-1", true},
		{"of a process that lives: this one's parent", "ramjet-1-1", false},
		{"somebody else's", "blue", false},
		{"somebody else's with a number", "blue-999999999-1", false},
		{"no number", "ramjet-x-1", false},
	} {
		if got := orphan(namespaceName, c.name); got != c.want {
			t.Errorf("%s: %q: %v", c.intent, c.name, got)
		}
	}
}

// TestSweepRemovesFoldersOfTheDead and no others.
func TestSweepRemovesFoldersOfTheDead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dead := filepath.Join(os.TempDir(), "ramjet-cluster-999999999-x")
	living := filepath.Join(os.TempDir(), FolderPattern()+"x")
	for _, dir := range []string{dead, living} {
		if err := os.MkdirAll(filepath.Join(dir, "etcd"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(); err != nil {
		t.Fatal(err)
	}
	if exists(dead) || !exists(living) {
		t.Errorf("dead there: %v, living there: %v", exists(dead), exists(living))
	}
}

// TestBuildKeyFollowsTheSource: a changed go.sum is another build.
func TestBuildKeyFollowsTheSource(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module x\nrequire (\n\tk8s.io/kubernetes v1.2.3\n)\n")
	write("go.sum", "a")
	write("main.go", "package main")
	version, first, err := buildKey(dir)
	if err != nil || version != "v1.2.3" || !strings.HasPrefix(first, "v1.2.3-") {
		t.Fatalf("%q, %q, %v", version, first, err)
	}
	write("go.sum", "b")
	if _, second, err := buildKey(dir); err != nil || second == first {
		t.Errorf("%q, %v", second, err)
	}
}

// TestOneBuilds: the second waits for the first, and says so.
func TestOneBuilds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), file, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lock(ctx, file, &said); !errors.Is(err, context.Canceled) || said.Len() == 0 {
		t.Errorf("the second: %v, it said %q", err, &said)
	}
	unlock()
	again, err := lock(t.Context(), file, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// TestProxy passes bytes, and then does each thing that it is there for.
func TestProxy(t *testing.T) {
	p, err := NewProxy(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()

	c := reach(t, p)
	if err := says(c, "hello"); err != nil {
		t.Fatalf("passing: %v", err)
	}
	if n := p.Sent(); n != int64(len("hello")) {
		t.Errorf("%d bytes went to the client", n)
	}

	p.Delay(50 * time.Millisecond)
	begun := time.Now()
	if err := says(c, "slow"); err != nil || time.Since(begun) < 100*time.Millisecond {
		t.Errorf("delayed by 50 ms each way: %v after %s", err, time.Since(begun))
	}
	p.Delay(0)

	p.Freeze()
	if _, err := c.Write([]byte("frozen")); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a byte through a frozen proxy: %v", err)
	}
	p.Thaw()
	answer := make([]byte, len("frozen"))
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "frozen" {
		t.Errorf("after the thaw: %q, %v", answer, err)
	}

	p.Reset()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset: %v", err)
	}
	if err := says(reach(t, p), "anew"); err != nil {
		t.Errorf("a connection after the reset: %v", err)
	}

	p.Cut()
	if _, err := net.Dial("tcp", p.Address()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("cut: %v", err)
	}
	if err := p.Open(); err != nil {
		t.Fatal(err)
	}
	if err := says(reach(t, p), "again"); err != nil {
		t.Errorf("a connection after the cut: %v", err)
	}
}

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

func reach(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func says(c net.Conn, word string) error {
	if _, err := c.Write([]byte(word)); err != nil {
		return err
	}
	answer := make([]byte, len(word))
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if string(answer) != word {
		return errors.New("not what was sent: " + string(answer))
	}
	return nil
}
