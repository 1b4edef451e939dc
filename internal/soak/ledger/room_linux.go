package ledger

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// setAside takes bytes of the disk for f, from at on, and does not change its length.
func setAside(f *os.File, at, bytes int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, at, bytes)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}
