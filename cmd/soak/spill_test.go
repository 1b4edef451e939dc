package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// exits is a plan of n exits after a window that closed, each of which has a line in
// the ledger. It is made as it is read.
type exits struct {
	n, i int
	rest []byte
}

func (p *exits) Read(b []byte) (int, error) {
	for len(p.rest) < len(b) && p.i < p.n {
		if p.i == 0 {
			p.rest = append(p.rest, `{"ts":0,"event":"promoted","version":"v2"}`+"\n"...)
		}
		p.i++
		p.rest = strconv.AppendInt(append(p.rest, `{"ts":`...), int64(30_000+p.i), 10)
		p.rest = append(p.rest, `,"event":"exited","version":"v2"}`+"\n"...)
	}
	n := copy(b, p.rest)
	p.rest = p.rest[:copy(p.rest, p.rest[n:])]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// lineCounter is a standard output that only counts.
type lineCounter struct{ lines, bytes int }

func (c *lineCounter) Write(b []byte) (int, error) {
	c.lines += bytes.Count(b, []byte("\n"))
	c.bytes += len(b)
	return len(b), nil
}

// TestLedgerLargerThanMemory: a ledger that does not fit into memory is printed whole,
// leaves nothing behind, and memory does not grow with it.
func TestLedgerLargerThanMemory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const n = 300_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var out lineCounter
	var stderr bytes.Buffer
	status := run([]string{"apply", "-"}, streams{in: &exits{n: n}, out: &out, err: &stderr})
	runtime.ReadMemStats(&after)
	if status != exitOK || stderr.Len() > 0 || out.lines != n+1 {
		t.Fatalf("status %d, %d lines, %s", status, out.lines, &stderr)
	}
	if out.bytes < 10*inMemory {
		t.Fatalf("%d bytes prove nothing", out.bytes)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 24<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestSpilledOrderAndSilence: lines from the file come before those in memory, and a
// wrong line at the end prints none of them.
func TestSpilledOrderAndSilence(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	plan, err := io.ReadAll(&exits{n: 40_000})
	if err != nil {
		t.Fatal(err)
	}
	status, stdout, _ := call(string(plan), "apply", "-")
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if status != exitOK || len(lines) != 40_001 || len(stdout) < 2*inMemory {
		t.Fatalf("status %d, %d lines, %d bytes", status, len(lines), len(stdout))
	}
	for i, line := range lines[1:] {
		if want := `{"event":"restarted_post_soak","ts":` + strconv.Itoa(30_001+i) + `,"version":"v2"}`; line != want {
			t.Fatalf("line %d: %s, want %s", i+2, line, want)
		}
	}
	status, stdout, stderr := call(string(plan)+"!", "apply", "-")
	if status != exitRefused || stdout != "" || stderr != "soak: -:40002: column 1: '!' where an object is expected\n" {
		t.Errorf("status %d, %d bytes, %s", status, len(stdout), stderr)
	}
}

// TestNoPlaceForTheLedger: that is no fault of the plan.
func TestNoPlaceForTheLedger(t *testing.T) {
	t.Setenv("TMPDIR", "/dev/null/none")
	var out lineCounter
	var stderr bytes.Buffer
	status := run([]string{"apply", "-"}, streams{in: &exits{n: 40_000}, out: &out, err: &stderr})
	if status != exitFailed || out.bytes > 0 || !strings.HasSuffix(stderr.String(), "not a directory: give TMPDIR a place with room\n") {
		t.Errorf("status %d, %d bytes, %s", status, out.bytes, &stderr)
	}
}

// brokenPipe is a standard output that takes nothing.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputThatTakesNothing(t *testing.T) {
	for _, args := range [][]string{{"apply", "-"}, {"report", "-"}, {"--help"}} {
		var stderr bytes.Buffer
		status := run(args, streams{in: strings.NewReader(storm), out: brokenPipe{}, err: &stderr})
		if status != exitFailed || !strings.HasSuffix(stderr.String(), "no space left on device\n") {
			t.Errorf("%q: status %d, %s", args, status, &stderr)
		}
	}
}
