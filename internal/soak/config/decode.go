package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ramjet.dev/ingress/internal/strictyaml"
)

// decoder turns the document into a Config.
type decoder struct {
	strictyaml.Reader
	dir string // of the file
	out Config
}

func (d *decoder) config(root *yaml.Node) {
	o, ok := d.Object(root, "a config", "", "stateDir", "baseline", "command", "dir", "env", "ports", "outputDir",
		"readiness", "restart", "overlap", "stopGrace", "window", "maxRestarts")
	if !ok {
		return
	}
	d.out.file, d.out.lines = d.File, make(map[string]int)
	for _, key := range []string{"stateDir", "command", "dir", "outputDir"} {
		d.out.lines[key] = o.At(key)
	}
	d.out.StateDir = d.stateDir(o)
	d.out.Baseline = o.Required("baseline", "name the release that serves as long as no other was deployed")
	if d.out.Baseline != "" {
		if err := CheckVersion(d.out.Baseline); err != nil {
			o.Report(o.At("baseline"), "baseline: %v", err)
		}
	}
	d.release(o)
	d.out.Window = o.Duration("window", time.Millisecond, longest, 30*time.Second)
	d.readiness(o)
	d.restart(o)
	d.out.Overlap = o.Duration("overlap", 0, time.Hour, time.Second)
	d.out.StopGrace = o.Duration("stopGrace", 0, longest, 10*time.Second)
	d.out.MaxRestarts = o.Number("maxRestarts", 0, maxRestarts, 2)
}

// maxSocketPath is the longest path that a Unix socket may have (sun_path of
// unix(7), less the zero at its end).
const maxSocketPath = 107

// SocketName is the file in the state folder that a supervisor listens on.
const SocketName = "soak.sock"

func (d *decoder) stateDir(o strictyaml.Object) string {
	given := o.Required("stateDir", "name a folder for the ledger; it is made if need be")
	if given == "" {
		return ""
	}
	dir := d.absolute(given)
	if n := len(filepath.Join(dir, SocketName)); n > maxSocketPath {
		o.Report(o.At("stateDir"), "stateDir is too long: the socket in it has a path of %d bytes, and at most %d are possible; this one is %q", n, maxSocketPath, dir)
	}
	return dir
}

// absolute takes paths as relative to the file.
func (d *decoder) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(d.dir, path)
}

// release reads how a release is started.
func (d *decoder) release(o strictyaml.Object) {
	d.out.Dir = d.absolute(o.Text("dir"))
	d.out.Command = d.command(o, "command", "write the program and its arguments as a list")
	if strings.Contains(d.out.Dir, "{port}") {
		o.Report(o.At("dir"), "dir has {port} in it: only {version} has a meaning there")
	}
	misspelt(o, o.At("dir"), "dir", d.out.Dir)
	for _, p := range o.Pairs("env") {
		if p.Key == "" || strings.ContainsAny(p.Key, "=\x00") || strings.ContainsRune(p.Text, 0) {
			o.Report(p.Line, "env: %q is no name of a variable, or its value has a zero byte", p.Key)
			continue
		}
		misspelt(o, p.Line, "env", p.Text)
		d.out.Env = append(d.out.Env, p.Key+"="+p.Text)
	}
	if out := o.Text("outputDir"); out != "" {
		d.out.OutputDir = d.absolute(out)
	}
	faults := d.Faults()
	from, to, ok := o.NumberRange("ports", 1, 65535)
	switch {
	case !ok && d.Faults() == faults && !o.Meant("ports"):
		o.Report(o.At("ports"), "ports is missing: give a range such as 8081-8082; the release that serves and the next one overlap on two of them")
	case ok && to == from:
		o.Report(o.At("ports"), "ports has one port: give a range of two at least, a candidate is started while the release before it serves")
	case ok && to-from >= maxPorts:
		o.Report(o.At("ports"), "ports has %d ports: give at most %d", to-from+1, maxPorts)
	case ok:
		for port := from; port <= to; port++ {
			d.out.Ports = append(d.out.Ports, port)
		}
	}
}

// command reads a list that begins with a program. A path is relative to dir, where
// the program is started, so that each release may bring its own.
func (d *decoder) command(o strictyaml.Object, key, advice string) []string {
	faults := d.Faults()
	words := o.Texts(key)
	if d.Faults() > faults || o.Meant(key) {
		return nil
	}
	if len(words) == 0 || words[0] == "" {
		o.Report(o.At(key), "%s%s is missing: %s", o.Prefix, key, advice)
		return nil
	}
	for _, w := range words {
		if strings.ContainsRune(w, 0) {
			o.Report(o.At(key), "%s%s has a zero byte in %q", o.Prefix, key, w)
		}
		misspelt(o, o.At(key), o.Prefix+key, w)
	}
	if !filepath.IsAbs(words[0]) && strings.Contains(words[0], "/") {
		words[0] = filepath.Join(d.out.Dir, words[0])
	}
	return words
}

func (d *decoder) readiness(o strictyaml.Object) {
	node, given := o.Values["readiness"]
	if !given {
		if !o.Meant("readiness") {
			o.Report(o.At("readiness"), "readiness is missing: say how to find out that a release is ready, for example readiness: {http: /healthz}")
		}
		return
	}
	in, ok := d.Object(node, "readiness", "readiness.", "http", "tcp", "command", "interval", "timeout", "deadline")
	if !ok {
		return
	}
	r := &d.out.Readiness
	r.HTTPPath = in.Text("http")
	faults := d.Faults()
	r.TCP = in.Flag("tcp")
	readable := d.Faults() == faults
	ways := 0
	for _, way := range []string{"http", "tcp", "command"} {
		if _, given := in.Values[way]; given || in.Meant(way) {
			ways++
		}
	}
	if _, given := in.Values["command"]; given {
		r.Command = d.command(in, "command", "write the program and its arguments as a list")
		d.out.lines["readiness.command"] = in.At("command")
	}
	if _, given := in.Values["http"]; given && !strings.HasPrefix(r.HTTPPath, "/") && r.HTTPPath != "" {
		in.Report(in.At("http"), "readiness.http is %q: write a path that begins with /; it is asked for on the port of the release", r.HTTPPath)
	}
	if _, given := in.Values["tcp"]; given && readable && !r.TCP {
		in.Report(in.At("tcp"), "readiness.tcp is not true: leave it out, and give http or command")
	}
	if ways != 1 {
		in.Report(in.Line, "readiness has %d of http, tcp and command: give one of them", ways)
	}
	r.Interval = in.Duration("interval", time.Millisecond, time.Hour, 500*time.Millisecond)
	r.Timeout = in.Duration("timeout", time.Millisecond, time.Hour, 2*time.Second)
	r.Deadline = in.Duration("deadline", time.Millisecond, longest, usualDeadline(d.out.Window))
	d.out.lines["readiness.deadline"] = in.At("deadline")
}

// usualDeadline leaves room in the window for an exit after it: what hangs as it is started
// again counts only when it is late. Starting takes some seconds, however short the window.
func usualDeadline(window time.Duration) time.Duration {
	return min(max(window/2, 5*time.Second), 30*time.Second)
}

func (d *decoder) restart(o strictyaml.Object) {
	r := &d.out.Restart
	*r = Restart{Backoff: 250 * time.Millisecond, Max: 30 * time.Second}
	node, given := o.Values["restart"]
	if !given {
		return
	}
	in, ok := d.Object(node, "restart", "restart.", "backoff", "max")
	if !ok {
		return
	}
	r.Backoff = in.Duration("backoff", time.Millisecond, time.Hour, r.Backoff)
	r.Max = in.Duration("max", time.Millisecond, 24*time.Hour, max(r.Max, r.Backoff))
	if r.Max < r.Backoff {
		in.Report(in.At("max"), "restart.max is shorter than restart.backoff: the first pause is the shortest")
	}
}

func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
