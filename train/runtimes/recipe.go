package runtimes

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/atomicfile"
)

// ErrMismatch is wrapped by the error of a run that is resumed with other settings or scenarios than it began with.
var ErrMismatch = errors.New("does not continue this run")

const recipeName = "run.yaml"

// Recipe is everything that a run's result depends on. A run writes it to run.yaml, followed by each scenario as a YAML document.
type Recipe struct {
	Beliefs   Config               `yaml:"beliefs"`
	Workloads []Workload           `yaml:"workloads"`
	Scenarios []*scenario.Scenario `yaml:"-"`
}

// Workload identifies the jobs of a scenario.
type Workload struct {
	Scenario string            `yaml:"scenario"`
	Digest   string            `yaml:"sha256"` // of the jobs
	Seen     []scenario.Period `yaml:"seen"`   // the training and validation splits
}

// write returns the recipe as text.
func (r *Recipe) write() ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("write recipe: %w", err)
	}
	for _, s := range r.Scenarios {
		b.WriteString("---\n")
		if err := s.Write(&b); err != nil {
			return nil, fmt.Errorf("write recipe: %w", err)
		}
	}
	return b.Bytes(), nil
}

// ReadRecipe reads the recipe of the run in dir. The error wraps checkpoints.ErrNone if dir contains no such run.
func ReadRecipe(dir string) (*Recipe, error) {
	path := filepath.Join(dir, recipeName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no run: it has no %s: %w", dir, recipeName, checkpoints.ErrNone)
	}
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	var r Recipe
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err = dec.Decode(&r); err == nil {
		err = r.Beliefs.Validate()
	}
	for range r.Workloads {
		s := new(scenario.Scenario)
		if err == nil {
			err = dec.Decode(s)
		}
		if err == nil {
			err = s.Validate()
		}
		r.Scenarios = append(r.Scenarios, s)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// put writes the recipe of a new run, or checks that a resumed run has the same one.
func (r *Recipe) put(dir string, resume bool) error {
	text, err := r.write()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, recipeName)
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && resume:
		return fmt.Errorf("resume %s: %w", dir, checkpoints.ErrNone)
	case errors.Is(err, fs.ErrNotExist):
		return atomicfile.WriteBytes(path, 0o666, text)
	case err != nil:
		return fmt.Errorf("open run: %w", err)
	case !resume:
		return fmt.Errorf("%s holds a run already: resume it, or choose another folder", dir)
	case !bytes.Equal(old, text):
		line := 0
		a, b := strings.Split(string(old), "\n"), strings.Split(string(text), "\n")
		for line < min(len(a), len(b))-1 && a[line] == b[line] {
			line++
		}
		return fmt.Errorf("%s: %w: line %d: the run has %q, asked for %q", path, ErrMismatch, line+1, a[line], b[line])
	}
	return nil
}
