// Package terminal gives a test a real pseudo-terminal with somebody in front of it:
// what a program writes goes through a terminal emulator and is read as the text of a
// screen, and keys are typed.
//
// It waits for screens, never for time. Nothing here knows the program.
package terminal

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// Patience bounds every wait for something that must happen. No test passes by
// waiting this long.
const Patience = time.Minute

// Terminal is a pseudo-terminal with its screen. Its methods may be used by several
// goroutines.
type Terminal struct {
	// TTY is the side of the program.
	TTY *os.File

	t    testing.TB
	user *os.File // the other side

	mu     sync.Mutex
	screen *vt.Emulator
	raw    strings.Builder
	grown  chan struct{} // closed and replaced at each change
}

// New opens a terminal of a size. It is closed at the end of the test.
func New(t testing.TB, width, height int) *Terminal {
	t.Helper()
	user, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	term := &Terminal{TTY: tty, t: t, user: user, screen: vt.NewEmulator(width, height), grown: make(chan struct{})}
	term.Resize(width, height)
	var pumps sync.WaitGroup
	pumps.Go(term.show)
	pumps.Go(term.reply)
	t.Cleanup(func() {
		_ = tty.Close() // a started program may have closed it
		user.Close()
		_ = term.screen.InputPipe().(io.Closer).Close()
		pumps.Wait()
	})
	return term
}

// show takes what the program writes to the screen, to its end.
func (term *Terminal) show() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := term.user.Read(buffer)
		term.mu.Lock()
		_, _ = term.screen.Write(buffer[:n]) // it takes everything
		term.raw.Write(buffer[:n])
		close(term.grown)
		term.grown = make(chan struct{})
		term.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// reply sends what a terminal answers to questions of the program.
func (term *Terminal) reply() { _, _ = io.Copy(term.user, term.screen) }

// Start runs a program with this as its controlling terminal, its standard output, and
// its standard input and error where the command has none. The program is killed at the
// end of the test.
func (term *Terminal) Start(cmd *exec.Cmd) *Program {
	term.t.Helper()
	cmd.Stdout = term.TTY
	if cmd.Stdin == nil {
		cmd.Stdin = term.TTY
	}
	if cmd.Stderr == nil {
		cmd.Stderr = term.TTY
	}
	controlling(cmd)
	if err := cmd.Start(); err != nil {
		term.t.Fatal(err)
	}
	p := &Program{t: term.t, Cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // ProcessState has the status
		close(p.exited)
	}()
	term.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone already
		<-p.exited
	})
	return p
}

// Program is a program on a terminal.
type Program struct {
	*exec.Cmd
	t      testing.TB
	exited chan struct{}
}

// Exit waits for the end of the program and returns its status, -1 for one that a
// signal ended.
func (p *Program) Exit() int {
	p.t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case <-p.exited:
		return p.ProcessState.ExitCode()
	case <-late.C:
		p.t.Fatal("the program did not end")
		return -1
	}
}

// Resize changes the size of the terminal and tells the program.
func (term *Terminal) Resize(width, height int) {
	term.t.Helper()
	term.mu.Lock()
	term.screen.Resize(width, height)
	term.mu.Unlock()
	if err := pty.Setsize(term.user, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		term.t.Fatal(err)
	}
}

// Type sends keys as a keyboard does: "j", "\r", "\x1b[B".
func (term *Terminal) Type(keys string) {
	term.t.Helper()
	if _, err := io.WriteString(term.user, keys); err != nil {
		term.t.Fatal(err)
	}
}

// Screen is the text that is visible now, each line without the spaces at its end.
func (term *Terminal) Screen() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	var b strings.Builder
	for y := range term.screen.Height() {
		line := ""
		for x := 0; x < term.screen.Width(); x++ {
			if c := term.screen.CellAt(x, y); c != nil {
				line += c.Content
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Raw is everything that was written, escape sequences included.
func (term *Terminal) Raw() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.raw.String()
}

// Restored reports whether a program has given the terminal back: the first screen
// shows, with its cursor.
func (term *Terminal) Restored() bool {
	term.mu.Lock()
	defer term.mu.Unlock()
	return !term.screen.IsAltScreen() && !term.screen.CursorHidden()
}

// Wait returns the first screen with all of these texts in it.
func (term *Terminal) Wait(texts ...string) string {
	term.t.Helper()
	return term.WaitFor(strings.Join(texts, " and "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// WaitFor returns the first screen of which ok is true. Another text that must be
// waited for is named by what.
func (term *Terminal) WaitFor(what string, ok func(screen string) bool) string {
	term.t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		term.mu.Lock()
		grown := term.grown
		term.mu.Unlock()
		if screen := term.Screen(); ok(screen) {
			return screen
		}
		select {
		case <-grown:
		case <-late.C:
			term.t.Fatalf("the screen never showed %s, at last:\n%s", what, term.Screen())
		}
	}
}
