package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const tempMark = ".tmp-"

var tempName = regexp.MustCompile(`^\..+\.tmp-[0-9a-f]{16}(-old)?$`)

// IsTemp reports whether a base name is a name from TempName, and so belongs to an unfinished file of Write or folder of
// WriteDir. If no writer is active, a killed writer has left it behind.
func IsTemp(name string) bool { return tempName.MatchString(name) }

// TempName returns a new name beside path for which IsTemp is true. It creates nothing.
func TempName(path string) string {
	name := fmt.Sprintf(".%s%s%016x", filepath.Base(path), tempMark, rand.Uint64())
	return filepath.Join(filepath.Dir(path), name)
}

// Clean removes what killed writers have left in folders. No writer may be active there. Folders that do not exist are clean.
func Clean(dirs ...string) error {
	var err error
	for _, dir := range dirs {
		err = errors.Join(err, clean(dir, "."))
	}
	return err
}

// CleanFile removes what killed writers of one file or folder have left beside it. No writer of it may be active.
func CleanFile(path string) error {
	real, _, err := follow(path)
	if err != nil {
		return nil // Write says what is wrong with the path
	}
	return clean(filepath.Dir(real), "."+filepath.Base(real)+tempMark)
}

// clean removes temporary files and folders whose names have a prefix.
func clean(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if (e.IsDir() || e.Type().IsRegular()) && IsTemp(e.Name()) && strings.HasPrefix(e.Name(), prefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("remove what a killed writer left: %w", err)
	}
	return nil
}

// createTemp creates the temporary file that will be renamed to the target.
func createTemp(to *target, perm fs.FileMode) (*os.File, error) {
	if to.old != nil {
		perm = to.old.Mode().Perm()
	}
	for {
		f, err := os.OpenFile(TempName(to.path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil || to.old == nil {
			return f, err
		}
		keepOwner(f, to.old)
		if err := f.Chmod(perm); err != nil { // the umask may have taken some
			return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
		return f, nil
	}
}

// mkdirTemp is like os.MkdirTemp, but with the default permissions under the umask, because the folder will be renamed and kept.
func mkdirTemp(path string) (string, error) {
	for {
		tmp := TempName(path)
		err := os.Mkdir(tmp, 0o777)
		if !errors.Is(err, fs.ErrExist) {
			return tmp, err
		}
	}
}
