// Package folderlock prevents two processes from writing into one folder, or one file. The operating system keeps the lock and
// releases it when the process ends, however it ends, so nothing has to be cleaned up after a kill.
package folderlock

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// Name is the file in a folder that is locked. The file exists while a process has the lock. After a kill it stays until the next
// release.
const Name = ".lock"

// heldError reports that a process has the lock of a folder or file already.
type heldError struct {
	Path, Kind string
	By         string // the process and its computer, "" if not known
}

func (e *heldError) Error() string {
	by := e.By
	if by == "" {
		by = "another process"
	}
	return fmt.Sprintf("%s is in use by %s: wait for it to end, or choose another %s", e.Path, by, e.Kind)
}

// Held reports whether an error of Acquire, perhaps wrapped, says that a process has the lock already.
func Held(err error) bool { return errors.As(err, new(*heldError)) }

// Acquire locks a folder, which must exist, until the caller calls release or the process ends. If any process has the lock
// already, even this one, Held reports true of the error. If the operating or file system has no locks, Acquire locks nothing and
// succeeds.
func Acquire(dir string) (release func(), err error) {
	return acquire(filepath.Join(dir, Name), heldError{Path: dir, Kind: "folder"})
}

// AcquireFile is Acquire for a file, which need not exist, in a folder that does. The file that is locked is beside it: writers
// may replace the file itself. Links to one file have one lock. Pipes and devices have none: nobody replaces them.
func AcquireFile(path string) (release func(), err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return func() {}, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if real, err = filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			real = filepath.Join(real, filepath.Base(path))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	return acquire(filepath.Join(filepath.Dir(real), "."+filepath.Base(real)+Name), heldError{Path: path, Kind: "file"})
}

// acquire locks the file of that path. The error says what is held if it is locked already.
func acquire(path string, what heldError) (release func(), err error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", what.Kind, err)
		}
		held, err := lock(f)
		switch {
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		case held:
			what.By = holder(f)
			f.Close()
			return nil, &what
		case !current(f, path): // the last owner removed the file after it was opened here
			f.Close()
			continue
		}
		if err := sign(f); err != nil {
			err = errors.Join(fmt.Errorf("lock %s: %w", path, err), os.Remove(path))
			f.Close()
			return nil, err
		}
		return func() {
			_ = os.Remove(path) // removed while it is locked; a file that stays does no harm
			f.Close()
		}, nil
	}
}

// current reports whether path still leads to the file f.
func current(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// sign writes into the lock file which process has the lock.
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

// holder returns the text that sign wrote, or "" if there is none.
func holder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 300))
	line, _, whole := strings.Cut(string(text), "\n")
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if err != nil || !whole || !strings.HasPrefix(line, "process ") || strings.ContainsFunc(line, odd) {
		return ""
	}
	return line
}
