//go:build linux

package process

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// reopen goes on with the output of a process that another supervisor started. How that
// writes was settled then: one that was given pipes is read for as long as it lives,
// wherever lines go by now, for it stands still once they are full. With an error what it
// writes is read and thrown away.
func (o Output) reopen(version string, line int) (*stream, error) {
	s := &stream{}
	out, errs := o.pipeNames(line)
	toOut, toErr := sink{o.Stdout, version + " | "}, sink{o.Stderr, version + " | "}
	var failed error
	if o.FilesDir != "" && (there(out) || there(errs)) {
		toOut, toErr, failed = s.filed(o, version)
	}
	for _, err := range []error{s.read(out, toOut), s.read(errs, toErr)} {
		if failed == nil && !errors.Is(err, os.ErrNotExist) { // it writes into files itself
			failed = err
		}
	}
	if failed != nil {
		return s, fmt.Errorf("take over the output of %s: %w", version, failed)
	}
	return s, nil
}

// filed are the files as sinks; with an error, sinks that throw away.
func (s *stream) filed(o Output, version string) (out, errs sink, err error) {
	stdout, stderr, err := o.files(version)
	if err != nil {
		return sink{Writer: io.Discard}, sink{Writer: io.Discard}, err
	}
	s.files = []*os.File{stdout, stderr}
	return sink{Writer: stdout}, sink{Writer: stderr}, nil
}

func there(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
