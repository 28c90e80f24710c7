package rivals

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/studies/rivals/rollout"
)

// lookahead returns the baseline that looks ahead in the simulator.
func lookahead() baselines.Baseline {
	return baselines.Baseline{
		Name:  "rollout",
		About: "another baseline that looks ahead: it plays what it might do on over drawn futures, and does what is better",
		Rule: "The base proposes. Every start is held against waiting, other jobs and other placements by playing the base on to the" +
			" end over futures drawn from what was seen so far, and what saves clearly more than chance is done instead.",
		Source: "own; rollout policies: Bertsekas and Castanon (Journal of Heuristics 5, 1999)",
		Needs:  "an estimate of every job's duration, as the base does, and what profiles say of speed", Declare: declareRollout,
	}
}

func declareRollout(s *baselines.Settings) func(string) cluster.Scheduler {
	base, menu := "sjfskip", s.Menu()
	s.Needs.Estimates = true // as sjfskip does
	c := rollout.Default(nil)
	s.Text(&base, "base", "a baseline, its options behind it as in sjfhold/times=3", func(text string) error {
		b, err := baseOf(s.Table, text, menu)
		if err == nil && s.Given != nil {
			_, err = b.New(*s.Given) // a file may be missing
		}
		s.Needs, s.Files = b.Needs(), b.Files()
		return err
	}, "what it improves on", "own choice")
	s.Int(&c.Futures, "futures", 1, 1000, "that are drawn for a decision", "own choice; 8 were no better on validation windows")
	s.Duration(&c.Ahead, "ahead", "how long jobs arrive in a future, which is played until all have ended",
		"own choice; 30m and 6h were no better on validation windows")
	s.Int(&c.Items, "items", 1, 100, "alternatives in a list, at most", "own choice")
	s.Bool(&c.Deltas, "deltas", "whether running jobs may be stopped, moved and resized, or spared from that", "own choice")
	s.Int(&c.Budget, "budget", 1, 1<<30, "decision points that are played for one decision, at most",
		"own choice: it bounds the time of a decision")
	s.Gone("wide", "errors", "scarce", "hold", "pause")
	return func(name string) cluster.Scheduler {
		b, err := baseOf(s.Table, base, menu)
		var r baselines.Review
		if err == nil {
			r, err = b.Review(*s.Given)
		}
		if err != nil {
			panic(fmt.Sprintf("baselines: %s: base %v", name, err)) // cannot happen: the option was checked
		}
		made := c
		made.Base = r.Base
		if menu != "" {
			made.Play, made.Menu, made.Start = r.Play, r.Menu, r.Start
		}
		return rollout.New(name, made)
	}
}

// baseOf returns the baseline that a rollout improves on. If rollout's name has MenuSuffix, the baseline gets it too.
func baseOf(t baselines.Table, text string, menu string) (baselines.Spec, error) {
	base, err := t.Parse(strings.ReplaceAll(text, "/", ":") + menu)
	if err == nil && strings.HasPrefix(base.Base, "rollout") {
		err = fmt.Errorf("%q, want a baseline but rollout, its options behind it as in sjfhold/times=3", text)
	}
	return base, err
}
