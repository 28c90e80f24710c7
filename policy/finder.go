package policy

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/belief"
)

// NameError reports that no policy has the given name, and what was expected.
type NameError struct {
	Folder bool // true if the name is that of a folder that does not exist or holds no policy
	text   string
}

func (e *NameError) Error() string { return e.text }

func noName(format string, args ...any) error { return &NameError{text: fmt.Sprintf(format, args...)} }

func noFolder(format string, args ...any) error {
	return &NameError{Folder: true, text: fmt.Sprintf(format, args...)}
}

// Finder finds policies by name. The zero Finder finds all that production needs.
type Finder struct {
	// Table has the baselines that are found, and those that may be the prior of a learned policy.
	Table baselines.Table
	// Key, if not nil, must have signed every policy that is read from a folder; Load returns checkpoints.ErrUnsigned for the
	// others. Baselines and the released policy are parts of the program and need no signature.
	Key ed25519.PublicKey
	// Run returns a function that reads the policy of a training run from the folder, or nil if the folder is not one of a run. A
	// nil Run finds no runs.
	Run func(dir string) func() (*agents.Policy, checkpoints.Provenance, error)
	// Fits makes the Finder find policies that are fitted on the training split of a scenario, too: see Policy.With.
	Fits bool
	// Memory makes the Finder find policies that begin with what was learned before, too: see Policy.With. The caller must give it.
	Memory bool
}

// Names returns the names of the policies that have one: the baselines, the prior and the released policy.
func (f *Finder) Names() []string { return append(f.Table.Names(), Prior, released.Name) }

// Find returns the source of "[name=]policy" without reading it. policy is a baseline, "prior", "released", or the folder of an
// exported policy or of a run. The source of an exported policy has a Stamp. If no policy has that name, Find returns a
// NameError.
func (f *Finder) Find(arg string) (Source, error) {
	spec, err := f.Table.ParsePolicy(arg)
	if err == nil && !f.Fits {
		var given baselines.Given
		if f.Memory {
			given.Memory = belief.NewMemory()
		}
		err = spec.Lacks(given)
	}
	if err != nil {
		return Source{}, noName("%v", err)
	}
	s, err := f.base(&spec)
	load := s.Load
	s.Load = func() (*Policy, error) {
		p, err := load()
		if err == nil {
			p.wear(spec)
		}
		return p, err
	}
	return s, err
}

// Load finds a policy and reads it.
func (f *Finder) Load(arg string) (*Policy, error) {
	s, err := f.Find(arg)
	if err != nil {
		return nil, err
	}
	return s.Load()
}

// base returns the source of a policy without its label, and of what is no baseline without the outer suffixes.
func (f *Finder) base(spec *baselines.Spec) (Source, error) {
	if spec.IsBaseline() {
		return Source{Load: func() (*Policy, error) { return OfBaseline(spec) }}, nil
	}
	what := spec.Base
	switch what {
	case Prior:
		return Source{Load: usualPrior}, nil
	case released.Name:
		return Source{Load: releasedPolicy}, nil
	}
	info, err := os.Stat(what)
	switch {
	case err == nil && info.IsDir():
		return f.folder(what)
	case err == nil:
		return Source{}, noName("policy %s is a file: want a baseline, released, or the folder of a policy or run", what)
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsRune(what, filepath.Separator):
		return Source{}, noFolder("policy %s: no such folder", what)
	case errors.Is(err, fs.ErrNotExist):
		return Source{}, noName("policy %q: %v", what, option.Unknown("such baseline or folder", what, f.Names()))
	}
	return Source{}, fmt.Errorf("policy: %w", err)
}

// folder returns the source of the learned policy in a folder: a training run, if Run recognises it, or an exported policy.
func (f *Finder) folder(dir string) (Source, error) {
	if f.Run != nil {
		if read := f.Run(dir); read != nil {
			return f.run(dir, read)
		}
	}
	if !checkpoints.IsBundle(dir) {
		if f.Run == nil {
			return Source{}, noFolder("%s holds no manifest.json of a policy: want a folder that clustergym export wrote", dir)
		}
		return Source{}, noFolder("%s holds no manifest.json of a policy and no run.yaml of a run", dir)
	}
	load := func() (*Policy, error) {
		found, err := f.read(dir)
		if err != nil {
			return nil, err
		}
		if from := filepath.Dir(filepath.Clean(dir)); f.Run != nil && f.Run(from) != nil {
			found.Run = from // clustergym export puts the bundle into the run's folder
		}
		return found, nil
	}
	return Source{Load: load, Stamp: func() (string, error) { return folderStamp(dir) }}, nil
}

// run returns the source of the policy that was trained in the folder of a run.
func (f *Finder) run(dir string, read func() (*agents.Policy, checkpoints.Provenance, error)) (Source, error) {
	if f.Key != nil {
		return Source{}, fmt.Errorf("run %s: %w: export its policy with clustergym export --run %s --sign-key KEY, and take that",
			dir, checkpoints.ErrUnsigned, dir)
	}
	return Source{Load: func() (*Policy, error) {
		p, training, err := read()
		if err != nil {
			return nil, err
		}
		found := team(p, training, dir)
		found.Run = dir
		return found, nil
	}}, nil
}

// read reads a bundle and checks its signature if Key is set.
func (f *Finder) read(dir string) (*Policy, error) {
	b, err := f.bundle(dir)
	if err != nil {
		return nil, err
	}
	if agents.IsCentral(&b.Manifest) {
		c, err := agents.CentralFrom(b, f.Table)
		if err != nil {
			return nil, fmt.Errorf("read policy %s: %w", dir, err)
		}
		return central(c, b.Manifest.Training, dir), nil
	}
	p, err := agents.FromBundle(b, f.Table)
	if err != nil {
		return nil, fmt.Errorf("read policy %s: %w", dir, err)
	}
	return team(p, b.Manifest.Training, dir), nil
}

func (f *Finder) bundle(dir string) (*checkpoints.Bundle, error) {
	if f.Key == nil {
		return checkpoints.ReadBundle(dir, checkpoints.Limits{})
	}
	return checkpoints.ReadSignedBundle(dir, f.Key, checkpoints.Limits{})
}

// UsualFallback is the baseline that decides instead of a policy without a prior.
const UsualFallback = "srsf"

// Fallback returns a function that finds the policy that decides instead of a given one. The name "" stands for the given
// policy's prior, or for UsualFallback if it has none. The name "prior" stands for the given policy's own prior, if it has one.
func (f *Finder) Fallback(name string) func(*Policy) (*Policy, error) {
	return func(of *Policy) (*Policy, error) {
		if (name == "" || name == Prior) && of.Prior != nil {
			return of.Prior, nil
		}
		if name == "" {
			return f.Load(UsualFallback)
		}
		return f.Load(name)
	}
}

// OfBaseline returns the policy of a baseline, without its label.
func OfBaseline(spec *baselines.Spec) (*Policy, error) {
	digest, err := filesDigest(spec.Files())
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", spec, err)
	}
	p := &Policy{Name: spec.Rule(), Digest: digest, Rule: spec.Rule()}
	p.by(spec.Needs(), baselines.Given{}, spec.New)
	return p, nil
}

// filesDigest returns a digest of files, "" if there are none.
func filesDigest(paths []string) (string, error) {
	if len(paths) == 0 {
		return "", nil
	}
	h := sha256.New()
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
