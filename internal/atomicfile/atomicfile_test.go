package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

func TestWriteReplacesWholeOrNot(t *testing.T) {
	errHalf := errors.New("half-way")
	for _, c := range []struct {
		name  string
		write func(io.Writer) error
		want  string
		err   error
	}{
		{"new content replaces the old", func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }, "new", nil},
		{"nothing written is an empty file", func(io.Writer) error { return nil }, "", nil},
		{"a failure half-way keeps the old", func(w io.Writer) error {
			_, err := io.WriteString(w, "ne")
			return errors.Join(err, errHalf)
		}, "old", errHalf},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			must.Do(t, os.WriteFile(path, []byte("old"), 0o600))
			if err := Write(path, 0o644, c.write); !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != c.want {
				t.Errorf("content %q, %v, want %q", got, err, c.want)
			}
			if names := list(t, dir); !slices.Equal(names, []string{"f"}) {
				t.Errorf("folder holds %q, want only f", names)
			}
		})
	}
}

// TestWriteDoesNotTouchTheOldFile checks that a reader that has opened the old file keeps reading the old bytes, because Write
// creates a new file.
func TestWriteDoesNotTouchTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	must.Do(t, WriteBytes(path, 0o600, []byte("old")))
	old := must.Get(os.Open(path))(t)
	defer old.Close()
	must.Do(t, WriteBytes(path, 0o600, []byte("new and longer")))
	if got, err := io.ReadAll(old); err != nil || string(got) != "old" {
		t.Errorf("open reader sees %q, %v, want old", got, err)
	}
}

func TestWriteIntoMissingFolderFails(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "f")
	if err := WriteBytes(missing, 0o600, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("write: %v, want not-exist", err)
	}
	if err := WriteDir(missing, func(string) error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("write folder: %v, want not-exist", err)
	}
}

func TestWriteDirReplacesWholeOrNot(t *testing.T) {
	errHalf := errors.New("half-way")
	put := func(names ...string) func(string) error {
		return func(dir string) error {
			for _, name := range names {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
					return err
				}
			}
			return nil
		}
	}
	parent := t.TempDir()
	path := filepath.Join(parent, "d")
	for _, c := range []struct {
		name string
		fill func(string) error
		want []string
		err  error
	}{
		{"a first folder appears", put("a", "b"), []string{"a", "b"}, nil},
		{"a failure keeps it", func(dir string) error { return errors.Join(put("c")(dir), errHalf) }, []string{"a", "b"}, errHalf},
		{"a second folder replaces it", put("c"), []string{"c"}, nil},
	} {
		if err := WriteDir(path, c.fill); !errors.Is(err, c.err) {
			t.Fatalf("%s: error %v, want %v", c.name, err, c.err)
		}
		if got := list(t, path); !slices.Equal(got, c.want) {
			t.Errorf("%s: holds %q, want %q", c.name, got, c.want)
		}
		if got := list(t, parent); !slices.Equal(got, []string{"d"}) {
			t.Errorf("%s: parent holds %q, want only d", c.name, got)
		}
	}
}

// TestMoveAsideSwaps checks that moveAside, the fallback of exchange, gives the same result.
func TestMoveAsideSwaps(t *testing.T) {
	parent := t.TempDir()
	tmp, path := filepath.Join(parent, "tmp"), filepath.Join(parent, "d")
	for _, dir := range []string{tmp, path} {
		must.Do(t, os.Mkdir(dir, 0o700))
		must.Do(t, os.WriteFile(filepath.Join(dir, "was-"+filepath.Base(dir)), nil, 0o600))
	}
	must.Do(t, moveAside(tmp, path))
	if got := append(list(t, tmp), list(t, path)...); !slices.Equal(got, []string{"was-d", "was-tmp"}) {
		t.Errorf("after the swap: %q", got)
	}
}

func TestIsTemp(t *testing.T) {
	dir := t.TempDir()
	err := WriteDir(filepath.Join(dir, "step-1"), func(tmp string) error {
		if !IsTemp(filepath.Base(tmp)) {
			t.Errorf("%s is not seen as temporary", tmp)
		}
		return nil
	})
	must.Do(t, err)
	for _, name := range []string{"step-1", "a.tmp-b", ".git", ""} {
		if IsTemp(name) {
			t.Errorf("%q is seen as temporary", name)
		}
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
