//go:build linux

package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Output says where releases write.
type Output struct {
	// FilesDir takes a file for each version and stream; "" passes on what is written,
	// by Stdout and Stderr, a line at a time with the version in front.
	FilesDir       string
	Stdout, Stderr io.Writer
	// PipesDir is where the pipes are that lines come through. They have names, so that
	// another supervisor can go on reading.
	PipesDir string
}

const (
	// maxLine bounds the lines that are passed on; longer ones are cut in pieces.
	maxLine = 64 << 10
	// pipeBytes is what a release can write while there is no supervisor, before it has
	// to wait (1 MiB is what an ordinary user may ask for, pipe(7)).
	pipeBytes = 1 << 20
	// lastWords is how long the pipes of a process that has gone are read: something
	// that it started may hold them open for ever. Half as long again, whoever does not
	// take what was read is waited for.
	lastWords = time.Second
	// mostWords bounds that, for one that goes on writing.
	mostWords = 10 * lastWords
)

// stream is the output of one process.
type stream struct {
	stdout, stderr *os.File // the ends of the process; closed by started
	readers        []*os.File
	names          []string
	files          []*os.File // that readers write into; closed with them
	pumps          sync.WaitGroup
	passed         atomic.Int64 // pieces that were passed on
}

// open prepares the output of a process that is about to start. With an error, a full
// disk for example, the stream throws away what is written: a release that serves unheard
// is better than one that does not serve.
func (o Output) open(version string, line int) (*stream, error) {
	s := &stream{}
	var err error
	if o.FilesDir != "" {
		s.stdout, s.stderr, err = o.files(version)
	} else {
		err = o.pipes(s, version, line)
	}
	if err != nil {
		s.started()
		s.end()
		return &stream{}, fmt.Errorf("prepare the output of %s: %w", version, err)
	}
	return s, nil
}

// files are those that the process writes into itself: nobody has to be there.
func (o Output) files(version string) (stdout, stderr *os.File, err error) {
	if err := os.MkdirAll(o.FilesDir, 0o755); err != nil {
		return nil, nil, err
	}
	const flags = os.O_WRONLY | os.O_APPEND | os.O_CREATE
	if stdout, err = os.OpenFile(filepath.Join(o.FilesDir, version+".out"), flags, 0o644); err != nil {
		return nil, nil, err
	}
	if stderr, err = os.OpenFile(filepath.Join(o.FilesDir, version+".err"), flags, 0o644); err != nil {
		stdout.Close()
		return nil, nil, err
	}
	return stdout, stderr, nil
}

// pipes passes on what is written.
func (o Output) pipes(s *stream, version string, line int) (err error) {
	if err := os.MkdirAll(o.PipesDir, 0o700); err != nil {
		return err
	}
	out, errs := o.pipeNames(line)
	if s.stdout, err = s.pipe(out, sink{o.Stdout, version + " | "}); err != nil {
		return err
	}
	s.stderr, err = s.pipe(errs, sink{o.Stderr, version + " | "})
	return err
}

func (o Output) pipeNames(line int) (out, errs string) {
	base := filepath.Join(o.PipesDir, strconv.Itoa(line))
	return base + ".out", base + ".err"
}

// pipe makes one and begins to read it. The end of the process is open for reading
// too, so that there is always a reader: writing into it then never fails, and never
// ends the process, when its supervisor has died. It waits once the pipe is full.
func (s *stream) pipe(name string, to sink) (theirs *os.File, err error) {
	_ = os.Remove(name) // of a start that did not come about
	if err := unix.Mkfifo(name, 0o600); err != nil {
		return nil, fmt.Errorf("make the pipe %s: %w", name, err)
	}
	// Not by os.OpenFile, which would make the writes of the process fail, with EAGAIN,
	// where they are to wait. And before it is read: without a writer it is at its end.
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeBytes) // less will do
	theirs = os.NewFile(uintptr(fd), name)
	return theirs, s.read(name, to)
}

// read begins to read a pipe.
func (s *stream) read(name string, to sink) error {
	ours, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	s.names = append(s.names, name)
	s.readers = append(s.readers, ours)
	s.pumps.Go(func() { s.pump(lastReader{ours}, to) })
	return nil
}

// started closes the ends that the process has its own copies of.
func (s *stream) started() {
	for _, f := range []*os.File{s.stdout, s.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

// end waits until everything was passed on, and removes the pipes. A reader of ours
// that has stopped reading, a terminal that is held for example, is not waited for: a
// death has to be noticed all the same.
func (s *stream) end() {
	for _, f := range s.readers {
		_ = f.SetReadDeadline(time.Now().Add(lastWords))
	}
	all := make(chan struct{})
	go func() {
		s.pumps.Wait()
		for _, f := range s.files {
			f.Close()
		}
		close(all)
	}()
	s.await(all)
	for i, f := range s.readers {
		f.Close()
		_ = os.Remove(s.names[i])
	}
}

// await waits for all, or until nothing was passed on for a while.
func (s *stream) await(all <-chan struct{}) {
	look := time.NewTicker(lastWords / 10)
	defer look.Stop()
	before, begun := s.passed.Load(), time.Now()
	for moved := begun; time.Since(moved) < lastWords*3/2 && time.Since(begun) < mostWords; {
		select {
		case <-all:
			return
		case <-look.C:
		}
		if n := s.passed.Load(); n != before {
			before, moved = n, time.Now()
		}
	}
}

// lastReader reads a pipe, past its deadline what is in it at the time: a machine that
// was busy until then must not cost the last words of a process.
type lastReader struct{ *os.File }

func (r lastReader) Read(b []byte) (int, error) {
	n, err := r.File.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	conn, failed := r.SyscallConn()
	if failed != nil {
		return 0, err
	}
	_ = conn.Control(func(fd uintptr) { n, _ = unix.Read(int(fd), b) }) // it does not wait (O_NONBLOCK)
	if n <= 0 {
		return 0, err
	}
	return n, nil
}

// sink is where lines go.
type sink struct {
	io.Writer
	prefix string // of each line; with "" what comes is passed on as it is
}

// pump passes lines on until nobody can write any more.
func (s *stream) pump(from io.Reader, to sink) {
	in := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			if to.prefix != "" && line[len(line)-1] != '\n' {
				line = append(line[:len(line):len(line)], '\n')
			}
			// One write a line, so that lines of several releases do not mix.
			_, _ = fmt.Fprintf(to, "%s%s", to.prefix, line) // there is nobody to tell
			s.passed.Add(1)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// RemovePipes removes the pipes of processes that are gone, those whose line is not
// to be kept.
func RemovePipes(dir string, keep func(line int) bool) {
	names, _ := filepath.Glob(filepath.Join(dir, "*.[oe][ur][tr]"))
	for _, name := range names {
		line, _, _ := strings.Cut(filepath.Base(name), ".")
		if n, err := strconv.Atoi(line); err == nil && !keep(n) {
			_ = os.Remove(name)
		}
	}
}
