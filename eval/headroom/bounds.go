package headroom

import (
	"fmt"

	"github.com/clustergym/clustergym/env/sim"
)

// Bounds are seconds that no scheduler of this simulator goes below on an episode, whatever it gives to jobs and whatever it
// knows of the future, if it finishes every job. They hold to within the simulator's rounding, half a nanosecond for each
// change of a speed. Warm jobs are left out: they only take room away.
type Bounds struct {
	// MeanJCT is the best of the four below.
	MeanJCT float64 `json:"mean_jct_s"`
	// Makespan: a job alone, and all the work that is submitted from some instant on.
	Makespan float64 `json:"makespan_s"`

	Isolated float64 `json:"isolated_s"` // every job alone on the best that the cluster has
	Shortest float64 `json:"shortest_s"` // one machine that is the whole cluster, shortest remaining time first
	Busy     float64 `json:"busy_s"`     // the mean busy times of that machine, and half of the own length
	Priced   float64 `json:"priced_s"`   // by prices on the machine's time
}

// Tight is a hair that takes the rounding of sums and products off bounds.
const tight = 1 - 1e-9

// newBounds works them out; an error names physics of which no bound is known. It costs about as much as a few episodes.
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
