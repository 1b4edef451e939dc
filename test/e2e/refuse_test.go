//go:build e2e

package e2e

import (
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramjet.dev/ingress/test/daemon"
)

var update = flag.Bool("update", false, "write what the daemon says now into the cases; read the difference before it is committed")

// TestRefused starts the daemon with things that cannot be. Each case is a file in
// testdata/refused: a sentence of intent, then the lines
//
//	args: …       the arguments, separated by spaces
//	env: …        a variable, any number of such lines
//	-- name --    a file, up to the next such line
//	-- stderr --  what the daemon has to say, to the byte
//
// Beside the files there are web-cert.pem with web-key.pem, other-cert.pem with
// other-key.pem, and {free} and {taken} stand for two addresses, of which the
// second is in use.
func TestRefused(t *testing.T) {
	files, err := filepath.Glob("testdata/refused/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			refusal(t, file)
		})
	}
}

func refusal(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	input, want, ok := strings.Cut(string(text), "-- stderr --\n")
	if !ok {
		t.Fatal("the case does not say what stderr has to be")
	}
	free, taken := unused(t), listen(t)
	places := strings.NewReplacer("{free}", free, "{taken}", taken.Addr().String())
	back := strings.NewReplacer(free, "{free}", taken.Addr().String(), "{taken}")

	dir := t.TempDir()
	daemon.Pair(t, dir, "web", "shop.test")
	daemon.Pair(t, dir, "other", "other.test")
	s := daemon.Setup{Dir: dir}
	var name string
	files := make(map[string]string)
	for line := range strings.Lines(input) {
		bare := strings.TrimSuffix(line, "\n")
		switch inner, isName := strings.CutPrefix(bare, "-- "); {
		case isName:
			name = strings.TrimSuffix(inner, " --")
			files[name] = ""
		case name != "":
			files[name] += line
		case strings.HasPrefix(bare, "args: "):
			s.Args = strings.Fields(places.Replace(bare[len("args: "):]))
		case strings.HasPrefix(bare, "env: "):
			s.Env = append(s.Env, places.Replace(bare[len("env: "):]))
		}
	}
	for name, text := range files {
		daemon.Write(t, dir, name, text)
	}

	c := daemon.Start(t, s)
	code := c.Exit()
	got := back.Replace(c.Log.String())
	if *update && got != want {
		if err := os.WriteFile(file, []byte(input+"-- stderr --\n"+got), 0o644); err != nil {
			t.Fatal(err)
		}
		want = got
	}
	if got != want {
		t.Errorf("it says:\n%s\nwant:\n%s", got, want)
	}
	if code != 2 {
		t.Errorf("exit status %d, want 2", code)
	}
	if out := c.Out.String(); out != "" {
		t.Errorf("something was printed as if it had started: %q", out)
	}
	l, err := net.Listen("tcp", free)
	if err != nil {
		t.Fatalf("a port is still bound: %v", err)
	}
	l.Close()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// unused is an address where one can listen and nobody does. Its port is held by a
// connection that was accepted there: it hinders nobody who names the port, and
// keeps it from all who ask for any free one.
func unused(t *testing.T) string {
	t.Helper()
	l := listen(t)
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	l.Close()
	return near.LocalAddr().String()
}
