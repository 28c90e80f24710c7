package env

import (
	"context"
	"fmt"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
)

// Alone plays the episode of a seed under the prior (the base policy that the agents review), without agents, and returns its
// event log. Agents who always name the prior's choice get the same log; other agents can be compared with it. Alone does not
// change the episode in progress, except that it resets the game's Rule, if there is one.
func (c *Cluster) Alone(ctx context.Context, seed uint64) (*sim.Log, error) {
	start, err := c.episode(seed)
	if err != nil {
		return nil, fmt.Errorf("play the prior alone: %w", err)
	}
	episode, err := start.New()
	if err != nil {
		return nil, fmt.Errorf("play the prior alone: %w", err)
	}
	prior := c.cfg.Game.Review.Base()
	if rule := c.cfg.Game.Rule; rule != nil {
		prior = candidates.New("prior", c.cfg.Game.Review, rule)
	}
	if o := c.cfg.Game.Objective; o != nil {
		prior = &woken{prior, objectives.NewForesight(o)}
	}
	if err := episode.Run(ctx, prior, seed); err != nil {
		return nil, fmt.Errorf("play the prior alone: %w", err)
	}
	return episode.Log(), nil
}

// woken is a scheduler that decides at the instants at which the game with its objective does.
type woken struct {
	cluster.Scheduler
	costs *objectives.Foresight
}

// Schedule implements cluster.Scheduler.
func (w *woken) Schedule(tx *cluster.Txn) error {
	w.costs.Look(tx.View())
	w.costs.Wake(tx)
	return w.Scheduler.Schedule(tx)
}
