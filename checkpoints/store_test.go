package checkpoints

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/internal/must"
)

type runMeta struct {
	Step int    `json:"step"`
	Note string `json:"note"`
}

func state(step int) (runMeta, []Tensor) {
	return runMeta{step, "n"}, []Tensor{{"w", []int{2}, []float32{float32(step), 1}}, {"rng", []int{3}, []uint8{1, 2, 3}}}
}

func openStore(t testing.TB, dir string, keep int) *Store {
	t.Helper()
	s := must.Get(OpenStore(dir, StoreOptions{Keep: keep}))(t)
	return s
}

func save(t testing.TB, s *Store, steps ...int) {
	t.Helper()
	for _, step := range steps {
		meta, tensors := state(step)
		must.Do(t, s.Save(step, meta, tensors))
	}
}

func wantLatest(t testing.TB, s *Store, step int, skipped ...int) {
	t.Helper()
	c, skips, err := s.Latest()
	must.Do(t, err)
	var meta runMeta
	must.Do(t, json.Unmarshal(c.Meta, &meta))
	wantMeta, wantTensors := state(step)
	if c.Step != step || meta != wantMeta || !cmp.Equal(c.Tensors, wantTensors) {
		t.Errorf("latest is %+v, want step %d", c, step)
	}
	var got []int
	for _, skip := range skips {
		if !errors.Is(skip.Err, ErrDamaged) {
			t.Errorf("skipped %d without calling it damaged: %v", skip.Step, skip.Err)
		}
		got = append(got, skip.Step)
	}
	if !slices.Equal(got, skipped) {
		t.Errorf("skipped %v, want %v", got, skipped)
	}
}

func wantSteps(t testing.TB, s *Store, want ...int) {
	t.Helper()
	got, err := s.steps()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("steps %v, %v, want %v", got, err, want)
	}
}

func TestStoreSavesAndLoads(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "deep", "run"), 0)
	if _, _, err := s.Latest(); !errors.Is(err, ErrNone) {
		t.Errorf("latest of an empty store: %v", err)
	}
	save(t, s, 0, 5, 1_000_000, 999_999, 12)
	wantSteps(t, s, 0, 5, 12, 999_999, 1_000_000)
	wantLatest(t, s, 1_000_000)
	if c, err := s.Load(5); err != nil || c.Step != 5 {
		t.Errorf("load 5: %v, %v", c.Step, err)
	}
	if _, err := s.Load(6); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDamaged) {
		t.Errorf("load of a step that never was: %v", err)
	}
	meta, tensors := state(5)
	tensors[0].Data = []float32{9, 9}
	must.Do(t, s.Save(5, meta, tensors))
	if c, err := s.Load(5); err != nil || c.Tensors[0].Data.([]float32)[0] != 9 {
		t.Errorf("step 5 was not replaced: %v, %v", c.Tensors, err)
	}
}

func TestStoreRefuses(t *testing.T) {
	s := openStore(t, t.TempDir(), 0)
	meta, tensors := state(1)
	for name, err := range map[string]error{
		"a negative step":         s.Save(-1, meta, tensors),
		"meta that JSON lacks":    s.Save(1, func() {}, tensors),
		"a tensor without format": s.Save(1, meta, []Tensor{{"x", nil, "y"}}),
		"keeping less than none":  second(OpenStore(t.TempDir(), StoreOptions{Keep: -1})),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	wantSteps(t, s)
	if entries, _ := os.ReadDir(s.dir); len(entries) > 0 {
		t.Errorf("refused saves left %v", entries)
	}
}

func TestEqualStatesGiveEqualBytes(t *testing.T) {
	a, b := openStore(t, t.TempDir(), 0), openStore(t, t.TempDir(), 0)
	save(t, a, 3)
	save(t, b, 3)
	for _, name := range []string{manifestName, metaName, tensorsName} {
		x, errX := os.ReadFile(filepath.Join(a.path(3), name))
		y, errY := os.ReadFile(filepath.Join(b.path(3), name))
		if errX != nil || errY != nil || string(x) != string(y) {
			t.Errorf("%s differs: %v %v", name, errX, errY)
		}
	}
}

func TestPruneKeepsTheNewestGood(t *testing.T) {
	for _, c := range []struct {
		name    string
		keep    int
		saved   []int
		damaged []int
		then    int
		want    []int
		latest  int
		skipped []int
	}{
		{"the oldest goes", 2, []int{1, 2}, nil, 3, []int{2, 3}, 3, nil},
		{"keep one", 1, []int{1}, nil, 2, []int{2}, 2, nil},
		{"a damaged old one goes", 2, []int{1, 2}, []int{1}, 3, []int{2, 3}, 3, nil},
		{"a damaged one does not count", 2, []int{1, 2}, []int{2}, 3, []int{1, 2, 3}, 3, nil},
		{"damaged newer ones never push out the good", 1, []int{5, 8}, []int{8}, 6, []int{6, 8}, 6, []int{8}},
		{"the step just saved stays, though newer ones exist", 1, []int{9}, nil, 4, []int{4, 9}, 9, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			save(t, openStore(t, dir, 0), c.saved...)
			s := openStore(t, dir, c.keep)
			for _, step := range c.damaged {
				truncate(t, filepath.Join(s.path(step), tensorsName), 20)
			}
			save(t, s, c.then)
			wantSteps(t, s, c.want...)
			wantLatest(t, s, c.latest, c.skipped...)
		})
	}
}

func truncate(t testing.TB, path string, size int64) {
	t.Helper()
	must.Do(t, os.Truncate(path, size))
}

// TestKilledAtAnyPoint checks that after a kill during a save or a prune, the previous checkpoint is found and the next writer
// removes the leftovers.
func TestKilledAtAnyPoint(t *testing.T) {
	whole := openStore(t, t.TempDir(), 0)
	save(t, whole, 2)
	names := []string{metaName, tensorsName, manifestName} // in the order of writing
	for written := range len(names) + 1 {
		dir := t.TempDir()
		s := openStore(t, dir, 0)
		save(t, s, 1)
		half := filepath.Join(dir, ".step-000002.tmp-0123456789abcdef")
		must.Do(t, os.Mkdir(half, 0o700))
		for i := range min(written+1, len(names)) {
			b := must.Get(os.ReadFile(filepath.Join(whole.path(2), names[i])))(t)
			if i == written { // the kill came during this file
				b = b[:len(b)/2]
			}
			must.Do(t, os.WriteFile(filepath.Join(half, names[i]), b, 0o600))
		}
		wantSteps(t, s, 1)
		wantLatest(t, s, 1)
		reopened := openStore(t, dir, 0)
		if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d files written: the half-written folder stays: %v", written, err)
		}
		save(t, reopened, 2)
		wantLatest(t, reopened, 2)
	}
}

// TestDamagedNewestIsSkipped checks that a newest checkpoint with lost or changed bytes is skipped with a reason, and that the
// previous one is used.
func TestDamagedNewestIsSkipped(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, 0)
	save(t, s, 1)
	rapid.Check(t, func(t *rapid.T) {
		meta, tensors := state(2)
		must.Do(t, s.Save(2, meta, tensors))
		name := rapid.SampledFrom([]string{manifestName, metaName, tensorsName}).Draw(t, "file")
		path := filepath.Join(s.path(2), name)
		b, err := os.ReadFile(path)
		must.Do(t, err)
		before := slices.Clone(b)
		at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		switch rapid.SampledFrom([]string{"truncate", "zero the rest", "append", "remove"}).Draw(t, "damage") {
		case "truncate":
			if at == len(b)-1 && name == manifestName { // only the final newline is lost
				return
			}
			err = os.WriteFile(path, b[:at], 0o600)
		case "zero the rest":
			clear(b[at:])
			err = os.WriteFile(path, b, 0o600)
		case "append":
			err = os.WriteFile(path, append(b, 'x'), 0o600)
		case "remove":
			err = os.Remove(path)
		}
		must.Do(t, err)
		if slices.Equal(before, mustRead(path)) { // zeroes replaced zeroes
			return
		}
		c, skipped, err := s.Latest()
		if err != nil || c.Step != 1 || len(skipped) != 1 || !errors.Is(skipped[0].Err, ErrDamaged) {
			t.Fatalf("latest is %d, skipped %v, %v", c.Step, skipped, err)
		}
	})
}

func mustRead(path string) []byte {
	b, _ := os.ReadFile(path)
	return b
}

func TestStoreIgnoresWhatIsNotItsOwn(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"step-1", "step-0000001", "step--00001", "step-00000x", "notes", "step-+00001"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "step-000009"), nil, 0o600))
	s := openStore(t, dir, 1)
	wantSteps(t, s)
	save(t, s, 1, 2)
	wantSteps(t, s, 2)
	if entries, _ := os.ReadDir(dir); len(entries) != 8 {
		t.Errorf("%d entries, want the 7 foreign ones and step 2", len(entries))
	}
}

func TestCheckpointOfANewerVersion(t *testing.T) {
	s := openStore(t, t.TempDir(), 0)
	save(t, s, 1)
	path := filepath.Join(s.path(1), manifestName)
	b := strings.Replace(string(mustRead(path)), `"schema_version": 1`, `"schema_version": 2`, 1)
	must.Do(t, os.WriteFile(path, []byte(b), 0o600))
	if _, err := s.Load(1); !errors.Is(err, ErrNewer) {
		t.Errorf("load: %v, want newer", err)
	}
}
