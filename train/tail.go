package train

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
)

// The values of Config.Tail. The empty text means discountTail.
const (
	discountTail = "discount" // costs are discounted
	backlogTail  = "backlog"  // costs count in full for Config.Memory; after it comes an estimate for the jobs still in the system
)

// estimates reports whether labels count costs in full and end in an estimate of the backlog.
func (c *Config) estimates() bool { return c.Tail == backlogTail }

// drawsEstimate reports the same of draws. A learned critic estimates discounted costs, so draws with one are discounted.
func (c *Config) drawsEstimate() bool { return c.estimates() && !c.learnsCritic() }

// validateTail returns an error if Tail is unknown or does not go together with the other settings, which are valid.
func (c *Config) validateTail() error {
	g, err := c.goal()
	if err != nil {
		return fmt.Errorf("train.objective: %w", err)
	}
	other := func(t objectives.Term) bool { return t.Cost != objectives.Makespan }
	last := g.reward == nil && !slices.ContainsFunc(g.objective.Terms, other)
	switch {
	case c.Tail != "" && c.Tail != discountTail && c.Tail != backlogTail:
		return fmt.Errorf("train.tail: %q, want %s or %s", c.Tail, discountTail, backlogTail)
	case !c.estimates() && last:
		return fmt.Errorf("train.objective: %s, which is makespan alone, with train.tail=%s, want train.tail=%s: before the last jobs"+
			" end, every decision costs the same", g.objective.Name, discountTail, backlogTail)
	case c.estimates() && g.reward != nil:
		return fmt.Errorf("train.tail: %q with the reward %s, which gives no estimate of a backlog", c.Tail, c.Objective)
	case last && c.Expert < c.Updates && c.learnsCritic():
		return fmt.Errorf("train.objective: %s, which is makespan alone, with train.critic=%s, want train.critic=%s: a learned critic"+
			" estimates discounted costs, and before the last jobs end every decision costs the same", g.objective.Name, c.Critic,
			priorCritic)
	}
	return nil
}

// ends makes the player play forks for the memory of a run's settings, and then estimate the backlog.
func (g *player) ends(c *Config) {
	g.tail, g.until = true, c.Memory
	g.out.tailed = g.label < 0
}

// costInFull plays a fork for the given time, or to its end if that comes first. It returns the undiscounted cost from now on,
// and an estimate of what the jobs still in the system will cost. Forks of one decision end at the same instant, so that the same
// jobs have arrived in all of them.
func (b *costing) costInFull(fork *sim.Sim, prior cluster.Scheduler, length time.Duration) (float64, error) {
	cost, over := 0.0, false
	end := fork.State().Now() + min(length, cluster.Never-fork.State().Now())
	fork.Watch(func(from, to time.Duration) {
		v := &fork.State().View
		if over {
			return
		}
		cost += b.pass(v, from, min(to, end))
		if over = to >= end; over {
			cost += b.backlog(v, fork.Backlog(end, nil))
		}
	})
	err := fork.Continue(prior, 0, func(time.Duration, time.Duration, int) bool { return !over })
	if o := fork.Outcome(); err == nil && !over && !o.Terminated {
		err = cutOff(o)
	}
	if !over {
		cost += b.rest(&fork.State().View)
	}
	return cost, err
}
