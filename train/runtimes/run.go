package runtimes

import (
	"context"
	"errors"
	"fmt"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/train/ensemble"
	"github.com/clustergym/clustergym/train/recipe"
)

// Options say where a run works. They do not affect its result.
type Options struct {
	ensemble.Options
	Scenarios []*scenario.Scenario // whose training and validation splits the run uses
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
	if err := recipe.Put(opt.Dir, made, made.Scenarios, opt.Resume); err != nil {
		return nil, err
	}
	f, err := newFit(&cfg, splits.training, splits.control)
	if err != nil {
		return nil, err
	}
	defer f.machine.close()
	if err := f.run(ctx, opt.Options); err != nil {
		return nil, err
	}
	result := &Result{Network: &f.net}
	for _, s := range splits.jobs {
		result.Scores = append(result.Scores, Judge(&f.net, s[0], s[1]))
	}
	return result, ensemble.Write(opt.Dir, &f.net, model(&f.net), card(made, result))
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
