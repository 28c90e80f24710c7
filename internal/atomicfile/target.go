package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// target is what a path leads to.
type target struct {
	path string                   // without symbolic links
	old  fs.FileInfo              // of the regular file that a rename replaces; nil if there is none
	open func() (*os.File, error) // opens what is no regular file; nil if a rename is to be made
}

// resolve finds what Write is to write to.
func resolve(path string) (*target, error) {
	real, fd, err := follow(path)
	if err != nil {
		return nil, err
	}
	if fd >= 0 {
		return &target{path: real, open: func() (*os.File, error) { return duplicate(fd, path) }}, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &target{path: real}, nil
	}
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return &target{path: real, old: info}, nil
	case mode.IsDir():
		return nil, errors.New("it is a folder, want a file")
	case mode&fs.ModeSocket != 0:
		return nil, errors.New("it is a socket, want a file, a pipe or a device")
	}
	return &target{path: real, open: func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) }}, nil
}

// folder returns the path of the folder that WriteDir is to make or to replace, without symbolic links. With an error it returns
// the path that it was given.
func folder(path string) (string, error) {
	real, _, err := follow(filepath.Clean(path))
	if err != nil {
		return path, err
	}
	info, err := os.Lstat(real)
	switch {
	case err == nil && !info.IsDir():
		return path, errors.New("it is no folder, and is not replaced by one")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return path, err
	}
	return real, nil
}

// maxLinks is how many symbolic links may follow one another, as in Linux.
const maxLinks = 40

// follow returns where a path leads, be there a file or not, or the number of this process's open descriptor that it stands for,
// otherwise -1.
func follow(path string) (real string, fd int, err error) {
	for range maxLinks {
		dir, base := filepath.Split(path)
		if base == "" {
			return "", -1, errors.New("it is the name of a folder, want a file")
		}
		if dir, err = filepath.EvalSymlinks(cmp.Or(dir, ".")); err != nil {
			return "", -1, err
		}
		if fd, ok := descriptor(dir, base); ok {
			return path, fd, nil
		}
		path = filepath.Join(dir, base)
		link, err := os.Readlink(path)
		if err != nil { // it is no link, or nothing is there
			return path, -1, nil
		}
		if path = link; !filepath.IsAbs(link) {
			path = dir + string(filepath.Separator) + link // not cleaned: a folder before .. may be a link
		}
	}
	return "", -1, fmt.Errorf("more than %d symbolic links follow one another", maxLinks)
}

// descriptor returns the number of this process's open descriptor that a name in a folder stands for, such as 1 of /proc/self/fd.
func descriptor(dir, base string) (fd int, ok bool) {
	own := fmt.Sprintf("/proc/%d/", os.Getpid())
	if dir != "/dev/fd" && !(strings.HasPrefix(dir, own) && filepath.Base(dir) == "fd") {
		return -1, false
	}
	fd, err := strconv.Atoi(base)
	return fd, err == nil && fd >= 0
}
