// Package config reads the file that tells soak which service it supervises: how a
// release of it is started, when it is ready, how long it is on probation.
//
// Guarantees: a file is taken as a whole or not at all, with every fault at once and
// its line; what it returns is complete, with defaults filled in and paths made
// absolute, so that nobody behind it has to think about what is missing.
//
// It never knows whether a service runs, and looks at nothing but the file: a
// command that does not exist is found out by starting it.
package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/strictyaml"
)

// Errors is all faults of a file, sorted by line. It is never empty.
type Errors = strictyaml.Errors

// Config is what a file says.
type Config struct {
	// StateDir has the ledger and what a supervisor needs to find its processes
	// again. Absolute.
	StateDir string
	// Baseline is the release that serves as long as the ledger is empty.
	Baseline string

	// Command starts a release, program first: a path that is absolute, or a name to be
	// looked for in PATH. {port} and {version} stand in it.
	Command []string
	// Dir is where it is started, absolute; {version} may stand in it.
	Dir string
	// Env are variables beside those of the supervisor, NAME=value, with {port} and
	// {version}.
	Env []string
	// Ports are those that releases may listen on, at least two.
	Ports []int
	// OutputDir takes what releases write, one file for each version and stream;
	// "" passes it on with a prefix. Absolute.
	OutputDir string

	Readiness Readiness
	Restart   Restart
	// Overlap is how long the release before serves on once the next one is ready.
	Overlap time.Duration
	// StopGrace is how long a release has between SIGTERM and SIGKILL.
	StopGrace time.Duration

	// Window is the soak window and MaxRestarts its budget.
	Window      time.Duration
	MaxRestarts int

	file  string
	lines map[string]int // of keys, "readiness.command" and so on
}

// Where is the place of a key, "soak.yaml:7: command", for what is wrong with what it
// leads to. A key that was left out has that of the file's beginning.
func (c *Config) Where(key string) string { return fmt.Sprintf("%s:%d: %s", c.file, c.lines[key], key) }

// Doubt says what a config allows that its writer can hardly want, in one line; "" if there
// is nothing.
func (c *Config) Doubt() string {
	if c.Readiness.Deadline < c.Window {
		return ""
	}
	return fmt.Sprintf("%s is %s, not shorter than the window of %s: a candidate that dies and hangs when it is started again is confirmed before that counts",
		c.Where("readiness.deadline"), strictyaml.Short(c.Readiness.Deadline), strictyaml.Short(c.Window))
}

// Readiness says when a release that was started is ready. One of HTTPPath, TCP and
// Command is set.
type Readiness struct {
	// HTTPPath is asked for on the release's port; a status from 200 to 399 is ready.
	HTTPPath string
	// TCP is ready once the release's port takes a connection.
	TCP bool
	// Command is ready once it exits with status 0; {port} and {version} stand in it.
	Command []string

	// Interval is the pause between two tries, Timeout the longest that one takes.
	Interval, Timeout time.Duration
	// Deadline is how long after its start a release has to be ready: half the window if
	// the file does not say, from 5 s to 30 s.
	Deadline time.Duration
}

// Restart is the pause before a release that died is started again: Backoff after
// the first death, twice as long after each further one, at most Max. A release that
// lived longer than Max begins anew.
type Restart struct{ Backoff, Max time.Duration }

const (
	maxFileBytes = 1 << 20
	longest      = 720 * time.Hour
	// maxRestarts is where a budget can only be a slip of the keyboard.
	maxRestarts = 1000
	// maxPorts bounds the range: more ports than this are not needed for two or
	// three releases side by side.
	maxPorts = 1000
)

// Load reads the file at path. The error is an Errors.
func Load(path string) (*Config, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, Errors{{File: path, Message: err.Error()}}
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFileBytes {
		return nil, Errors{{File: path, Message: fmt.Sprintf("it is larger than %d KiB: that is no config of soak", maxFileBytes>>10)}}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, Errors{{File: path, Message: fmt.Sprintf("the config cannot be read: %v", withoutPath(err))}}
	}
	return parse(path, filepath.Dir(absolute), data)
}

// parse reads the text of a file that stands in dir.
func parse(name, dir string, data []byte) (*Config, error) {
	d := decoder{Reader: strictyaml.Reader{File: name}, dir: dir}
	if root := d.Document(data, "a config", "give it at least stateDir, baseline, command, ports and readiness, see examples/soak/soak.yaml"); root != nil {
		d.config(root)
	}
	if errs := d.Sorted(); len(errs) > 0 {
		return nil, errs
	}
	return &d.out, nil
}

// Expand puts a version and a port in the place of {version} and {port}.
func Expand(text, version string, port int) string {
	return strings.NewReplacer("{version}", version, "{port}", strconv.Itoa(port)).Replace(text)
}

// ExpandAll is Expand for each of a list.
func ExpandAll(texts []string, version string, port int) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = Expand(text, version, port)
	}
	return all
}

// maxVersion bounds the name of a release, in bytes: it becomes part of a file name.
const maxVersion = 100

// CheckVersion says why a text cannot name a release: the name goes into commands and
// paths, so it holds letters, digits and ._+- only, and begins with a letter or digit.
func CheckVersion(version string) error {
	switch {
	case version == "":
		return fmt.Errorf("a release has a name, this one is empty")
	case len(version) > maxVersion:
		return fmt.Errorf("the name of a release has at most %d bytes, this one has %d", maxVersion, len(version))
	}
	for i, c := range version {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._+-", c)) {
			return fmt.Errorf("%q cannot name a release: write letters, digits and . _ + - only, a letter or digit first", version)
		}
	}
	return nil
}

// Address is where a release on a port is probed.
func Address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
