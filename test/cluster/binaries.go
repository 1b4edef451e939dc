//go:build linux

package cluster

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"syscall"
	"time"
)

// programs are the names that the one program of the module binaries answers to.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"}

// sourceFiles say what the programs are made of: when one changes, they are built
// anew.
var sourceFiles = []string{"go.mod", "go.sum", "main.go"}

// versionLine finds the version of Kubernetes in a go.mod.
var versionLine = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\S+)`)

// Binaries returns the folder with etcd, kube-apiserver, kube-controller-manager
// and kubectl. Where it does not exist, they are built into the tree's .cache,
// which takes ten minutes on two cores; progress gets a line now and then. Of
// several that ask at once, in one process or in many, one builds and the others
// wait for it.
func Binaries(ctx context.Context, progress io.Writer) (dir string, err error) {
	root, err := treeRoot()
	if err != nil {
		return "", err
	}
	source := filepath.Join(root, "test", "cluster", "binaries")
	version, key, err := buildKey(source)
	if err != nil {
		return "", fmt.Errorf("find out which control plane to build: %w", err)
	}
	cache := filepath.Join(root, ".cache", "cluster")
	dir = filepath.Join(cache, key)
	if exists(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("make the cache of the control plane: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(cache, "lock"), progress)
	if err != nil {
		return "", fmt.Errorf("wait for another build of the control plane: %w", err)
	}
	defer unlock()
	if exists(dir) {
		return dir, nil
	}
	if err := build(ctx, source, dir, version, progress); err != nil {
		return "", fmt.Errorf("build the control plane of %s: %w", source, err)
	}
	return dir, nil
}

// buildKey names a build: the version for people, the hash for the rest.
func buildKey(source string) (version, key string, err error) {
	sum := sha256.New()
	for _, name := range sourceFiles {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		if m := versionLine.FindSubmatch(text); m != nil && version == "" {
			version = string(m[1])
		}
	}
	if version == "" {
		return "", "", errors.New("no version of k8s.io/kubernetes in go.mod")
	}
	return version, version + "-" + hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

// build makes dir appear whole or not at all.
func build(ctx context.Context, source, dir, version string, progress io.Writer) error {
	unfinished := dir + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	fmt.Fprintf(progress, "building etcd and Kubernetes %s from source, once, for the tests: about ten minutes on two cores\n", version)
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-trimpath",
		"-ldflags", "-s -w -X k8s.io/component-base/version.gitVersion="+version,
		"-o", filepath.Join(unfinished, "binaries"), ".")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if err := watchBuild(cmd, progress); err != nil {
		return err
	}
	for _, name := range programs {
		if err := os.Symlink("binaries", filepath.Join(unfinished, name)); err != nil {
			return err
		}
	}
	return os.Rename(unfinished, dir)
}

// watchBuild runs a go build -v and says how far it is. What is no name of a
// package is an error message and belongs into the error.
func watchBuild(cmd *exec.Cmd, progress io.Writer) error {
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var packages atomic.Int64
	done := make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		tick := time.NewTicker(20 * time.Second)
		defer tick.Stop()
		for begun := time.Now(); ; {
			select {
			case <-done:
				return
			case now := <-tick.C:
				fmt.Fprintf(progress, "  %s: %d packages\n", now.Sub(begun).Round(time.Second), packages.Load())
			}
		}
	}()
	var said []byte
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if packageName.Match(lines.Bytes()) {
			packages.Add(1)
			continue
		}
		said = append(append(said, lines.Bytes()...), '\n')
	}
	err = cmd.Wait()
	close(done)
	<-told
	if err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return nil
}

// packageName is what go build -v prints: an import path and nothing else.
var packageName = regexp.MustCompile(`^[\w.~/-]+$`)

// lock takes a lock on a file that ends with the process. It says once when it
// has to wait.
func lock(ctx context.Context, name string, progress io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for waiting := false; ; waiting = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, err
		}
		if !waiting {
			fmt.Fprintln(progress, "another process is building the control plane: waiting for it")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		}
	}
}

// treeRoot is the nearest folder above the current one with a go.mod.
func treeRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for !exists(filepath.Join(dir, "go.mod")) {
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("run this inside the source tree: there is no go.mod here or above")
		}
		dir = up
	}
	return dir, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
