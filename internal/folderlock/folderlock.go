// Package folderlock keeps two runs from writing into one folder. The operating system holds the lock, so it ends with the
// process, however that ends; nothing has to be cleaned up after a kill.
package folderlock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// name is the file in a folder that is locked. It is there while somebody holds the lock, and after a kill until the next one.
const name = ".lock"

// heldError says that somebody else holds the lock of a folder.
type heldError struct {
	Dir string
	By  string // the process and its computer, "" if they are not known
}

func (e *heldError) Error() string {
	by := e.By
	if by == "" {
		by = "another process"
	}
	return fmt.Sprintf("%s is in use by %s: wait for it to end, or choose another folder", e.Dir, by)
}

// Acquire locks a folder, which must exist, until release is called or the process ends. If it is locked, by this process too,
// the error is a heldError. Where the system or the file system has no locks, it locks nothing.
func Acquire(dir string) (release func(), err error) {
	path := filepath.Join(dir, name)
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, fmt.Errorf("lock folder: %w", err)
		}
		held, err := lock(f)
		switch {
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		case held:
			by := holder(f)
			f.Close()
			return nil, &heldError{dir, by}
		case !current(f, path): // its last owner took it away between the two steps
			f.Close()
			continue
		}
		if err := sign(f); err != nil {
			err = errors.Join(fmt.Errorf("lock %s: %w", path, err), os.Remove(path))
			f.Close()
			return nil, err
		}
		return func() {
			_ = os.Remove(path) // while it is locked; a file that stays does no harm
			f.Close()
		}, nil
	}
}

// current reports whether path still names the file.
func current(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// sign says who holds the lock.
func sign(f *os.File) error {
	text := fmt.Sprintf("process %d", os.Getpid())
	if host, err := os.Hostname(); err == nil {
		text += " on " + host
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(text+"\n"), 0)
	return err
}

// holder reads what sign wrote.
func holder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 300))
	line, _, whole := strings.Cut(string(text), "\n")
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if err != nil || !whole || !strings.HasPrefix(line, "process ") || strings.ContainsFunc(line, odd) {
		return ""
	}
	return line
}
