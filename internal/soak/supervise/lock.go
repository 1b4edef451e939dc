//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockPatience is how long the lock of a state folder is asked for. It outlives its
// supervisor by the moment that a process needs which was being started then: until
// that has begun to run its program it holds a copy.
const lockPatience = 2 * time.Second

// lock takes the lock of a state folder. Whoever has it is the only supervisor there;
// the system takes it back when the process ends, however that comes about.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the state folder: %w", err)
	}
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if errors.Is(err, unix.EWOULDBLOCK) && time.Since(start) < lockPatience {
			continue
		}
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another supervisor%s has the state folder: one at a time; see soak status", holder(f))
		}
		return nil, fmt.Errorf("lock the state folder: %w", err)
	}
	// Who it is, for the message above. On a full disk it stays unsaid.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// holder is who wrote into a lock, in words.
func holder(f *os.File) string {
	text := make([]byte, 20)
	n, _ := f.ReadAt(text, 0)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n]))); err == nil {
		return fmt.Sprintf(" (process %d)", pid)
	}
	return ""
}
