package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"time"

	"github.com/clustergym/clustergym/cli"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/scenario"
)

// settings are the settings of the command besides the flags of every learner.
type settings struct {
	who, toy string
	updates  int
}

func (s *settings) flags(f *flag.FlagSet) {
	f.StringVar(&s.who, "who", "ippo", "who learns: every server for itself (ippo) or one controller for all (central)")
	f.IntVar(&s.updates, "updates", 60, "how often to play and learn")
	f.StringVar(&s.toy, "toy", "", "learn short-first, agree, agree-4, gather or small in place of a scenario; the game is the"+
		" toy's, in which the lead server carries a candidate out")
}

// course is an environment to learn in and one to evaluate in; they may be the same.
type course struct {
	learn, judge env.Env
	task
}

// open returns the course for a command line. For a scenario it learns on training windows and evaluates on all test windows.
func (s *settings) open(t *cli.Task) (c course, err error) {
	if s.toy != "" {
		if t.Source != nil {
			return c, fmt.Errorf("--toy %s with --scenario %s: want one of them", s.toy, t.Source.Scenario().Name)
		}
		if c.task, err = find(s.toy, game.Lead); err != nil {
			return c, err
		}
		c.learn, err = env.New(c.config)
		c.judge = c.learn
		return c, err
	}
	if c.learn, err = t.Env(scenario.Train); err != nil {
		return c, err
	}
	if c.judge, err = t.Env(scenario.Test); err != nil {
		return c, err
	}
	c.options = options{episodes: 8, batch: 256, rate: 1e-3, entropy: 0.005, memory: 2 * time.Hour}
	for seed := range uint64(t.Source.Count(scenario.Test)) {
		c.test = append(c.test, seed)
	}
	return c, nil
}

// learn prints the learning curve, and then the return of the policy when it takes its most likely choices.
func (s *settings) learn(ctx context.Context, t *cli.Task) error {
	c, err := s.open(t)
	if err != nil {
		return err
	}
	defer c.learn.Close()
	defer c.judge.Close()
	l, err := newLearner(c.learn, s.who, c.options, t.Seed)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.Talk, "%6s %9s %12s %16s\n", "update", "episodes", "mean return", "refused a round")
	if err != nil {
		return err
	}
	for n := range s.updates {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := l.update()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(t.Talk, "%6d %9d %12.2f %16.2f\n", n+1, l.played, p.mean, p.refused); err != nil {
			return err
		}
	}
	return c.compare(t, l)
}

// compare prints the return of the most likely choices with those of the prior and, if known, the optimum.
func (c *course) compare(t *cli.Task, l *learner) error {
	r := struct {
		Episodes  int     `json:"episodes"`
		Likeliest float64 `json:"likeliest"`
		Prior     float64 `json:"prior"`
		Optimum   float64 `json:"optimum,omitempty"`
	}{Episodes: len(c.test), Optimum: c.optimum}
	var err error
	if r.Likeliest, err = l.greedy(c.judge, c.test); err != nil {
		return err
	}
	if r.Prior, err = byPrior(c.judge, c.test); err != nil {
		return err
	}
	if t.JSON {
		return json.NewEncoder(t.Out).Encode(r)
	}
	_, err = fmt.Fprintf(t.Out, "mean return in %d test episodes\n%-16s %12.2f\n%-16s %12.2f\n", r.Episodes, "likeliest choice",
		r.Likeliest, "prior", r.Prior)
	if r.Optimum != 0 && err == nil {
		_, err = fmt.Fprintf(t.Out, "%-16s %12.2f\n", "optimum", r.Optimum)
	}
	return err
}
