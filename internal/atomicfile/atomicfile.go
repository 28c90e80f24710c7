// Package atomicfile replaces files and folders atomically: a reader finds the old content or the new, never a part of it, at any
// moment and after a crash. It is not a lock: if two writers write one path, the later rename wins.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path with the bytes that write produces. It writes them to a temporary file in the same folder,
// fsyncs and renames that file, and then fsyncs the folder. A new file has the permissions perm under the umask; a file that
// replaces another has the permissions of the other, and its owner where the process may set that. If write fails, Write returns
// its error and path keeps its content.
//
// Write follows symbolic links, also to a file that does not exist yet, and leaves them in place. It renames nothing onto a
// device, a pipe or an open descriptor such as /dev/stdout: it writes the bytes into them as write produces them, so that what
// was written before an error remains. It refuses folders and sockets.
func Write(path string, perm fs.FileMode, write func(io.Writer) error) error {
	to, err := resolve(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if to.open != nil {
		return writeThrough(path, to, write)
	}
	f, err := createTemp(to, perm)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	err = errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), to.path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return syncPath(filepath.Dir(to.path))
}

// writeThrough writes to what is no regular file.
func writeThrough(path string, to *target, write func(io.Writer) error) error {
	f, err := to.open()
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
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
// If fill fails, path keeps its content. WriteDir follows symbolic links and leaves them in place. It replaces nothing but
// folders.
func WriteDir(path string, fill func(dir string) error) error {
	path, err := folder(path)
	if err != nil {
		return fmt.Errorf("write folder %s: %w", path, err)
	}
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
	if err := syncPath(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.RemoveAll(tmp); err != nil { // after an exchange this is the replaced folder
		return fmt.Errorf("remove replaced folder: %w", err)
	}
	return nil
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
