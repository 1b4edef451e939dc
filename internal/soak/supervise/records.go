package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"ramjet.dev/ingress/internal/soak/decide"
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

// found is a process of a predecessor, as decide and process need it.
type found struct {
	decide.Record
	id process.Identity
}

// search finds what is left of the processes of a predecessor: those of its records,
// and those that bear the mark of the state folder and are in no record.
func search(r records, stateDir, bootID string) []found {
	var all []found
	known := make(map[int]bool) // lines
	for _, p := range r.Processes {
		known[p.Line] = true
		reboot := r.BootID != bootID
		all = append(all, found{id: p.Identity, Record: decide.Record{
			Line: p.Line, Version: p.Version, Port: p.Port, StartedMS: p.StartedMS, Ready: p.Ready, Stopping: p.Stopping,
			Reboot: reboot, Alive: !reboot && process.Alive(p.Identity),
		}})
	}
	for _, o := range process.Orphans(stateDir) {
		if !known[o.Line] {
			known[o.Line] = true
			all = append(all, found{id: o.Identity, Record: decide.Record{Line: o.Line, Version: o.Version, Port: o.Port, Alive: true}})
		}
	}
	return all
}
