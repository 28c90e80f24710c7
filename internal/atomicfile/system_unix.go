//go:build unix

package atomicfile

import (
	"io/fs"
	"os"
	"syscall"
)

// duplicate opens an open descriptor again, so that closing it leaves the first open. It shares the first one's position, which
// opening a file by such a name does not.
func duplicate(fd int, name string) (*os.File, error) {
	syscall.ForkLock.RLock() // no child process may begin between the two calls
	defer syscall.ForkLock.RUnlock()
	again, err := syscall.Dup(fd)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	syscall.CloseOnExec(again)
	return os.NewFile(uintptr(again), name), nil
}

// keepOwner gives a file the owner of another one if the process may: only root may give files away.
func keepOwner(f *os.File, old fs.FileInfo) {
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}
