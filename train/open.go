package train

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
)

// Recipe is all that fixes a run's result: what run.yaml holds, the scenario as a document of its own.
type Recipe struct {
	Train    Config `yaml:"train"`
	Workload struct {
		Digest string `yaml:"sha256"`
		// Seen are the periods of the training and validation windows.
		Seen []scenario.Period `yaml:"seen"`
	} `yaml:"workload"`
	Hold     float64           `yaml:"hold"` // of the tuned prior
	Scenario scenario.Scenario `yaml:"-"`
}

// ReadRecipe reads that of the run in dir. The error wraps checkpoints.ErrNone if dir holds no run.
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
	err = dec.Decode(&r)
	if err == nil {
		err = dec.Decode(&r.Scenario)
	}
	if err == nil {
		err = errors.Join(r.Train.Validate(), r.Scenario.Validate())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// Open returns the policy of a run as its newest good checkpoint has it: the best on validation, else the last. The error
// wraps checkpoints.ErrNone if dir holds no run with a checkpoint.
func Open(dir string) (*agents.Policy, checkpoints.Provenance, error) {
	p, training, err := open(dir)
	if err != nil {
		return nil, training, fmt.Errorf("open run %s: %w", dir, err)
	}
	return p, training, nil
}

func open(dir string) (*agents.Policy, checkpoints.Provenance, error) {
	var training checkpoints.Provenance
	r, err := ReadRecipe(dir)
	if err != nil {
		return nil, training, err
	}
	store, err := checkpoints.ViewStore(filepath.Join(dir, storeName), checkpoints.Limits{})
	if err != nil {
		return nil, training, err
	}
	c, _, err := store.Latest()
	if err != nil {
		return nil, training, err
	}
	p := &agents.Policy{Name: filepath.Base(dir), Window: r.Train.Window, Hold: r.Hold}
	spec := p.Encoder().Spec(1)
	p.Menu = spec.Menu
	if p.Shape, err = agents.NewShape(&spec, r.Train.Size); err != nil {
		return nil, training, err
	}
	st, params, top, err := unpack(p.Shape, c)
	if err != nil {
		return nil, training, err
	}
	if p.Params = params; top != nil {
		p.Params = top
	}
	training = checkpoints.Provenance{
		Scenario: r.Scenario.Name, Seed: r.Train.Seed, Updates: st.Update, Trace: r.Scenario.Workload.Trace,
	}
	for _, p := range r.Workload.Seen {
		training.Seen = append(training.Seen, checkpoints.Period(p))
	}
	return p, training, nil
}
