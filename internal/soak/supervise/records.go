//go:build linux

package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"ramjet.dev/ingress/internal/soak/process"
)

// records is the file that tells a successor which processes there are. It is written
// after a process was started: one whose supervisor died in between is found by its
// environment. It need not survive a power cut, which no process survives.
type records struct {
	BootID    string   `json:"boot_id"`
	Processes []record `json:"processes"`
}

// record is one process.
type record struct {
	process.Identity
	Line      int    `json:"line"`
	Version   string `json:"version"`
	Port      int    `json:"port"`
	StartedMS uint64 `json:"started_ms"`
	Ready     bool   `json:"ready"`
	Stopping  bool   `json:"stopping"`
}

// save replaces the file as a whole.
func (r records) save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	next := path + ".next"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write down which processes there are: %w", err)
	}
	return os.Rename(next, path)
}

// loadRecords reads the file; none is an empty one.
func loadRecords(path string) (r records, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return records{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}
