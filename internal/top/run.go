package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// ErrFault is the end of a cockpit that panicked.
var ErrFault = errors.New("ended by a fault of its own; the terminal is as it was, and no daemon was changed by that: please report what is written above")

// Run shows a model on a terminal until somebody quits or ctx is done. The terminal
// is given back as it was, also after a panic, which is ErrFault. Another error is that
// of a terminal that cannot be used. environ
// ("NAME=value") says what the terminal can do. Keys are read from in; nil is the
// controlling terminal of the process.
func Run(ctx context.Context, m *Model, in io.Reader, out io.Writer, environ []string) error {
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithOutput(out), tea.WithEnvironment(environ)}
	if in != nil {
		options = append(options, tea.WithInput(in))
	}
	if colourless(environ) {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	_, err := tea.NewProgram(m, options...).Run()
	if ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		err = nil // somebody ended it
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tea.ErrProgramPanic):
		return ErrFault
	}
	return fmt.Errorf("use the terminal: %w", err)
}

// colourless reports whether there are to be no colours: NO_COLOR is set to anything
// but nothing (https://no-color.org), or the terminal is called dumb. Bold and faint
// are no colours.
func colourless(environ []string) bool {
	return slices.ContainsFunc(environ, func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return name == "NO_COLOR" && value != "" || name == "TERM" && value == "dumb"
	})
}
