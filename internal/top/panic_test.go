package top_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"

	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/top"
	"ramjet.dev/ingress/test/terminal"
)

// panicVariable makes this test a cockpit that panics there: in a command, or while a
// message is taken in.
const panicVariable = "RAMJET_TEST_PANIC"

// broken is a source that breaks its promises, and the program down with it.
type broken struct {
	top.Source
	where string
}

func (broken) Target() adminclient.Target { return adminclient.Target{Name: "broken:10254"} }

func (b broken) Read(context.Context) (*adminclient.Reading, error) {
	if b.where == "command" {
		panic("a fault in a command")
	}
	return nil, nil // which Update stumbles over
}

func breakDown(where string) int {
	m := top.New(context.Background(), top.Options{Sources: []top.Source{broken{where: where}}, Interval: time.Second, Clock: newClock()})
	if err := top.Run(context.Background(), m, os.Stdin, os.Stdout, os.Environ()); err != nil {
		fmt.Println("Run says:", err)
		return 1
	}
	return 0
}

// After a panic the terminal is what it was: its first screen, with a cursor, and with
// keys that echo.
func TestTerminalIsRestoredAfterPanic(t *testing.T) {
	for _, where := range []string{"command", "update"} {
		t.Run(where, func(t *testing.T) {
			r := terminal.New(t, 100, 60)
			before, err := term.GetState(r.TTY.Fd())
			if err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self)
			// The library does not wait for its reader when it is ended this way, which
			// the race detector would tell of.
			cmd.Env = append(os.Environ(), panicVariable+"="+where, "TERM=xterm-256color", "GORACE=exitcode=0")
			p := r.Start(cmd)
			if code := p.Exit(); code != 1 {
				t.Errorf("exit status %d, want 1", code)
			}
			r.Wait("Run says: ended by a fault of its own; the terminal is as it was")
			if !r.Restored() {
				t.Error("the cockpit still has the screen")
			}
			after, err := term.GetState(r.TTY.Fd())
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(before, after) {
				t.Errorf("the terminal is in another state: %+v, before %+v", after, before)
			}
		})
	}
}
