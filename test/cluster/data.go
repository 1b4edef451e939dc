//go:build linux

package cluster

import (
	"errors"
	"os"
	"path/filepath"
)

// SaveData copies what etcd has, as a backup does. LoadData puts a copy back. Kill
// etcd before either.
func (c *Cluster) SaveData(name string) error {
	return os.CopyFS(c.copyOf(name), os.DirFS(c.dataDir()))
}

// LoadData replaces what etcd has by a copy that SaveData made; the name "" is
// nothing at all. An API server that ran meanwhile has to be started anew too: it
// remembers what is no more.
func (c *Cluster) LoadData(name string) error {
	err := os.RemoveAll(c.dataDir())
	if name != "" {
		err = errors.Join(err, os.CopyFS(c.dataDir(), os.DirFS(c.copyOf(name))))
	}
	return err
}

func (c *Cluster) dataDir() string { return filepath.Join(c.dir, "etcd") }

func (c *Cluster) copyOf(name string) string { return filepath.Join(c.dir, "copy-"+name) }
