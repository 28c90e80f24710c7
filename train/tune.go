package train

import (
	"math"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
)

// holds are the bounds of the prior that tune tries.
var holds = []float64{0, 1, 2, 3, 5, 10, 20, 50}

// tuneWindows is how many training windows tune looks at, spread evenly.
const tuneWindows = 24

// tune returns the bound of the prior with the lowest mean over training windows of the sum of completion times relative to
// sjfskip's. It is cheap and deterministic, so a resumed run does it again.
func (r *run) tune() (hold float64, err error) {
	if r.source.Scenario().Estimates.Kind == trace.None {
		return 0, nil // nothing tells what to hold back
	}
	n := r.source.Count(scenario.Train)
	best, lowest := 0.0, math.Inf(1)
	var bar []*curve
	for _, hold := range holds {
		sum := 0.0
		for w := range min(n, tuneWindows) {
			e, err := r.source.Episode(scenario.Train, w*n/min(n, tuneWindows), r.cfg.Seed)
			if err != nil {
				return 0, err
			}
			c, err := follow(baselines.NewHold(hold), e.Episode, r.cfg.Memory)
			if err != nil {
				return 0, err
			}
			if hold == 0 {
				bar = append(bar, c)
			}
			sum += c.over(bar[w])
		}
		if sum < lowest {
			best, lowest = hold, sum
		}
	}
	return best, nil
}
