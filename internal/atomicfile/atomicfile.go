// Package atomicfile replaces files and folders atomically: a reader finds the old content or the new, never a part of it, at any
// moment and after a crash. It is not a lock: if two writers write one path, the later rename wins.
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

// Write replaces the file at path with the bytes that write produces. It writes them to a temporary file in the same folder,
// fsyncs and renames that file, and then fsyncs the folder. The umask applies to perm. If write fails, Write returns its error
// and path keeps its content. Write replaces a symbolic link at path and does not follow it.
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

// WriteBytes is Write for a slice of bytes.
func WriteBytes(path string, perm fs.FileMode, b []byte) error {
	return Write(path, perm, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WriteDir replaces the folder at path with one that fill populates. It calls fill with an empty temporary folder beside path,
// and fsyncs every file in it before the rename. If a folder exists at path, WriteDir exchanges the two in one step where the
// system supports that (Linux), and otherwise moves the old folder aside first. Then it removes the old folder with its content.
// If fill fails, path keeps its content.
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
	if err := os.RemoveAll(tmp); err != nil { // after an exchange this is the replaced folder
		return fmt.Errorf("remove replaced folder: %w", err)
	}
	return nil
}

const tempMark = ".tmp-"

// IsTemp reports whether a base name is a name from TempName, and so belongs to an unfinished folder of WriteDir. If no writer is
// active, a killed writer has left the folder behind.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, tempMark)
}

// TempName returns a new name beside path for which IsTemp is true. It creates nothing.
func TempName(path string) string {
	name := fmt.Sprintf(".%s%s%016x", filepath.Base(path), tempMark, rand.Uint64())
	return filepath.Join(filepath.Dir(path), name)
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

// replaceDir renames tmp to path. A folder that was at path is at tmp afterwards.
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

// moveAside swaps tmp and path in three renames. If the process is killed between the first two, there is nothing at path, and
// the old folder is beside it under its temporary name.
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

// syncPath fsyncs the file or folder at path.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
