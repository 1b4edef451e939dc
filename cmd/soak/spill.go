package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"ramjet.dev/ingress/internal/probation"
)

// inMemory is how much of a ledger is held in memory, in bytes.
const inMemory = 1 << 20

// spill holds a ledger back until it may be printed. What is too much for memory
// goes to a temporary file whose name is removed at once, so that nothing is left of
// it however the process ends. The zero value is ready; it belongs to one goroutine.
type spill struct {
	memory []byte // the last lines
	file   *os.File
	failed error // what went wrong in here, and not with the plan
}

// add appends an entry as a line.
func (s *spill) add(e probation.Entry) error {
	s.memory = append(e.AppendJSON(s.memory), '\n')
	if len(s.memory) < inMemory {
		return nil
	}
	if err := s.flush(); err != nil {
		s.failed = fmt.Errorf("hold the ledger back until the plan is read: %w: give TMPDIR a place with room", err)
	}
	return s.failed
}

// flush moves what is in memory to the file.
func (s *spill) flush() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "soak-ledger-")
		if err != nil {
			return err
		}
		s.file = f
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
	}
	_, err := s.file.Write(s.memory)
	s.memory = s.memory[:0]
	return err
}

// copyTo prints the ledger.
func (s *spill) copyTo(out io.Writer) error {
	var whole io.Reader = bytes.NewReader(s.memory)
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			s.failed = fmt.Errorf("read the ledger back: %w", err)
			return s.failed
		}
		whole = io.MultiReader(s.file, whole)
	}
	if _, err := io.Copy(out, whole); err != nil {
		s.failed = fmt.Errorf("print the ledger: %w", err)
	}
	return s.failed
}

// close gives the file back.
func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
	}
}
