package baselines

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/baselines/rollout"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/placement"
)

// looking returns the schedulers that look ahead.
func looking() []Baseline {
	return []Baseline{{
		"rollout", "another baseline that looks ahead: it plays what it might do on over drawn futures, and does what is better",
		"The base proposes. Every start is held against waiting, other jobs and other placements by playing the base on to the end" +
			" over futures drawn from what was seen so far, and what saves clearly more than chance is done instead.",
		"own; rollout policies: Bertsekas and Castanon (Journal of Heuristics 5, 1999)",
		needsEstimates + ", as the base does, and what profiles say of speed", declareRollout,
	}}
}

func declareRollout(s *settings) maker {
	s.orders = true
	base := "sjfskip"
	make := func(text string, menu func() placement.Placer) (cluster.Scheduler, error) {
		name, options, _ := strings.Cut(strings.ReplaceAll(text, "/", ":"), ":")
		b, ok := Find(name)
		if !ok || name == "rollout" {
			return nil, fmt.Errorf("%q, want a baseline but rollout, its options behind it as in sjfhold/times=3", text)
		}
		return b.make(name, options, menu)
	}
	c := rollout.Default(nil)
	s.Text(&base, "base", "a baseline, its options behind it as in sjfhold/times=3", func(text string) error {
		_, err := make(text, s.menu)
		return err
	}, "what it improves on", "own choice")
	s.Int(&c.Futures, "futures", 1, 1000, "that are drawn for a decision", "own choice; 8 were no better on validation windows")
	s.Duration(&c.Ahead, "ahead", "how long jobs arrive in a future, which is played until all have ended",
		"own choice; 30m and 6h were no better on validation windows")
	s.Int(&c.Items, "items", 1, 100, "alternatives in a list, at most", "own choice")
	s.Bool(&c.Wide, "wide", "whether they come from one list about many waiting and running jobs, which stays for the instant,"+
		" and not from a list about each start", "own choice")
	s.Float(&c.Errors, "errors", 0, 100, "standard errors that an alternative must save",
		"own choice; 1 and 3 were no better on validation windows")
	s.Float(&c.Scarce, "scarce", 0, 1, "part of the GPUs below which free ones are looked after although nobody waits", "own choice")
	s.Bool(&c.Deltas, "deltas", "whether running jobs may be stopped, moved and resized, or spared from that", "own choice")
	s.Duration(&c.Hold, "hold", "after which a job is no longer kept from starting", "own choice")
	s.Int(&c.Budget, "budget", 1, 1<<30, "decision points that are played for one decision, at most",
		"own choice: it bounds the time of a decision")
	s.Duration(&c.Pause, "pause", "what a restart is taken to cost a job", "own choice")
	return func(name string) cluster.Scheduler {
		from := func(menu func() placement.Placer) func() cluster.Scheduler {
			return func() cluster.Scheduler {
				p, err := make(base, menu)
				if err != nil {
					panic(fmt.Sprintf("baselines: %s: base %v", name, err)) // the option was checked
				}
				return p
			}
		}
		made := c
		made.Base = from(s.menu)
		if s.menu != nil {
			made.Play = from(hasty(s.menu))
			giveMenu(&made.Config, s.menu)
		}
		return rollout.New(name, made)
	}
}

// giveMenu lets a review offer what the menu has.
func giveMenu(c *candidates.Config, menu func() placement.Placer) {
	c.Menu, c.Start = true, menuBut(menu, func(c *placement.MenuConfig) { c.Wait = false })
}

// hasty makes menus that decide faster, for plays.
func hasty(menu func() placement.Placer) func() placement.Placer {
	return menuBut(menu, func(c *placement.MenuConfig) { c.Tries = 1 })
}

// menuBut makes menus with other options.
func menuBut(menu func() placement.Placer, change func(*placement.MenuConfig)) func() placement.Placer {
	return func() placement.Placer {
		p := menu()
		if m, ok := p.(*placement.Menu); ok {
			change(&m.MenuConfig)
		}
		return p
	}
}
