package eval

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
)

// giveObjective lets policies that ask for an objective decide by the plan's first.
func (p *Plan) giveObjective() {
	if len(p.Objectives) > 0 {
		p.Suites = slices.Clone(p.Suites)
		for i := range p.Suites {
			p.Suites[i].Objective = p.Objectives[0]
		}
	}
}

// costs follows an episode by several objectives.
type costs []*objectives.Meter

// watchCosts makes the simulator of an episode tell the costs what happens.
func watchCosts(s *sim.Sim, e *sim.Episode, all []*objectives.Objective) costs {
	if len(all) == 0 {
		return nil
	}
	var c costs
	for _, o := range all {
		c = append(c, e.Meter(o, nil))
	}
	v := &s.State().View
	s.Watch(func(from, to time.Duration) {
		for _, m := range c {
			m.Pass(v, from, to)
		}
	})
	return c
}

// Replay returns the meter of the whole episode of an event log, which it plays again: it returns the errors of sim.Replay.
func Replay(log *sim.Log, o *objectives.Objective) (*objectives.Meter, error) {
	var s *sim.Sim
	var c costs
	err := sim.Visit(log, sim.Look{Begin: func(again *sim.Sim) {
		s = again
		c = watchCosts(s, &sim.Episode{Config: log.Config, Jobs: log.Jobs}, []*objectives.Objective{o})
	}})
	if err != nil {
		return nil, err
	}
	c[0].Catch(&s.State().View)
	return c[0], nil
}

// end returns what the episode has cost.
func (c costs) end(s *sim.Sim, e *sim.Episode) (all []objectives.Bill) {
	for _, m := range c {
		m.Catch(&s.State().View)
		all = append(all, m.Bill(func(yield func(cluster.JobID, *cluster.JobSpec) bool) {
			for id := e.Config.Warm; id < len(e.Jobs); id++ {
				yield(cluster.JobID(id), &e.Jobs[id].JobSpec)
			}
		}))
	}
	return all
}

// CostKey returns the key of the cost by an objective, among the metrics of a comparison.
func CostKey(objective string) string { return "cost." + objective }

// ofCosts returns a quantity for each objective that the results were measured by.
func ofCosts(results []Result) (all []Quantity) {
	if len(results) == 0 {
		return nil
	}
	for i, c := range results[0].Costs {
		all = append(all, Quantity{
			Key: CostKey(c.Objective), Label: c.Objective, Unit: c.Unit, Main: true, cost: i + 1,
			About: "What a window costs by the objective " + c.Objective + ".",
		})
	}
	return all
}

// ratio returns by how much, in percent, the sum over windows differs from the baseline's. Windows in which nothing costs
// anything make no difference to it, and windows that cost much count as much as they cost. It is nil if the baseline costs
// nothing.
func ratio(own, base []float64, key string) *Difference {
	at := func(pick func(i int) int) float64 {
		a, b := 0.0, 0.0
		for i := range own {
			k := pick(i)
			a += own[k]
			b += base[k]
		}
		return 100 * (a - b) / b
	}
	mean := at(func(i int) int { return i })
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return nil
	}
	d := &Difference{Mean: Number(mean), Lo: Number(math.Inf(-1)), Hi: Number(math.Inf(1))}
	if len(own) < 2 {
		return d
	}
	r := rng.Stream(bootstrapSeed, "eval", "ratio", key)
	draws := make([]float64, 0, resamples)
	for range resamples {
		x := at(func(int) int { return r.IntN(len(own)) })
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			draws = append(draws, x)
		}
	}
	slices.Sort(draws)
	d.Lo, d.Hi = Number(stats.QuantileSorted(draws, (1-Level)/2)), Number(stats.QuantileSorted(draws, (1+Level)/2))
	return d
}
