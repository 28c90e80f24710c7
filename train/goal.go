package train

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/backlog"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
)

// goal is what a run learns for: low costs by an objective or, in its place, by a reward function of the program, discounted.
type goal struct {
	objective *objectives.Objective
	reward    env.Reward    // not nil: costs are its negative rewards
	memory    time.Duration // time constant of the discount
}

// usual is the name of the objective of a run that names none.
const usual = "completion"

// goal returns what the run learns for.
func (c *Config) goal() (g goal, err error) {
	g.memory = c.Memory
	if slices.Contains(env.RewardNames(), c.Objective) {
		g.reward, err = env.NamedReward(c.Objective)
		return g, err
	}
	if g.objective, err = objectives.Open(cmp.Or(c.Objective, usual)); err != nil {
		return g, fmt.Errorf("%w; the rewards of this program are %s", err, strings.Join(env.RewardNames(), ", "))
	}
	return g, nil
}

// Settle replaces the name or the file of the objective by its text, so that the settings alone say what the run learns for. The
// name of a reward of the program stays, and the usual objective becomes the empty text.
func (c *Config) Settle() error {
	g, err := c.goal()
	switch {
	case err != nil:
		return fmt.Errorf("train.objective: %w", err)
	case g.reward != nil:
	case g.objective.Text() == objectives.Usual().Text():
		c.Objective = ""
	default:
		c.Objective = g.objective.Text()
	}
	return nil
}

// Compared says in which words results by an objective are told, which is as in Config.Objective after Settle: what is divided by
// the prior's, and its unit. Where the objective is not part of this program, or only a reward, costs have no unit of their own.
func Compared(objective string) (what, unit string) {
	c := Config{Objective: objective}
	g, err := c.goal()
	switch {
	case err != nil || g.reward != nil:
		return "cost", "reward units"
	case objective == "":
		return "mean JCT", g.objective.Unit
	}
	return "cost by " + g.objective.Name, g.objective.Unit
}

// costing adds up what an episode costs while it goes on. Jobs that fill the cluster before the window count, too: nobody who
// decides knows which these are.
type costing struct {
	reward env.Reward
	meter  *objectives.Meter // nil with a reward
}

// costing returns the costing of an episode that has not begun.
func (g goal) costing(e *sim.Episode) costing {
	if g.reward != nil {
		return costing{reward: g.reward}
	}
	all := *e
	all.Config.Warm = 0
	return costing{meter: all.Meter(g.objective, nil)}
}

// copyTo makes dst an independent copy, for a fork of the simulator.
func (b *costing) copyTo(dst *costing) {
	dst.reward = b.reward
	if b.meter == nil {
		return
	}
	if dst.meter == nil {
		dst.meter = &objectives.Meter{}
	}
	b.meter.CopyTo(dst.meter)
}

// pass returns the cost of the time between two instants, during which only the clock changes, and of what happened before them.
func (b *costing) pass(v *cluster.View, from, to time.Duration) float64 {
	if b.meter == nil {
		return -b.reward.Score(v, from, to)
	}
	before := b.meter.Total()
	b.meter.Pass(v, from, to)
	return b.meter.Total() - before
}

// rest returns the cost of what happened at the last instant.
func (b *costing) rest(v *cluster.View) float64 {
	if b.meter == nil {
		return 0
	}
	before := b.meter.Total()
	b.meter.Catch(v)
	return b.meter.Total() - before
}

// rate returns the cost of the hour after now if nothing changes. It changes the costing.
func (b *costing) rate(v *cluster.View) float64 {
	b.rest(v)
	return b.pass(v, v.Now(), v.Now()+time.Hour)
}

// foresight is how far the order of a backlog looks ahead, and least the smallest weight of its jobs.
const (
	foresight = time.Hour
	least     = 1e-9
)

// backlog estimates what jobs will cost that wait or run, from the last instant on: a virtual machine plays them, first those
// that save most for the work that they need. Only the jobs' own terms and the makespan can be estimated so. It changes the jobs.
func (b *costing) backlog(v *cluster.View, jobs []backlog.Job) (cost float64) {
	span := func(hours float64) time.Duration { return time.Duration(hours * float64(time.Hour)) }
	for i := range jobs {
		j := &jobs[i]
		j.Weight = max(b.meter.Rate(v, j.ID, span(j.Least), foresight, v.Spec(j.ID).GPUs()), least)
	}
	backlog.Play(jobs)
	last := 0.0
	for i := range jobs {
		j, wait := &jobs[i], 0.0
		if v.Phase(j.ID) != cluster.Running {
			wait = max(j.End-j.Least, 0)
		}
		cost += b.meter.Cost(v, j.ID, span(wait), span(j.End-wait), v.Spec(j.ID).GPUs())
		last = max(last, j.End)
	}
	for i := range b.meter.Objective().Terms {
		if t := &b.meter.Objective().Terms[i]; t.Cost == objectives.Makespan {
			cost += t.Price.Amount * last / t.Price.Per.Hours()
		}
	}
	return cost
}
