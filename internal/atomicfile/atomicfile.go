// Package atomicfile puts files and folders in place whole or not at all: whoever looks, at any moment and after a crash,
// finds the old content or the new, never a part. It is not a lock: of two writers of one path the later rename wins.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// Write replaces the file at path with what write produces. The bytes go to a temporary file in the same folder, which is
// fsynced and renamed, and then the folder is fsynced. perm applies before the umask. When write fails, its error is
// returned and path keeps its content. A symbolic link at path is replaced, not followed.
func Write(path string, perm fs.FileMode, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithPermissions(perm))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Cleanup())
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), f.Cleanup())
	}
	return syncPath(dir)
}

// WriteBytes is Write for bytes at hand.
func WriteBytes(path string, perm fs.FileMode, b []byte) error {
	return Write(path, perm, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WriteDir replaces the folder at path with one that fill populates. fill gets an empty temporary folder beside path; every
// file in it is fsynced before the rename. A folder already at path is exchanged in one step where the system can (Linux),
// else moved aside first, and then removed with all that it holds. When fill fails, path keeps its content.
func WriteDir(path string, fill func(dir string) error) error {
	path = filepath.Clean(path)
	parent := filepath.Dir(path)
	tmp, err := mkdirTemp(path)
	if err != nil {
		return fmt.Errorf("write folder %s: %w", path, err)
	}
	if err := fill(tmp); err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	err = syncTree(tmp)
	if err == nil {
		err = replaceDir(tmp, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write folder %s: %w", path, err), os.RemoveAll(tmp))
	}
	if err := syncPath(parent); err != nil {
		return err
	}
	if err := os.RemoveAll(tmp); err != nil { // the replaced folder, after an exchange
		return fmt.Errorf("remove replaced folder: %w", err)
	}
	return nil
}

const tempMark = ".tmp-"

// IsTemp reports whether name, a base name, is one of TempName's: of a folder which WriteDir had begun. When no writer is at
// work, one that was killed has left it.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, tempMark)
}

// TempName returns a fresh name beside path for which IsTemp holds. Nothing is created.
func TempName(path string) string {
	name := fmt.Sprintf(".%s%s%016x", filepath.Base(path), tempMark, rand.Uint64())
	return filepath.Join(filepath.Dir(path), name)
}

// mkdirTemp is os.MkdirTemp with permissions that the umask decides, since the folder will be renamed to stay.
func mkdirTemp(path string) (string, error) {
	for {
		tmp := TempName(path)
		err := os.Mkdir(tmp, 0o777)
		if !errors.Is(err, fs.ErrExist) {
			return tmp, err
		}
	}
}

// replaceDir renames tmp to path. If a folder was at path, it is at tmp afterwards.
func replaceDir(tmp, path string) error {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Rename(tmp, path)
	}
	if err != nil {
		return err
	}
	if err := exchange(tmp, path); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return moveAside(tmp, path)
}

// moveAside swaps tmp and path in three renames. A kill between the first two leaves nothing at path and the old folder
// beside it under its temporary name.
func moveAside(tmp, path string) error {
	aside := tmp + "-old"
	if err := os.Rename(path, aside); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(err, os.Rename(aside, path))
	}
	return os.Rename(aside, tmp)
}

// syncTree fsyncs every file and folder under root.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || d.Type().IsRegular() {
			return syncPath(path)
		}
		return nil
	})
}

// syncPath fsyncs the folder, or file, at path.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
