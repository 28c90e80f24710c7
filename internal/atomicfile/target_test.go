//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clustergym/clustergym/internal/must"
)

// TestLinksAreFollowed checks that Write changes the file that a link leads to, be it there or not, and keeps the link.
func TestLinksAreFollowed(t *testing.T) {
	for _, c := range []struct {
		name, old string // what the file contains before, "" if it does not exist
		links     map[string]string
	}{
		{"relative", "old", map[string]string{"link": "real/f"}},
		{"absolute", "old", map[string]string{"link": "/real/f"}},
		{"a chain", "old", map[string]string{"link": "real/next", "real/next": "../last", "last": "real/f"}},
		{"into a folder by a link", "old", map[string]string{"link": "aside/f", "aside": "real"}},
		{"up from a folder that is a link", "old", map[string]string{"link": "aside/../f", "aside": "real/deep"}},
		{"to no file yet", "", map[string]string{"link": "real/f"}},
		{"a chain to no file yet", "", map[string]string{"link": "/real/next", "real/next": "./f"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			must.Do(t, os.MkdirAll(filepath.Join(dir, "real", "deep"), 0o700))
			for name, to := range c.links {
				if strings.HasPrefix(to, "/") {
					to = dir + to
				}
				must.Do(t, os.Symlink(to, filepath.Join(dir, name)))
			}
			real := filepath.Join(dir, "real", "f")
			if c.old != "" {
				must.Do(t, os.WriteFile(real, []byte(c.old), 0o600))
			}
			before := names(t, dir)
			must.Do(t, WriteBytes(filepath.Join(dir, "link"), 0o644, []byte("new")))
			info, err := os.Lstat(real)
			if err != nil || !info.Mode().IsRegular() || read(t, real) != "new" {
				t.Errorf("the file: %v, %v, contains %q", info, err, read(t, real))
			}
			if c.old == "" {
				before = append(before, "real/f")
				slices.Sort(before)
			}
			if after := names(t, dir); !slices.Equal(after, before) {
				t.Errorf("there are %q, want %q", after, before)
			}
			for name := range c.links {
				if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode().Type() != fs.ModeSymlink {
					t.Errorf("link %s is %v, %v", name, info, err)
				}
			}
		})
	}
}

// TestWhatCannotBeWritten checks that Write says what it refuses, and changes nothing.
func TestWhatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, os.Mkdir(at("folder"), 0o700))
	must.Do(t, os.Symlink("folder", at("to-folder")))
	must.Do(t, os.Symlink("loop", at("loop")))
	must.Do(t, os.Symlink("gone/f", at("to-missing-folder")))
	t.Chdir(dir) // the path of a socket must be short
	socket, err := net.Listen("unix", "socket")
	must.Do(t, err)
	defer socket.Close()
	before := names(t, dir)
	for name, want := range map[string]string{
		"folder":            "it is a folder, want a file",
		"to-folder":         "it is a folder, want a file",
		"folder/":           "it is the name of a folder, want a file",
		"new/":              "it is the name of a folder, want a file",
		".":                 "it is a folder, want a file",
		"socket":            "it is a socket, want a file, a pipe or a device",
		"loop":              "symbolic links",
		"to-missing-folder": "no such file",
		"/dev/fd/999":       "bad file descriptor",
	} {
		path := name
		if !filepath.IsAbs(name) {
			path = dir + "/" + name // not cleaned
		}
		err := WriteBytes(path, 0o644, []byte("new"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "write "+path+": ") {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if after := names(t, dir); !slices.Equal(after, before) {
		t.Errorf("there are %q, want %q", after, before)
	}
}

// TestPipesAreWrittenThrough checks that a named pipe stays one, and that a reader gets the bytes, also by way of a link.
func TestPipesAreWrittenThrough(t *testing.T) {
	for _, name := range []string{"pipe", "link"} {
		dir := t.TempDir()
		pipe := filepath.Join(dir, "pipe")
		must.Do(t, syscall.Mkfifo(pipe, 0o600))
		must.Do(t, os.Symlink("pipe", filepath.Join(dir, "link")))
		got := make(chan string, 1)
		go func() {
			text, err := os.ReadFile(pipe)
			got <- fmt.Sprintf("%s, %v", text, err)
		}()
		must.Do(t, WriteBytes(filepath.Join(dir, name), 0o644, []byte("new")))
		if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
			t.Fatalf("%s: the pipe is now %v, %v", name, info.Mode(), err)
		}
		select {
		case text := <-got:
			if text != "new, <nil>" {
				t.Errorf("%s: the reader got %s", name, text)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the reader waits", name)
		}
		if after := names(t, dir); !slices.Equal(after, []string{"link", "pipe"}) {
			t.Errorf("%s: there are %q", name, after)
		}
	}
}

// TestDevicesAreWrittenThrough checks that a device stays one. It makes devices of its own, which only root may.
func TestDevicesAreWrittenThrough(t *testing.T) {
	const null, full = 3, 7 // minor numbers of memory devices of Linux
	for _, c := range []struct {
		name  string
		minor uint32
		want  error
	}{
		{"takes all", null, nil},
		{"is full", full, syscall.ENOSPC},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			device := filepath.Join(dir, "device")
			err := unix.Mknod(device, unix.S_IFCHR|0o600, int(unix.Mkdev(1, c.minor)))
			var f *os.File
			if err == nil {
				f, err = os.OpenFile(device, os.O_WRONLY, 0)
			}
			if err != nil {
				t.Skip("no device can be made here:", err)
			}
			f.Close()
			must.Do(t, os.Symlink("device", filepath.Join(dir, "link")))
			for _, name := range []string{"device", "link"} {
				if err := WriteBytes(filepath.Join(dir, name), 0o644, []byte("new")); !errors.Is(err, c.want) {
					t.Errorf("%s: %v, want %v", name, err, c.want)
				}
				if err := WriteDir(filepath.Join(dir, name), func(string) error { return nil }); err == nil {
					t.Errorf("%s was replaced by a folder", name)
				}
				if info, err := os.Lstat(device); err != nil || info.Mode().Type() != fs.ModeDevice|fs.ModeCharDevice {
					t.Fatalf("%s: the device is now %v, %v", name, info, err)
				}
			}
		})
	}
}

// TestOpenDescriptors checks that names such as /dev/stdout write into the open file, where it stands, and do not replace it.
func TestOpenDescriptors(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "f"))
	must.Do(t, err)
	defer f.Close()
	must.Do(t, os.Symlink(fmt.Sprintf("/dev/fd/%d", f.Fd()), filepath.Join(dir, "link")))
	_, err = f.WriteString("before ")
	must.Do(t, err)
	for _, path := range []string{fmt.Sprintf("/dev/fd/%d", f.Fd()), filepath.Join(dir, "link")} {
		must.Do(t, WriteBytes(path, 0o644, []byte("new ")))
	}
	_, err = f.WriteString("after")
	must.Do(t, err)
	if got := read(t, f.Name()); got != "before new new after" {
		t.Errorf("the file contains %q", got)
	}
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	must.Do(t, WriteBytes(fmt.Sprintf("/dev/fd/%d", w.Fd()), 0o644, []byte("new")))
	must.Do(t, w.Close())
	if text, err := io.ReadAll(r); err != nil || string(text) != "new" {
		t.Errorf("the pipe's reader got %q, %v", text, err)
	}
}

// TestPermissionsAreKept checks that a replaced file keeps its permissions, whatever the umask, and that a new one has those that
// were asked for.
func TestPermissionsAreKept(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	for _, c := range []struct{ has, asked, want fs.FileMode }{
		{0, 0o666, 0o640},
		{0, 0o600, 0o600},
		{0o666, 0o666, 0o666},
		{0o600, 0o666, 0o600},
		{0o644, 0o600, 0o644},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if c.has != 0 {
			must.Do(t, os.WriteFile(path, nil, 0o600))
			must.Do(t, os.Chmod(path, c.has))
		}
		must.Do(t, WriteBytes(path, c.asked, []byte("new")))
		if info, err := os.Stat(path); err != nil || info.Mode() != c.want {
			t.Errorf("had %v, asked for %v: has %v, %v, want %v", c.has, c.asked, info.Mode(), err, c.want)
		}
	}
}

// TestOwnersAreKept checks that root leaves a file to its owner.
func TestOwnersAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	if err := os.Chown(path, 65534, 65533); err != nil {
		t.Skip("no file can be given away here:", err)
	}
	must.Do(t, WriteBytes(path, 0o666, []byte("new")))
	info, err := os.Stat(path)
	must.Do(t, err)
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 65534 || s.Gid != 65533 {
		t.Errorf("it belongs to %d and %d", s.Uid, s.Gid)
	}
}

// TestWriteDirReplacesFoldersOnly checks that WriteDir follows links, and refuses what is no folder.
func TestWriteDirReplacesFoldersOnly(t *testing.T) {
	fill := func(dir string) error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o600) }
	for _, c := range []struct {
		name   string
		make   func(path string) error
		refuse string
		want   []string // in the folder afterwards
	}{
		{"a link to a folder", func(path string) error {
			return errors.Join(os.Mkdir(path+"-real", 0o700), os.Symlink("d-real", path))
		}, "", []string{"d", "d-real", "d-real/new"}},
		{"a link to nothing yet", func(path string) error { return os.Symlink("d-real", path) }, "", []string{"d", "d-real", "d-real/new"}},
		{"a file", func(path string) error { return os.WriteFile(path, nil, 0o600) }, "it is no folder", []string{"d"}},
		{"a link to a file", func(path string) error {
			return errors.Join(os.WriteFile(path+"-real", nil, 0o600), os.Symlink("d-real", path))
		}, "it is no folder", []string{"d", "d-real"}},
		{"a pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }, "it is no folder", []string{"d"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "d")
			must.Do(t, c.make(path))
			before, err := os.Lstat(path)
			must.Do(t, err)
			err = WriteDir(path, fill)
			if (err == nil) != (c.refuse == "") || err != nil && !strings.Contains(err.Error(), c.refuse) {
				t.Errorf("error %v, want %q", err, c.refuse)
			}
			if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
				t.Errorf("it is now %v, %v, was %v", after, err, before.Mode())
			}
			if got := names(t, dir); !slices.Equal(got, c.want) {
				t.Errorf("there are %q, want %q", got, c.want)
			}
		})
	}
}

// TestClean checks that Clean removes what a killed writer left, and nothing else.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"f", ".hidden", ".lock", "a.tmp-b", ".mine.tmp-draft", ".mine.tmp-0123456789abcdef0"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	must.Do(t, Write(filepath.Join(dir, "f"), 0o600, func(io.Writer) error { // a killed writer leaves what is there now
		return os.CopyFS(dir+"-killed", os.DirFS(dir))
	}))
	must.Do(t, os.Mkdir(TempName(filepath.Join(dir+"-killed", "d")), 0o700))
	want := names(t, dir)
	if n := len(names(t, dir+"-killed")); n != len(want)+2 {
		t.Fatalf("the killed writers left %d files", n-len(want))
	}
	must.Do(t, Clean(dir+"-killed"))
	if got := names(t, dir+"-killed"); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	if err := Clean(filepath.Join(dir, "absent")); err != nil {
		t.Errorf("a folder that is absent: %v", err)
	}
	mine, other := TempName(filepath.Join(dir, "f")), TempName(filepath.Join(dir, "g"))
	must.Do(t, errors.Join(os.WriteFile(mine, nil, 0o600), os.WriteFile(other, nil, 0o600), CleanFile(filepath.Join(dir, "f"))))
	_, gone := os.Lstat(mine)
	if _, err := os.Lstat(other); err != nil || !errors.Is(gone, fs.ErrNotExist) {
		t.Errorf("of one file: %v, of another one: %v", gone, err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must.Do(t, err)
	return string(text)
}

// names returns the paths of everything in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			name, _ := filepath.Rel(dir, path)
			all = append(all, name)
		}
		return err
	}))
	slices.Sort(all)
	return all
}
