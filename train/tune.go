package train

import (
	"github.com/clustergym/clustergym/env/scenario"
)

// tuneWindows is the number of training windows of each scenario that tune plays, evenly spread.
const tuneWindows = 16

// tune chooses among the baselines that Config.Prior names. It returns the one that costs least over training windows, but
// prefers an earlier name to a later one that is not better by more than the standard error of their ratio. It is
// deterministic, so a resumed run repeats it.
func (r *run) tune() (prior string, err error) {
	names := r.cfg.priors()
	if len(names) == 1 {
		return names[0], nil
	}
	best := names[0]
	var first, lowest []float64 // costs by window, of the first name and of the best so far
	var of []*scenario.Source
	for _, name := range names {
		var costs []float64
		for _, src := range r.sources {
			n := src.Count(scenario.Train)
			for w := range min(n, tuneWindows) {
				e, err := src.Episode(scenario.Train, w*n/min(n, tuneWindows), r.cfg.Seed)
				if err != nil {
					return "", err
				}
				s, err := r.baseline(src, name)
				if err != nil {
					return "", err
				}
				c, err := r.goal.follow(s, e.Episode)
				if err != nil {
					return "", err
				}
				if costs = append(costs, c.figure); name == names[0] {
					of = append(of, src)
				}
			}
		}
		if first == nil {
			first = costs
		}
		if costs = scaled(of, costs, first); lowest == nil || better(costs, lowest) {
			best, lowest = name, costs
		}
	}
	return best, nil
}
