//go:build linux

package supervise

import (
	"fmt"
	"os"
	"path/filepath"
)

// makeDir makes the state folder and sees to it that it survives a power cut: each folder
// that it had to make is an entry in the one above, which has to be on the disk.
func makeDir(dir string) error {
	above := changed(dir)
	err := os.MkdirAll(dir, 0o700)
	for _, d := range above {
		if err == nil {
			err = syncDir(d)
		}
	}
	if err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	return nil
}

// changed are the folders that get an entry when a folder is made, the outermost first: the
// one that it is in, and where that has to be made, those above up to one that is there.
func changed(dir string) (all []string) {
	for {
		above := filepath.Dir(dir)
		all = append([]string{above}, all...)
		if exists(above) || above == dir {
			return all
		}
		dir = above
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // nothing was written through it
	return d.Sync()
}
