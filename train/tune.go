package train

import (
	"math"

	"github.com/clustergym/clustergym/env/scenario"
)

// tuneWindows is the number of training windows of each scenario that tune plays, evenly spread.
const tuneWindows = 16

// tune chooses among the baselines that Config.Prior names. It returns the one with the lowest cost relative to the first one,
// averaged over training windows. It is deterministic, so a resumed run repeats it.
func (r *run) tune() (prior string, err error) {
	names := r.cfg.priors()
	if len(names) == 1 {
		return names[0], nil
	}
	best, lowest := names[0], math.Inf(1)
	var bar []*curve
	for _, name := range names {
		at, sum := 0, 0.0
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
				if name == names[0] {
					bar = append(bar, c)
				}
				sum += c.over(bar[at])
				at++
			}
		}
		if sum < lowest {
			best, lowest = name, sum
		}
	}
	return best, nil
}
