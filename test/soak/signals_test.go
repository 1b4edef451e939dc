//go:build e2e

package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSignalsAreNotInherited: a release finds its signals as if a person had started it.
// That the supervisor itself does not die of a broken pipe must not be handed down: in
// a shell, yes | head would never end.
func TestSignalsAreNotInherited(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	config, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	const start = `exec "$@"`
	changed := strings.Replace(string(config), start, "grep SigIgn /proc/self/status >signals; "+start, 1)
	if err := os.WriteFile(s.config, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run()
	s.serves("v1")
	said, err := os.ReadFile(filepath.Join(s.dir, "signals"))
	if err != nil {
		t.Fatal(err)
	}
	var ignored uint64
	if _, err := fmt.Sscanf(string(said), "SigIgn: %x", &ignored); err != nil {
		t.Fatalf("%q: %v", said, err)
	}
	if ignored&(1<<(syscall.SIGPIPE-1)) != 0 {
		t.Errorf("a release ignores SIGPIPE: %s", said)
	}
}
