package checkpoints

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/clustergym/clustergym/internal/atomicfile"
)

// bundleKind identifies the manifest of a policy bundle.
const bundleKind = "clustergym-policy"

// BundleSchema is the manifest version of a bundle with weights. Version 2 had no ONNX model, no Provenance.Memory and no
// Provenance.Validation.
const BundleSchema = 3

// modelSchema is the manifest version of a bundle without weights, whose ONNX model decides, and the newest that this code reads.
// Bundles with weights keep the version before, so that older programs read them.
const modelSchema = 4

// schema returns the oldest version that has what the manifest has.
func (m *Manifest) schema() int {
	if m.Weights == (Weights{}) {
		return modelSchema
	}
	return BundleSchema
}

const (
	weightsName = "weights.safetensors"
	modelName   = "policy.onnx"
	cardName    = "README.md"
)

// IsBundle reports whether a folder has a manifest, as that of a bundle has. It is true of a folder that cannot be read.
func IsBundle(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, manifestName))
	return !errors.Is(err, fs.ErrNotExist)
}

// Manifest describes a policy. From it alone, without the weights, one can build the policy, check it against an environment and
// trace it to its training. WriteBundle fills in the envelope (version, kind, checksum), Weights, Tensors and ONNX.
type Manifest struct {
	envelope
	Name         string       `json:"name"`
	Created      string       `json:"created"`           // free text, as given by the writer
	Encoder      string       `json:"encoder,omitempty"` // name of the encoder of the features; empty for the standard one
	Features     Features     `json:"features"`
	Window       int          `json:"window"` // number of jobs that the policy observes at once
	Prior        Prior        `json:"prior"`
	Candidates   *Candidates  `json:"candidates,omitempty"` // nil: narrow lists of the default length
	Architecture Architecture `json:"architecture"`
	Training     Provenance   `json:"training"`
	Weights      Weights      `json:"weights,omitzero"` // zero: the bundle has no weights, but a model
	Tensors      []TensorSpec `json:"tensors"`
	ONNX         *Weights     `json:"onnx,omitempty"` // nil: the bundle has no model
}

// Features describes each input number, in input order.
type Features struct {
	Server []Feature `json:"server"`
	Job    []Feature `json:"job"`
	Offer  []Feature `json:"offer"`
	Global []Feature `json:"global"`
}

// Feature describes one input number and its intended range.
type Feature struct {
	Name string  `json:"name"`
	Unit string  `json:"unit"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// Prior is the base policy whose proposals the policy reviews.
type Prior struct {
	Name   string  `json:"name"`   // name of a baseline, with its options
	Margin float64 `json:"margin"` // how much the bid for another candidate must exceed the bid for the prior's own
}

// Candidates describes the candidates that the policy chooses from.
type Candidates struct {
	Set    string   `json:"set"`              // the way they are found, for example "wide-1"
	Items  int      `json:"items"`            // the most candidates besides the prior's own
	Rivals []string `json:"rivals,omitempty"` // baselines whose proposals also become candidates
}

// Architecture contains the numbers and names that determine the network.
type Architecture struct {
	Sizes   map[string]int    `json:"sizes"`   // for example "hidden": 64
	Choices map[string]string `json:"choices"` // for example "mixer": "attention"
}

// Provenance records how the policy was trained.
type Provenance struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Updates  int    `json:"updates"`
	Trace    string `json:"trace"`
	Git      string `json:"git"`
	Go       string `json:"go"`
	// Seen lists the parts of traces that the policy was trained and chosen on, so that an evaluation can avoid them.
	Seen []Period `json:"seen,omitempty"`
	// Memory is the time constant of the discount in training, in seconds; 0 means not recorded, or no discount.
	Memory float64 `json:"memory_s,omitempty"`
	// Objective is what the policy was trained for: the text of an objective, or the name of a reward; "" means completion times.
	Objective string `json:"objective,omitempty"`
	// Validation is the policy's cost by the objective, summed over validation windows, by its prior's. The policy was chosen by
	// this number. 0 means that there were no validation windows.
	Validation float64 `json:"validation,omitempty"`
	// From is the policy that the training began with; nil for an untrained one. Seen also lists what that policy was trained and
	// chosen on.
	From *Origin `json:"from,omitempty"`
}

// Origin is a policy that a training run began with.
type Origin struct {
	Policy   string `json:"policy"`   // its name
	SHA256   string `json:"sha256"`   // a digest of everything that affects its decisions
	Scenario string `json:"scenario"` // as in its Provenance
	Updates  int    `json:"updates"`  // as in its Provenance
	// Validation is its ratio as in Provenance, on the validation windows of the run. 0 means that there were none.
	Validation float64 `json:"validation,omitempty"`
}

// Period is a part of a trace, in seconds since its first job: [From, To).
type Period struct {
	Trace string  `json:"trace"`
	From  float64 `json:"from_s"`
	To    float64 `json:"to_s"`
}

// Weights identifies a file by its size and hash.
type Weights struct {
	Size   int    `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// TensorSpec describes a tensor without its data.
type TensorSpec struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// Bundle is a policy as read from its folder.
type Bundle struct {
	Manifest Manifest
	Tensors  []Tensor // as listed in Manifest.Tensors; owned by the caller
	ONNX     []byte   // the ONNX model, verified but not parsed; nil for none
}

// WriteBundle atomically writes the folder dir with manifest.json, weights.safetensors unless there is a model and no tensor,
// policy.onnx if model is not nil, and README.md if card is not empty. The card is the model card in Markdown. WriteBundle
// replaces a bundle that is already there. It returns an error if the folder contains anything else, such as a README.md that is
// not a model card. If key is not nil, WriteBundle signs the manifest in manifest.json.sig; the signature covers all files except
// the card. Equal arguments give equal bytes.
func WriteBundle(dir string, m Manifest, tensors []Tensor, model []byte, card string, key ed25519.PrivateKey) error {
	if key != nil && len(key) != ed25519.PrivateKeySize {
		return fmt.Errorf("write policy %s: signing key of %d bytes, want %d", dir, len(key), ed25519.PrivateKeySize)
	}
	if err := m.check(); err != nil {
		return fmt.Errorf("write policy %s: %w", dir, err)
	}
	if err := replaceable(dir); err != nil {
		return fmt.Errorf("write policy %s: %w", dir, err)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o777); err != nil {
		return fmt.Errorf("write policy %s: %w", dir, err)
	}
	m.Tensors = specs(tensors)
	err := atomicfile.WriteDir(dir, func(tmp string) (err error) {
		if m.Weights = (Weights{}); len(tensors) > 0 || model == nil {
			m.Weights.Size, m.Weights.SHA256, err = writeHashed(filepath.Join(tmp, weightsName), func(w io.Writer) error {
				return WriteTensors(w, tensors, nil)
			})
			if err != nil {
				return err
			}
		}
		if m.ONNX = nil; model != nil {
			m.ONNX = new(Weights)
			m.ONNX.Size, m.ONNX.SHA256, err = writeHashed(filepath.Join(tmp, modelName), func(w io.Writer) error {
				_, err := w.Write(model)
				return err
			})
			if err != nil {
				return err
			}
		}
		b, err := encodeManifest(&m, bundleKind, m.schema())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tmp, manifestName), b, 0o666); err != nil {
			return err
		}
		if key != nil {
			if err := os.WriteFile(filepath.Join(tmp, signatureName), sign(key, b), 0o666); err != nil {
				return err
			}
		}
		if card == "" {
			return nil
		}
		return os.WriteFile(filepath.Join(tmp, cardName), []byte(cardMark+card), 0o666)
	})
	if err != nil {
		return fmt.Errorf("write policy %s: %w", dir, err)
	}
	return nil
}

// ReadBundle reads the policy in the folder dir and verifies every byte of it, including the ONNX model if the manifest lists
// one. It ignores signatures.
func ReadBundle(dir string, limits Limits) (*Bundle, error) { return readFolder(dir, nil, limits) }

// ReadSignedBundle is ReadBundle for a signed policy. If key has not signed the bundle, it returns an error that wraps
// ErrUnsigned, before it parses the manifest.
func ReadSignedBundle(dir string, key ed25519.PublicKey, limits Limits) (*Bundle, error) {
	if len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("read policy %s: key of %d bytes, want %d", dir, len(key), ed25519.PublicKeySize)
	}
	return readFolder(dir, key, limits)
}

func readFolder(dir string, key ed25519.PublicKey, limits Limits) (*Bundle, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	b, err := readBundle(os.DirFS(dir), key, limits.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("%s: read policy: %w", dir, err)
	}
	return b, nil
}

// ReadBundleFS is ReadBundle for a folder in any file system, such as an embedded one.
func ReadBundleFS(fsys fs.FS, limits Limits) (*Bundle, error) {
	b, err := readBundle(fsys, nil, limits.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return b, nil
}

// readBundle reads a bundle. If key is not nil, it must have signed the bundle.
func readBundle(fsys fs.FS, key ed25519.PublicKey, limits Limits) (*Bundle, error) {
	manifest, err := readFile(fsys, manifestName, int64(limits.Header))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no %s, so no policy: %w", manifestName, ErrForeign)
	}
	if err != nil {
		return nil, err
	}
	if key != nil {
		if err := verify(fsys, key, manifest); err != nil {
			return nil, err
		}
	}
	var b Bundle
	if err := decodeManifest(manifest, &b.Manifest, bundleKind, modelSchema); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	if err := b.Manifest.check(); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", manifestName, ErrDamaged, err)
	}
	if b.Manifest.ONNX != nil {
		if b.ONNX, err = b.Manifest.ONNX.read(fsys, modelName, limits); err != nil {
			return nil, err
		}
	}
	if b.Manifest.Weights != (Weights{}) || b.ONNX == nil {
		weights, err := b.Manifest.Weights.read(fsys, weightsName, limits)
		if err != nil {
			return nil, err
		}
		if b.Tensors, _, err = ReadTensors(weights, limits); err != nil {
			return nil, err
		}
	}
	if !slices.EqualFunc(specs(b.Tensors), b.Manifest.Tensors, TensorSpec.equal) {
		return nil, fmt.Errorf("%s: its tensors are not those of %s: %w", weightsName, manifestName, ErrDamaged)
	}
	return &b, nil
}

// read reads the named file and verifies its size and hash against w.
func (w Weights) read(fsys fs.FS, name string, limits Limits) ([]byte, error) {
	b, err := readFile(fsys, name, limits.Bytes)
	if err != nil {
		return nil, missingIsDamage(err)
	}
	if sum := hash(b); len(b) != w.Size || sum != w.SHA256 {
		return nil, fmt.Errorf("%s: %d bytes with SHA-256 %s, want %d with %s: %w", name, len(b), sum, w.Size, w.SHA256, ErrDamaged)
	}
	return b, nil
}

func specs(tensors []Tensor) []TensorSpec {
	list := make([]TensorSpec, len(tensors))
	for i, t := range tensors {
		list[i] = TensorSpec{t.Name, t.dType(), append([]int{}, t.Shape...)}
	}
	return list
}

func (s TensorSpec) equal(o TensorSpec) bool {
	return s.Name == o.Name && s.DType == o.DType && slices.Equal(s.Shape, o.Shape)
}

// check returns an error for the first invalid field.
func (m *Manifest) check() error {
	if m.Name == "" {
		return errors.New("name is empty")
	}
	if err := m.checkTexts(); err != nil {
		return err
	}
	if from := m.Training.From; from != nil && from.Updates < 0 {
		return fmt.Errorf("training.from.updates %d: want no negative numbers", from.Updates)
	}
	if m.Window < 0 || m.Training.Updates < 0 {
		return fmt.Errorf("window %d, updates %d: want no negative numbers", m.Window, m.Training.Updates)
	}
	all := &m.Features
	for _, group := range []struct {
		name string
		list []Feature
	}{{"server", all.Server}, {"job", all.Job}, {"offer", all.Offer}, {"global", all.Global}} {
		seen := map[string]bool{}
		for i, f := range group.list {
			if f.Name == "" || seen[f.Name] {
				return fmt.Errorf("%s feature %d: name %q is empty or stands twice", group.name, i, f.Name)
			}
			seen[f.Name] = true
			if !(f.Min <= f.Max) || math.IsInf(f.Min, 0) || math.IsInf(f.Max, 0) {
				return fmt.Errorf("%s feature %q: range [%v, %v]", group.name, f.Name, f.Min, f.Max)
			}
		}
	}
	return nil
}
