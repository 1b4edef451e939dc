package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// daemon is a running daemon, whose mirror is of one mode.
type daemon struct {
	cmd         *exec.Cmd
	http, admin string
	log         io.ReadCloser
	ended       chan struct{}
	clients     [workers]client
}

// startDaemon starts one and waits until it serves.
func startDaemon(command []string, dir, mode string, b *backends) (*daemon, error) {
	routes := fmt.Sprintf("backends:\n  - {name: primary, endpoints: [%q]}\n", b.primary)
	mirror := ""
	if at := b.mirror(mode); at != "" {
		routes += fmt.Sprintf("  - {name: shadow, endpoints: [%q]}\n", at)
		mirror = ", mirror: {backend: shadow}"
	}
	routes += "routes:\n  - {path: /, pathType: Prefix, backend: primary" + mirror + "}\n"
	file := filepath.Join(dir, strings.ReplaceAll(mode, ", ", "-")+".yaml")
	if err := os.WriteFile(file, []byte(routes), 0o600); err != nil {
		return nil, err
	}
	args := append(command[1:len(command):len(command)], "--static-routes", file, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--no-https", "--log-format", "json")
	d := &daemon{cmd: exec.Command(command[0], args...), ended: make(chan struct{})}
	var err error
	if d.log, err = d.cmd.StderrPipe(); err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	in := bufio.NewReader(d.log)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			d.ended = nil
			d.stop()
			return nil, fmt.Errorf("the daemon with the mirror %s did not start: %w", mode, err)
		}
		var banner struct{ Msg, HTTP, Admin string }
		if json.Unmarshal([]byte(line), &banner) == nil && banner.Msg == "serving" {
			d.http, d.admin = banner.HTTP, banner.Admin
			break
		}
	}
	go func() {
		defer close(d.ended)
		_, _ = io.Copy(io.Discard, in) // what it logs is of no interest, and must not block it
	}()
	return d, nil
}

func (d *daemon) stop() {
	for i := range d.clients {
		if c := d.clients[i].conn; c != nil {
			c.Close()
		}
	}
	_ = d.cmd.Process.Kill()
	if d.ended != nil {
		<-d.ended
	}
	_ = d.cmd.Wait()
}

// counters are those of the mirror, as "name value" in one line.
func (d *daemon) counters() (string, error) {
	r, err := http.Get("http://" + d.admin + "/metrics")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	var out []string
	for line := range strings.Lines(string(body)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "ramjet_mirror"); ok {
			out = append(out, "mirror"+rest)
		}
	}
	if len(out) == 0 {
		return "", errors.New("the daemon has no counters of mirrors")
	}
	return strings.Join(out, ", "), nil
}
