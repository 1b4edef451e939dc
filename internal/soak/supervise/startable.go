//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"ramjet.dev/ingress/internal/soak/config"
)

// startable says why a release cannot be started at all: its folder, its program, or
// the one that asks whether it is ready is not there. The error names the line of the
// config that says so.
func startable(c *config.Config, version string) error {
	if err := folder(config.Expand(c.Dir, version, c.Ports[0])); err != nil {
		return fmt.Errorf("%s: %w", c.Where("dir"), err)
	}
	if err := program(config.Expand(c.Command[0], version, c.Ports[0])); err != nil {
		return fmt.Errorf("%s: %w", c.Where("command"), err)
	}
	if len(c.Readiness.Command) == 0 {
		return nil
	}
	if err := program(config.Expand(c.Readiness.Command[0], version, c.Ports[0])); err != nil {
		return fmt.Errorf("%s: %w", c.Where("readiness.command"), err)
	}
	return nil
}

// program reports what is wrong with a program.
func program(name string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	return nil
}

// folder reports what is wrong with a folder.
func folder(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	return nil
}

// cause leaves out the name, which is said already.
func cause(err error) error {
	var program *exec.Error
	if errors.As(err, &program) {
		err = program.Err
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err
}
