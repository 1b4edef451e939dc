//go:build linux

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Everything that outlives a process which was killed bears its number in its
// name: folders ramjet-cluster-PID-…, network namespaces ramjet-PID-…. Programs
// need no such name: they die with their parent.
var (
	folderName    = regexp.MustCompile(`^ramjet-cluster-(\d+)-`)
	namespaceName = regexp.MustCompile(`^ramjet-(\d+)-`)
)

// FolderPattern is for os.MkdirTemp: a folder of this name is removed by Sweep once
// this process is no more.
func FolderPattern() string { return fmt.Sprintf("ramjet-cluster-%d-", os.Getpid()) }

// Sweep removes what killed processes left behind. It is called whenever
// something new is started.
func Sweep() error {
	var errs []error
	folders, err := os.ReadDir(os.TempDir())
	errs = append(errs, err)
	for _, f := range folders {
		if orphan(folderName, f.Name()) {
			errs = append(errs, os.RemoveAll(filepath.Join(os.TempDir(), f.Name())))
		}
	}
	if os.Geteuid() == 0 && HasNetworks() == nil {
		errs = append(errs, sweepNamespaces())
	}
	return errors.Join(errs...)
}

func sweepNamespaces() error {
	list, err := ip("netns", "list")
	if err != nil {
		return err
	}
	var errs []error
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if orphan(namespaceName, name) {
			if _, err := ip("netns", "delete", name); err != nil && exists(namespacePath(name)) {
				errs = append(errs, err) // and not because somebody else was faster
			}
		}
	}
	return errors.Join(errs...)
}

// orphan reports whether a name bears the number of a process that is no more.
func orphan(pattern *regexp.Regexp, name string) bool {
	m := pattern.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	pid, err := strconv.Atoi(m[1])
	return err == nil && !exists(filepath.Join("/proc", strconv.Itoa(pid)))
}

// ip runs ip(8).
func ip(args ...string) (string, error) {
	var out, fault bytes.Buffer
	cmd := exec.Command("ip", args...)
	cmd.Stdout, cmd.Stderr = &out, &fault
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(fault.Bytes()))
	}
	return out.String(), nil
}
