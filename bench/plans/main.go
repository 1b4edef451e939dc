// Command plans measures soak apply and soak report on long plans: events a second,
// and the most memory that the process had. It fails when that is more than promised.
//
//	go run ./bench/plans [-events 10000000] bin/soak
//
// The plans are written to a temporary folder first, some 400 MB at ten million
// events, and so is the ledger, by soak itself.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// promised is how much memory soak may have, in KiB, however long the plan is.
const promised = 32 << 10

func main() {
	events := flag.Int("events", 10_000_000, "how many events a plan has")
	flag.Parse()
	if flag.NArg() != 1 || *events < 1 {
		fmt.Fprintln(os.Stderr, "usage: plans [-events N] SOAK")
		os.Exit(2)
	}
	if err := measure(flag.Arg(0), *events); err != nil {
		fmt.Fprintln(os.Stderr, "plans:", err)
		os.Exit(1)
	}
}

// kinds of plans: what an event after the first two is. Of a deploy in the mix half of
// the candidates break their budget.
var kinds = []struct {
	name  string
	event func(b []byte, i int) []byte
}{
	{"mixed: a deploy in 16 events, the rest ticks and exits", mixed},
	{"storm: every event has a line in the ledger", storm},
}

func measure(soak string, events int) (err error) {
	dir, err := os.MkdirTemp("", "soak-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, k := range kinds {
		path := filepath.Join(dir, "plan")
		if err := write(path, events, k.event); err != nil {
			return err
		}
		fmt.Printf("%s, %d events\n", k.name, events)
		for _, command := range []string{"apply", "report"} {
			if err := once(soak, command, path, dir, events); err != nil {
				return err
			}
		}
	}
	return nil
}

// once runs soak over the plan, its output thrown away.
func once(soak, command, path, dir string, events int) error {
	cmd := exec.Command(soak, command, path)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	took := time.Since(begun)
	// The child's number is at least this process's own, which is small.
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	fmt.Printf("  %-6s  %5.2f s  %5.2f million events/s  %5.1f s of CPU  %5.1f MiB at most\n", command, took.Seconds(),
		float64(events)/took.Seconds()/1e6, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), float64(peak)/1024)
	if peak > promised {
		return fmt.Errorf("%s had %d KiB of memory, %d are promised", command, peak, promised)
	}
	return nil
}

// write writes a plan.
func write(path string, events int, event func([]byte, int) []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for i := range events {
		line = event(line[:0], i)
		w.Write(line)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// mixed is a deploy every 16 events, with three exits at once for every second one.
func mixed(b []byte, i int) []byte {
	deploy := i / 16
	switch n := i % 16; {
	case i == 0:
		return line(b, i, "serving", 0)
	case n == 1:
		return line(b, i, "promoted", deploy+1)
	case n == 3 || n == 5 || n == 7 && deploy%2 == 0:
		return line(b, i, "exited", deploy+1)
	}
	return line(b, i, "tick", deploy+1)
}

// storm is exits of a release that is confirmed.
func storm(b []byte, i int) []byte {
	switch i {
	case 0:
		return line(b, 0, "serving", 0)
	case 1:
		return line(b, 0, "promoted", 1)
	}
	return line(b, 100+i, "exited", 1)
}

// line appends an event. Twelve of them in a row are a window apart.
func line(b []byte, i int, event string, version int) []byte {
	b = strconv.AppendInt(append(b, `{"ts":`...), int64(i)*2500, 10)
	b = append(append(b, `,"event":"`...), event...)
	b = strconv.AppendInt(append(b, `","version":"v`...), int64(version), 10)
	return append(b, "\"}\n"...)
}
