package speeds

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train/ensemble"
	"github.com/clustergym/clustergym/train/recipe"
)

// Options say where a run works. They do not affect its result.
type Options struct {
	ensemble.Options
	Scenarios []*scenario.Scenario // whose training and validation windows are played
}

// Result is the network of a finished run, with its scores on the held clusters, in the order of the scenarios.
type Result struct {
	Network *belief.SpeedNetwork
	Scores  []Scores
}

// Run fits a network and writes it, with a card that describes it, into the folder. If ctx ends first, Run returns an error that
// wraps ctx.Err(), and the epochs before that can be resumed. It returns an error if another run uses the folder.
func Run(ctx context.Context, cfg Config, opt Options) (*Result, error) {
	r, err := run(ctx, &cfg, opt)
	if err != nil {
		return nil, fmt.Errorf("train beliefs about speeds: %w", err)
	}
	return r, nil
}

func run(ctx context.Context, cfg *Config, opt Options) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	made, err := newRecipe(cfg, opt.Scenarios)
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
	var training, control []Example
	var held [][]Example // parts of control, by scenario
	for _, s := range opt.Scenarios {
		seen, err := playAll(ctx, s, scenario.Train, cfg, 0, cfg.Clusters)
		if err != nil {
			return nil, err
		}
		unseen, err := playAll(ctx, s, scenario.Validation, cfg, cfg.Clusters, cfg.Held)
		if err != nil {
			return nil, err
		}
		training, control, held = append(training, seen...), append(control, unseen...), append(held, unseen)
	}
	if len(training) == 0 || len(control) == 0 {
		return nil, errors.New("no example of a speed, want scenarios with told.speeds=nothing and readings")
	}
	f, err := newFit(cfg, training, control)
	if err != nil {
		return nil, err
	}
	defer f.machine.close()
	if err := f.run(ctx, opt.Options); err != nil {
		return nil, err
	}
	result := &Result{Network: &f.net}
	for _, examples := range held { // whose inputs newFit has normalised
		result.Scores = append(result.Scores, judge(&f.net, examples))
	}
	return result, ensemble.Write(opt.Dir, &f.net, model(&f.net), card(made, result))
}

// playAll returns the examples of n clusters, from a number on, which it plays at the same time.
func playAll(ctx context.Context, s *scenario.Scenario, split scenario.Split, cfg *Config, from, n int) ([]Example, error) {
	parts, errs := make([][]Example, n), make([]error, n)
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		free <- struct{}{}
		wait.Go(func() {
			parts[i], errs[i] = play(ctx, s, split, cfg, from+i)
			<-free
		})
	}
	wait.Wait()
	var all []Example
	for _, p := range parts {
		all = append(all, p...)
	}
	return all, errors.Join(errs...)
}
