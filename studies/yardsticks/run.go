package yardsticks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train/recipe"
)

// Run is a finished training with its result. The folder of a run has it in run.json, and the weights beside it.
type Run struct {
	Config
	Scenario string               `json:"scenario"`
	Sets     []string             `json:"set"`    // changes to the scenario
	Digest   string               `json:"sha256"` // of all that the episodes depend on
	Prior    string               `json:"prior"`
	Seen     []checkpoints.Period `json:"seen"` // the parts of traces that it learned from
	Curve    []Point              `json:"curve"`
	CPU      float64              `json:"cpu_s"` // CPU time of the training, seconds

	Policy *Policy `json:"-"`
}

const (
	runName     = "run.json"
	weightsName = "weights.safetensors"
)

// gameOf returns the game about a prior's proposals. The lead server of a candidate decides, unless another member of the
// coalition names something else: independent learners hardly ever find a candidate that many servers must name at once.
func gameOf(prior string) (game.Config, error) {
	s, err := all.Table().Parse(prior)
	if err != nil {
		return game.Config{}, err
	}
	r, err := s.Review(baselines.Given{})
	return game.Config{Review: r.Config, Rule: r.Rule, Agree: game.Lead}, err
}

// environment returns the environment of a split of a scenario. The episode of a seed is the window seed modulo the number of
// windows.
func environment(src *scenario.Source, split scenario.Split, prior string) (env.Env, error) {
	play, err := gameOf(prior)
	if err != nil {
		return nil, err
	}
	rules, err := src.Scenario().SimConfig()
	if err != nil {
		return nil, err
	}
	n := uint64(src.Count(split))
	if n == 0 {
		return nil, fmt.Errorf("scenario %s has no windows of %s", src.Scenario().Name, split)
	}
	return env.New(env.Config{Sim: rules, Game: play, Episode: func(seed uint64) (sim.Episode, error) {
		e, err := src.Episode(split, int(seed%n), seed)
		return e.Episode, err
	}})
}

// On returns a run on a scenario that has not begun. sets are the changes that were made to the scenario.
func On(src *scenario.Source, sets []string, prior string, cfg Config) (*Run, error) {
	digest, err := src.Digest()
	if err != nil {
		return nil, err
	}
	return &Run{
		Config: cfg, Scenario: src.Scenario().Name, Sets: sets, Digest: digest, Prior: prior,
		Seen: recipe.Seen([]recipe.Workload{recipe.Of(src, digest)}),
	}, nil
}

// Learn trains on the training windows of the scenario and takes the weights that do best on its validation windows.
func (r *Run) Learn(src *scenario.Source, progress func(Point)) (err error) {
	t := Task{}
	if t.Learn, err = environment(src, scenario.Train, r.Prior); err != nil {
		return err
	}
	if t.Check, err = environment(src, scenario.Validation, r.Prior); err != nil {
		return err
	}
	for i := range src.Count(scenario.Validation) {
		t.Seeds = append(t.Seeds, uint64(i))
	}
	r.Policy, r.Curve, err = Learn(r.Config, &t, progress)
	return err
}

// Save writes a finished run into a folder. The folder has a file run.json only if the run is whole.
func (r *Run) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("save run: %w", err)
	}
	err := atomicfile.Write(filepath.Join(dir, weightsName), 0o644, func(w io.Writer) error {
		return checkpoints.WriteTensors(w, r.Policy.net.params(), nil)
	})
	if err != nil {
		return fmt.Errorf("save run: %w", err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("save run: %w", err)
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, runName), 0o644, append(text, '\n')); err != nil {
		return fmt.Errorf("save run: %w", err)
	}
	return nil
}

// Same reports whether two runs have the same recipe, and so the same weights.
func (r *Run) Same(o *Run) bool {
	recipe := func(r *Run) []byte {
		only := *r
		only.Curve, only.CPU = nil, 0
		text, err := json.Marshal(&only)
		if err != nil {
			panic("yardsticks: write recipe: " + err.Error()) // only for numbers that are not finite
		}
		return text
	}
	return bytes.Equal(recipe(r), recipe(o))
}

// Open reads the finished run in a folder. The error wraps fs.ErrNotExist if there is none.
func Open(dir string) (*Run, error) {
	text, err := os.ReadFile(filepath.Join(dir, runName))
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	r := &Run{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("open run %s: %w", dir, err)
	}
	g, err := gameOf(r.Prior)
	if err != nil {
		return nil, fmt.Errorf("open run %s: %w", dir, err)
	}
	created, err := game.New(g, 1)
	if err != nil {
		return nil, fmt.Errorf("open run %s: %w", dir, err)
	}
	spec := created.Spec()
	file, err := os.ReadFile(filepath.Join(dir, weightsName))
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	tensors, _, err := checkpoints.ReadTensors(file, checkpoints.Limits{})
	if err != nil {
		return nil, fmt.Errorf("open run %s: %w", dir, err)
	}
	n, err := netFrom(width(&spec), tensors)
	if err != nil {
		return nil, fmt.Errorf("open run %s: %w", dir, err)
	}
	r.Policy = &Policy{n}
	return r, nil
}

// As returns the run's policy under a name, for evaluations without a journal.
func (r *Run) As(name string) policy.Policy {
	p := played(name, r.Prior, func() game.Player { return r.Policy.player(name) })
	p.Training.Seen = r.Seen
	return p
}

// RandomPolicy returns the policy in which all agents choose at random.
func RandomPolicy(prior string) policy.Policy {
	return played(Random, prior, func() game.Player { return &random{} })
}

// played makes a policy of a player of the game about a prior.
func played(name, prior string, create func() game.Player) policy.Policy {
	return policy.Policy{Name: name, New: func() (cluster.Scheduler, error) {
		g, err := gameOf(prior)
		if err != nil {
			return nil, err
		}
		return game.NewScheduler(create(), g), nil
	}}
}
