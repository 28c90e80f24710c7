package runtimes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/train/recipe"
)

// Names of a run's files, apart from run.yaml and belief.NetworkFile.
const (
	metricsName = "metrics.jsonl"
	storeName   = "checkpoints"
	cardName    = "README.md"
)

// Options say where a run works. They do not affect its result.
type Options struct {
	Dir       string               // folder of the run
	Resume    bool                 // continue the run in Dir; without it Dir must not contain a run
	Scenarios []*scenario.Scenario // whose training and validation splits the run uses
	Progress  func(*Metrics)       // called after each epoch, and for the earlier ones of a resumed run; may be nil
}

// Result is the network of a finished run, with its scores on the validation splits, in the order of the scenarios.
type Result struct {
	Network *belief.Network
	Scores  []Scores
}

// Run fits a network and writes it, with a card that describes it, into the folder. If ctx ends first, Run returns an error that
// wraps ctx.Err(), and the epochs before that can be resumed. It returns an error if another run uses the folder.
func Run(ctx context.Context, cfg Config, opt Options) (*Result, error) {
	r, err := run(ctx, cfg, opt)
	if err != nil {
		return nil, fmt.Errorf("train beliefs: %w", err)
	}
	return r, nil
}

func run(ctx context.Context, cfg Config, opt Options) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	splits, made, err := read(&cfg, opt.Scenarios)
	if err != nil {
		return nil, err
	}
	unlock, err := recipe.Lock(opt.Dir, opt.Resume)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := made.put(opt.Dir, opt.Resume); err != nil {
		return nil, err
	}
	f, err := newFit(&cfg, splits.training, splits.control)
	if err != nil {
		return nil, err
	}
	defer f.machine.close()
	if err := f.run(ctx, opt); err != nil {
		return nil, err
	}
	if err := f.net.Write(opt.Dir); err != nil {
		return nil, err
	}
	result := &Result{Network: &f.net}
	for _, s := range splits.jobs {
		result.Scores = append(result.Scores, Judge(&f.net, s[0], s[1]))
	}
	return result, atomicfile.WriteBytes(filepath.Join(opt.Dir, cardName), 0o666, card(made, result))
}

// splits are the examples of a run, and the jobs of the training and validation split of each scenario.
type splits struct {
	training, control []Example
	jobs              [][2][]trace.Job
}

// read plays the scenarios.
func read(cfg *Config, scenarios []*scenario.Scenario) (*splits, *Recipe, error) {
	all, made := &splits{}, &Recipe{Beliefs: *cfg, Scenarios: scenarios}
	for _, s := range scenarios {
		src, err := s.Open()
		if err != nil {
			return nil, nil, err
		}
		if src.Count(scenario.Train) == 0 {
			return nil, nil, fmt.Errorf("scenario %s has no training windows", s.Name)
		}
		digest, err := src.Digest()
		if err != nil {
			return nil, nil, err
		}
		made.Workloads = append(made.Workloads, recipe.Of(src, digest))
		var jobs [2][]trace.Job
		for i, split := range []scenario.Split{scenario.Train, scenario.Validation} {
			if jobs[i], err = src.Jobs(split, cfg.Seed); err != nil {
				return nil, nil, err
			}
		}
		all.jobs = append(all.jobs, jobs)
		draw := rng.Stream(cfg.Seed, "runtimes", "examples", s.Name)
		all.training = append(all.training, some(training(jobs[0], draw), cfg.Examples, draw)...)
		all.control = append(all.control, validation(jobs[0], jobs[1], draw)...)
	}
	if len(all.training) == 0 {
		return nil, nil, errors.New("no example in the training splits, want 1 or more")
	}
	return all, made, nil
}

// state is the metadata of a checkpoint.
type state struct {
	Metrics []Metrics `json:"metrics"`
	Done    int       `json:"done"` // members
	Epoch   int       `json:"epoch"`
	Since   int       `json:"since"`
	Loss    float64   `json:"loss"`
	Steps   int64     `json:"adam_steps"`
}

// run makes the epochs that are left, and stores a checkpoint after each.
func (f *fit) run(ctx context.Context, opt Options) error {
	store, err := checkpoints.OpenStore(filepath.Join(opt.Dir, storeName), checkpoints.StoreOptions{Keep: 2})
	if err != nil {
		return err
	}
	var all []Metrics
	if opt.Resume {
		c, skipped, err := store.Latest()
		if len(skipped) > 0 {
			return fmt.Errorf("resume %s: remove the damaged checkpoints to go on from an older one:%s", opt.Dir,
				checkpoints.Reasons(skipped))
		}
		if err == nil {
			all, err = f.load(c)
		} else if errors.Is(err, checkpoints.ErrNone) { // killed before the first
			err = nil
		}
		if err != nil {
			return fmt.Errorf("resume %s: %w", opt.Dir, err)
		}
	}
	tell := func(m *Metrics) {
		if opt.Progress != nil {
			opt.Progress(m)
		}
	}
	for i := range all {
		tell(&all[i])
	}
	for !f.done() {
		m, err := f.next(ctx)
		if err != nil {
			return err
		}
		all = append(all, *m)
		st := state{all, len(f.net.Members), f.epoch, f.since, f.loss, f.adam.Steps}
		if err := store.Save(len(all), st, f.tensors()); err != nil {
			return err
		}
		if err := writeMetrics(opt.Dir, all); err != nil {
			return err
		}
		tell(m)
	}
	return writeMetrics(opt.Dir, all)
}

// writeMetrics writes one line for each epoch.
func writeMetrics(dir string, all []Metrics) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range all {
		if err := enc.Encode(&all[i]); err != nil {
			return fmt.Errorf("write metrics: %w", err)
		}
	}
	return atomicfile.WriteBytes(filepath.Join(dir, metricsName), 0o666, b.Bytes())
}

// tensors returns the state of the fit, apart from its metadata.
func (f *fit) tensors() []checkpoints.Tensor {
	all := append(f.member.Tensors("now"), f.best.Tensors("best")...)
	for i := range f.net.Members {
		all = append(all, f.net.Members[i].Tensors(strconv.Itoa(i))...)
	}
	return append(all, f.adam.Tensors()...)
}

// load restores the state of a fit from a checkpoint.
func (f *fit) load(c checkpoints.Checkpoint) ([]Metrics, error) {
	var st state
	err := json.Unmarshal(c.Meta, &st)
	if err == nil && (st.Done < 0 || st.Done > f.cfg.Members) {
		err = fmt.Errorf("%d members are done, want at most %d", st.Done, f.cfg.Members)
	}
	for i := range max(st.Done, 0) {
		var m belief.Member
		if err == nil {
			m, err = belief.ReadMember(c.Tensors, strconv.Itoa(i))
		}
		f.net.Members = append(f.net.Members, m)
	}
	if err == nil {
		f.member, err = belief.ReadMember(c.Tensors, "now")
	}
	if err == nil {
		f.best, err = belief.ReadMember(c.Tensors, "best")
	}
	if err == nil {
		err = f.adam.Load(c.Tensors, st.Steps)
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint %d: %w", c.Step, err)
	}
	f.epoch, f.since, f.loss = st.Epoch, st.Since, st.Loss
	return st.Metrics, nil
}
