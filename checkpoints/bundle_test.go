package checkpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/names"
)

func policy() (Manifest, []Tensor) {
	return Manifest{
			Name:    "venus-attention",
			Created: "2026-11-21",
			Features: Features{
				Server: []Feature{{"free_gpus", "GPU", 0, 8}},
				Job:    []Feature{{"gpus", "GPU", 1, 1024}, {"waited", "s", 0, 1e6}},
				Global: []Feature{{"load", "", -0.5, 2.25}},
			},
			Window:       32,
			Architecture: Architecture{Sizes: map[string]int{"hidden": 64, "heads": 4}, Choices: map[string]string{"mixer": "attention <&>"}},
			Training:     Provenance{Scenario: "venus-week-v1", Seed: 1<<64 - 1, Updates: 400, Trace: "helios", Git: "abc", Go: "go1.26"},
		}, []Tensor{
			{"actor.w", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}},
			{"norm.count", []int{}, []int64{77}},
		}
}

func writePolicy(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "policies", "p")
	m, tensors := policy()
	must.Do(t, WriteBundle(dir, m, tensors, []byte("a model"), "", nil))
	return dir
}

// files reads a bundle's folder into a file system that tests can damage.
func files(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{}
	for _, name := range []string{manifestName, weightsName, modelName} {
		b := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		m[name] = &fstest.MapFile{Data: b}
	}
	return m
}

func equalBundles(a, b *Bundle) string {
	return cmp.Diff(a.Manifest, b.Manifest, cmp.AllowUnexported(Manifest{}, envelope{})) + cmp.Diff(bitsOf(a.Tensors), bitsOf(b.Tensors)) + cmp.Diff(a.ONNX, b.ONNX)
}

// TestBundleOfSchema2 checks that bundles of schema 2, without an ONNX model, are read correctly, and can be replaced by a bundle
// without one.
func TestBundleOfSchema2(t *testing.T) {
	got := must.Get(ReadBundle(filepath.Join("testdata", "schema-2"), Limits{}))(t)
	m, tensors := policy()
	m.envelope, m.Weights, m.Tensors = got.Manifest.envelope, got.Manifest.Weights, got.Manifest.Tensors
	if d := equalBundles(&Bundle{m, tensors, nil}, got); d != "" || got.Manifest.SchemaVersion != 2 {
		t.Errorf("schema %d, bundle (-want +got):\n%s", got.Manifest.SchemaVersion, d)
	}
	dir := writePolicy(t)
	must.Do(t, WriteBundle(dir, got.Manifest, got.Tensors, got.ONNX, "", nil))
	if _, err := os.Stat(filepath.Join(dir, modelName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a bundle without a model leaves the one before: %v", err)
	}
	if b, err := ReadBundle(dir, Limits{}); err != nil || b.ONNX != nil || b.Manifest.ONNX != nil {
		t.Errorf("a bundle without a model: %v", err)
	}
}

func TestBundleRoundTrip(t *testing.T) {
	dir := writePolicy(t)
	got := must.Get(ReadBundle(dir, Limits{}))(t)
	m, tensors := policy()
	m.envelope = got.Manifest.envelope
	m.Weights, m.ONNX = got.Manifest.Weights, got.Manifest.ONNX
	m.Tensors = []TensorSpec{{"actor.w", "F32", []int{2, 3}}, {"norm.count", "I64", []int{}}}
	if d := equalBundles(&Bundle{m, tensors, []byte("a model")}, got); d != "" {
		t.Errorf("bundle (-want +got):\n%s", d)
	}
	embedded, err := ReadBundleFS(files(t, dir), Limits{})
	if err != nil || equalBundles(got, embedded) != "" {
		t.Errorf("from another file system: %v", err)
	}
	again := writePolicy(t)
	if d := cmp.Diff(files(t, dir), files(t, again)); d != "" {
		t.Errorf("equal policies give other bytes:\n%s", d)
	}
}

func TestWriteBundleReplacesOnlyABundle(t *testing.T) {
	dir := writePolicy(t)
	m, tensors := policy()
	m.Name = "second"
	must.Do(t, WriteBundle(dir, m, tensors, nil, "", nil))
	if b, err := ReadBundle(dir, Limits{}); err != nil || b.Manifest.Name != "second" {
		t.Errorf("after replacing: %v", err)
	}
	// A model card must be replaced with its policy; a page that somebody wrote must not.
	page := filepath.Join(dir, cardName)
	for _, card := range []string{"# One\n", "# Two\n"} {
		must.Do(t, WriteBundle(dir, m, tensors, nil, card, nil))
		if text, err := os.ReadFile(page); err != nil || string(text) != cardMark+card {
			t.Errorf("the card is %q, %v", text, err)
		}
	}
	if b, err := ReadBundle(dir, Limits{}); err != nil || b.Manifest.Name != "second" {
		t.Errorf("with a card: %v", err)
	}
	must.Do(t, WriteBundle(dir, m, tensors, nil, "", nil))
	if _, err := os.Stat(page); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a policy without a card has that of the one before: %v", err)
	}
	for _, text := range []string{"", "# My notes\n", cardMark[1:]} {
		must.Do(t, os.WriteFile(page, []byte(text), 0o600))
		if err := WriteBundle(dir, m, tensors, nil, "# Three\n", nil); err == nil || !strings.Contains(err.Error(), cardName) {
			t.Errorf("over a page %q: %v, want it refused by name", text, err)
		}
		if now, err := os.ReadFile(page); err != nil || string(now) != text {
			t.Errorf("the page %q is now %q, %v", text, now, err)
		}
	}
	must.Do(t, os.Remove(page))
	must.Do(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600))
	if err := WriteBundle(dir, m, tensors, nil, "", nil); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("a folder with other files: %v, want it refused by name", err)
	}
	if _, err := ReadBundle(dir, Limits{}); err != nil {
		t.Errorf("other files beside a policy do no harm, but: %v", err)
	}
}

func TestWriteBundleRefuses(t *testing.T) {
	for name, change := range map[string]func(*Manifest, []Tensor) []Tensor{
		"no name":            func(m *Manifest, ts []Tensor) []Tensor { m.Name = ""; return ts },
		"a negative window":  func(m *Manifest, ts []Tensor) []Tensor { m.Window = -1; return ts },
		"a nameless feature": func(m *Manifest, ts []Tensor) []Tensor { m.Features.Offer = []Feature{{}}; return ts },
		"a feature twice": func(m *Manifest, ts []Tensor) []Tensor {
			m.Features.Job = append(m.Features.Job, m.Features.Job[0])
			return ts
		},
		"an empty range": func(m *Manifest, ts []Tensor) []Tensor {
			m.Features.Job = []Feature{{"x", "", 2, 1}}
			return ts
		},
		"a tensor twice": func(_ *Manifest, ts []Tensor) []Tensor { return append(ts, ts[0]) },
	} {
		dir := filepath.Join(t.TempDir(), "p")
		m, tensors := policy()
		tensors = change(&m, tensors)
		if err := WriteBundle(dir, m, tensors, nil, "", nil); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestBundleThatIsNone(t *testing.T) {
	edit := func(old, new string) func(fstest.MapFS) {
		return func(m fstest.MapFS) {
			was := m[manifestName].Data
			m[manifestName] = &fstest.MapFile{Data: bytes.Replace(was, []byte(old), []byte(new), 1)}
		}
	}
	put := func(name, text string) func(fstest.MapFS) {
		return func(m fstest.MapFS) { m[name] = &fstest.MapFile{Data: []byte(text)} }
	}
	for _, c := range []struct {
		name   string
		damage func(fstest.MapFS)
		is     error
		want   string
	}{
		{"an empty folder", func(m fstest.MapFS) { clear(m) }, ErrForeign, "no manifest.json"},
		{"a folder without weights", func(m fstest.MapFS) { delete(m, weightsName) }, ErrDamaged, weightsName},
		{"a manifest of another program", put(manifestName, `{"name": "webapp", "version": 3}`), ErrForeign, `kind "", want "clustergym-policy"`},
		{"a training checkpoint", edit(bundleKind, checkpointKind), ErrForeign, checkpointKind},
		{"a newer schema", edit(`"schema_version": 3`, `"schema_version": 5`), ErrNewer, "schema version 5, at most 4"},
		{"a newer schema with new fields", put(manifestName, `{"kind":"clustergym-policy","schema_version":9,"x":[]}`), ErrNewer, "version 9"},
		{"no schema", edit(`"schema_version": 3`, `"schema_version": 0`), ErrDamaged, "schema version 0"},
		{"an empty manifest", put(manifestName, ""), ErrDamaged, "JSON"},
		{"an unknown field", edit(`"window"`, `"windows"`), ErrDamaged, `unknown field "windows"`},
		{"a wrong type", edit(`"window": 32`, `"window": "32"`), ErrDamaged, "window"},
		{"an edited number", edit(`"window": 32`, `"window": 64`), ErrDamaged, "edited"},
		{"an edited word", edit(`venus-week`, `Venus-week`), ErrDamaged, "edited"},
		{"a second manifest behind the first", func(m fstest.MapFS) {
			m[manifestName] = &fstest.MapFile{Data: append(slices.Clone(m[manifestName].Data), "{}"...)}
		}, ErrDamaged, "after top-level value"},
		{"weights of another policy", put(weightsName, string(file(`{}`))), ErrDamaged, "SHA-256"},
		{"a folder without the model", func(m fstest.MapFS) { delete(m, modelName) }, ErrDamaged, modelName},
		{"a model of another policy", put(modelName, "another model"), ErrDamaged, "SHA-256"},
		{"a manifest that is a folder", func(m fstest.MapFS) { m[manifestName] = &fstest.MapFile{Mode: fs.ModeDir} }, ErrForeign, "no regular file"},
		{"weights that are a device", func(m fstest.MapFS) { m[weightsName] = &fstest.MapFile{Mode: fs.ModeDevice} }, ErrForeign, "no regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := files(t, writePolicy(t))
			c.damage(m)
			if _, err := ReadBundleFS(m, Limits{}); !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error %v, want %v with %q", err, c.is, c.want)
			}
		})
	}
}

func TestBundleOnDiskThatIsNone(t *testing.T) {
	if _, err := ReadBundle(filepath.Join(t.TempDir(), "missing"), Limits{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, manifestName), 0o600); err != nil {
		t.Skip("no named pipes here")
	}
	if _, err := ReadBundle(dir, Limits{}); !errors.Is(err, ErrForeign) { // must return at once, without waiting for a writer
		t.Errorf("a named pipe: %v", err)
	}
}

func TestBundleHoldsItsLimits(t *testing.T) {
	dir := writePolicy(t)
	for name, limits := range map[string]Limits{
		"bytes": {Bytes: 100}, "manifest": {Header: 100}, "tensors": {Tensors: 1},
	} {
		if _, err := ReadBundle(dir, limits); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEveryByteCounts checks that the reader rejects every changed byte and every truncation, unless the manifest's content stays
// the same.
func TestEveryByteCounts(t *testing.T) {
	dir := writePolicy(t)
	whole := files(t, dir)
	want := must.Get(ReadBundleFS(whole, Limits{}))(t)
	check := func(what string, m fstest.MapFS, name string) {
		got, err := ReadBundleFS(m, Limits{})
		switch {
		case err == nil && name != manifestName:
			t.Errorf("%s: %s accepted", name, what)
		case err == nil:
			if d := equalBundles(want, got); d != "" {
				t.Errorf("%s: %s accepted with another meaning:\n%s", name, what, d)
			}
		case !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrNewer):
			t.Errorf("%s: %s refused without a kind of reason: %v", name, what, err)
		}
	}
	for name, f := range whole {
		for i := range f.Data {
			for _, mask := range []byte{0x01, 0x10, 0x80, 0xff} {
				m := maps.Clone(whole)
				altered := slices.Clone(f.Data)
				altered[i] ^= mask
				m[name] = &fstest.MapFile{Data: altered}
				check(fmt.Sprintf("byte %d xor %#x", i, mask), m, name)
			}
			m := maps.Clone(whole)
			m[name] = &fstest.MapFile{Data: f.Data[:i]}
			check(fmt.Sprintf("cut to %d bytes", i), m, name)
		}
	}
}

// FuzzReadBundle checks that no files cause a panic, and that every error wraps its kind. Since checksums reject nearly all
// inputs, it also tries the manifest with its checksum and the digest of the weights corrected.
func FuzzReadBundle(f *testing.F) {
	whole := files(f, writePolicy(f))
	f.Add(whole[manifestName].Data, whole[weightsName].Data)
	f.Add([]byte(`{"kind":"clustergym-policy","schema_version":3}`), []byte{})
	f.Add([]byte(`{"name":"x","tensors":[]}`), file("{}"))
	f.Add(bytes.Replace(whole[manifestName].Data, []byte("venus-attention"), []byte(`\u001b[2J`), 1), whole[weightsName].Data)
	f.Fuzz(func(t *testing.T, manifest, weights []byte) {
		read := func(manifest []byte) *Bundle {
			m := fstest.MapFS{manifestName: {Data: manifest}, weightsName: {Data: weights}}
			b, err := ReadBundleFS(m, Limits{Bytes: 1 << 16})
			if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrNewer) {
				t.Fatalf("refused without a kind of reason: %v", err)
			}
			return b
		}
		read(manifest)
		var m Manifest
		if json.Unmarshal(manifest, &m) != nil {
			return
		}
		m.Weights, m.ONNX = Weights{len(weights), hash(weights)}, nil
		right := must.Get(encodeManifest(&m, bundleKind, BundleSchema))(t)
		if b := read(right); b != nil && (!names.OK(b.Manifest.Name) || b.Manifest.checkTexts() != nil) {
			t.Fatalf("accepted %+v", b.Manifest)
		} else if b != nil && !slices.EqualFunc(specs(b.Tensors), m.Tensors, TensorSpec.equal) {
			t.Fatalf("accepted tensors %v for %v", specs(b.Tensors), m.Tensors)
		}
	})
}

// TestBundleOfAModel checks a bundle without weights: it has the newest schema, and what is in it must be there.
func TestBundleOfAModel(t *testing.T) {
	m, tensors := policy()
	dir := writePolicy(t)
	must.Do(t, WriteBundle(dir, m, nil, []byte("another model"), "", nil))
	if _, err := os.Stat(filepath.Join(dir, weightsName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the weights of the bundle before are still there: %v", err)
	}
	b := must.Get(ReadBundle(dir, Limits{}))(t)
	if b.Manifest.SchemaVersion != 4 || string(b.ONNX) != "another model" || b.Tensors != nil {
		t.Errorf("schema %d, model %q, %d tensors", b.Manifest.SchemaVersion, b.ONNX, len(b.Tensors))
	}
	must.Do(t, os.Remove(filepath.Join(dir, modelName)))
	if _, err := ReadBundle(dir, Limits{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("without its model: error %v", err)
	}
	// Nothing at all is no policy.
	b.Manifest.ONNX = nil
	empty := must.Get(encodeManifest(&b.Manifest, bundleKind, modelSchema))(t)
	if _, err := ReadBundleFS(fstest.MapFS{manifestName: {Data: empty}}, Limits{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("with neither weights nor model: error %v", err)
	}
	must.Do(t, WriteBundle(dir, m, tensors, nil, "", nil))
}
