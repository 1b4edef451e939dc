//go:build linux

package supervise

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/control"
)

// load reads a config whose releases are at home in releases/VERSION; there is one, v1.
func load(t *testing.T, more string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "releases", "v1")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "serve"), []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "soak.yaml")
	text := "stateDir: state\nports: 81-82\nbaseline: v1\n" + more + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStartable: what is not there is named with the line of the config that wants it.
func TestStartable(t *testing.T) {
	const probe = "\nreadiness: {tcp: true}"
	for _, c := range []struct{ more, version, want string }{
		{"dir: releases/{version}\ncommand: [./serve]" + probe, "v1", ""},
		{"command: [sh, -c, exit]" + probe, "v1", ""},
		{"dir: releases/{version}\ncommand: [./serve]" + probe, "v2", "soak.yaml:4: dir: HOME/releases/v2: no such file or directory"},
		{"command: ['releases/{version}/serve']" + probe, "v2", "soak.yaml:4: command: HOME/releases/v2/serve: no such file or directory"},
		{"command: [releases/v1/notes]" + probe, "v1", "soak.yaml:4: command: HOME/releases/v1/notes: permission denied"},
		{"dir: releases/v1/notes\ncommand: [sh]" + probe, "v1", "soak.yaml:4: dir: HOME/releases/v1/notes: not a directory"},
		{"command: ['no-such-{version}']" + probe, "v1", "soak.yaml:4: command: no-such-v1: executable file not found in $PATH"},
		{"command: [sh]\nreadiness:\n  interval: 1s\n  command: [no-such]", "v1", "soak.yaml:7: readiness.command: no-such: executable file not found in $PATH"},
	} {
		s := load(t, c.more)
		home := filepath.Dir(s.StateDir)
		got := ""
		if err := startable(s, c.version); err != nil {
			got = strings.ReplaceAll(err.Error(), home, "HOME")
		}
		if got = strings.TrimPrefix(got, "HOME/"); got != c.want {
			t.Errorf("%s: %s\ngot  %q\nwant %q", c.version, c.more, got, c.want)
		}
	}
}

// TestNothingToStart: a service whose first release is not there does not begin, and a
// deploy of another that is not there is refused; neither is in the ledger.
func TestNothingToStart(t *testing.T) {
	c := load(t, "dir: releases/{version}\ncommand: [./serve]\nreadiness: {command: ['true']}")
	c.Baseline = "v2"
	if err := Run(context.Background(), options(c)); err == nil || !strings.Contains(err.Error(), "soak.yaml:4: dir: ") {
		t.Errorf("it began: %v", err)
	}
	c.Baseline = "v1"
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, options(c)) }()
	r, err := askPatiently(c, control.Request{Do: control.DoDeploy, Version: "v2"}, func(control.Reply) {})
	if err != nil || r.OK || !strings.Contains(r.Message, "v2 is not deployed: ") || !strings.Contains(r.Message, "soak.yaml:4: dir: ") {
		t.Errorf("%+v, %v", r, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(c.StateDir, LedgerName))
	if err != nil || strings.Contains(string(text), "v2") {
		t.Errorf("%v, the ledger:\n%s", err, text)
	}
}
