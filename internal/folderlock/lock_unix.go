//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package folderlock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks an open file without waiting; held reports that somebody else has the lock.
func lock(f *os.File) (held bool, err error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return true, nil
		case errors.Is(err, errors.ErrUnsupported):
			return false, nil // some network file systems have no locks
		}
		return false, err
	}
}
