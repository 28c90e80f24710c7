package headroom

import (
	"fmt"

	"github.com/clustergym/clustergym/env/sim"
)

// Bounds are lower bounds, in seconds, for any scheduler of this simulator that finishes every job of an episode, even one that
// knows the future. They hold up to the simulator's rounding, half a nanosecond for each change of a speed. Warm jobs are left
// out: they only take capacity away.
type Bounds struct {
	// MeanJCT is the highest of Isolated, Shortest, Busy and Priced.
	MeanJCT float64 `json:"mean_jct_s"`
	// Makespan bounds the last finish, by single jobs run alone and by all work submitted from some time on.
	Makespan float64 `json:"makespan_s"`

	Isolated float64 `json:"isolated_s"` // every job runs alone on the best GPUs of the cluster
	Shortest float64 `json:"shortest_s"` // the whole cluster is one machine, shortest remaining time first
	Busy     float64 `json:"busy_s"`     // the mean busy times of that machine, plus half of each job's least time
	Priced   float64 `json:"priced_s"`   // dual bound with a price on the machine's time
}

// tight reduces bounds slightly, to allow for rounding in sums and products.
const tight = 1 - 1e-9

// newBounds computes the bounds of an episode. It returns an error if a part of the physics has no known bound. It costs about as
// much time as a few episodes.
func newBounds(e *sim.Episode) (*Bounds, error) {
	v, err := newSpeeds(&e.Config)
	if err != nil {
		return nil, err
	}
	jobs := e.Jobs[e.Config.Warm:]
	if len(jobs) == 0 {
		return &Bounds{}, nil
	}
	lucks := make([]float64, len(jobs))
	for i := range jobs {
		if lucks[i], err = v.luck(&jobs[i].JobSpec); err != nil {
			return nil, fmt.Errorf("job %s: %w", jobs[i].Name, err)
		}
	}
	first := e.Jobs[0].Submit
	for i := range e.Jobs {
		first = min(first, e.Jobs[i].Submit)
	}
	var c *sharing
	if v.sliced {
		c = newSharing(v, jobs)
	}
	b := &Bounds{}
	n := float64(len(jobs)) / tight
	var strongest []item
	for _, m := range v.blends(&e.Config, jobs) {
		items := v.items(&m, c, jobs, lucks)
		b.Isolated = isolated(items) / n
		b.Shortest = max(b.Shortest, shortest(items)/n)
		if busy := busy(items) / n; busy > b.Busy || strongest == nil {
			b.Busy, strongest = busy, items
		}
		b.Makespan = max(b.Makespan, latest(items)*tight-first.Seconds())
	}
	b.MeanJCT = max(b.Isolated, b.Shortest, b.Busy)
	b.Priced = dual(strongest, 0) / n
	b.MeanJCT = max(b.MeanJCT, b.Priced)
	return b, nil
}
