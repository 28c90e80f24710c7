package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
)

// Group is a group of runs that differ only in train.seed. Mean, Min, Max and Interval are of the validation figures of the runs'
// best policies.
type Group struct {
	Settings map[string]string `json:"settings"` // those in which the groups differ
	Runs     []string          `json:"runs"`     // names
	Seeds    []string          `json:"seeds"`
	Mean     float64           `json:"mean"`
	Min      float64           `json:"min"`
	Max      float64           `json:"max"`
	// Interval is the 95 % confidence interval of the mean over seeds; nil for fewer than three seeds. See stats.PairedCI.
	Interval *[2]float64 `json:"interval,omitempty"`
	// Unfinished is the number of runs that have not made all their updates.
	Unfinished int `json:"unfinished,omitempty"`
}

// Settings of an interval.
const (
	level     = 0.95
	resamples = 10_000
	leastRuns = 3 // for an interval
)

// group groups the runs with a validation by their settings except the seed. The parameter all contains the settings of each run.
func (c *Comparison) group(all [][]setting) {
	var keys []string
	var members [][]int
	for i := range c.Runs {
		if c.Runs[i].Best == nil {
			continue
		}
		var key strings.Builder
		for _, s := range all[i] {
			if s.key != "seed" {
				fmt.Fprintf(&key, "%q", s.value)
			}
		}
		at := slices.Index(keys, key.String())
		if at < 0 {
			at = len(keys)
			keys, members = append(keys, key.String()), append(members, nil)
		}
		members[at] = append(members[at], i)
	}
	for _, list := range members {
		if len(list) > 1 {
			c.Groups = append(c.Groups, c.summary(list, all))
		}
	}
}

// summary summarises the runs of a group.
func (c *Comparison) summary(list []int, all [][]setting) Group {
	g := Group{Settings: map[string]string{}}
	var figures []float64
	for _, i := range list {
		r := &c.Runs[i]
		g.Runs = append(g.Runs, r.Name)
		figures = append(figures, r.Best.JCT)
		if !r.Finished {
			g.Unfinished++
		}
		for _, s := range all[i] {
			if s.key == "seed" {
				g.Seeds = append(g.Seeds, s.value)
			} else if slices.Contains(c.Settings, s.key) {
				g.Settings[s.key] = s.value
			}
		}
	}
	g.Mean, g.Min, g.Max = stats.Mean(figures), slices.Min(figures), slices.Max(figures)
	if len(figures) >= leastRuns {
		lo, hi := stats.PairedCI(figures, level, resamples, rng.Stream(0, "compare runs"))
		g.Interval = &[2]float64{lo, hi}
	}
	return g
}
