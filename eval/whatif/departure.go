package whatif

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/policy"
)

// Departure is a choice of a learned team that is not its prior's.
type Departure struct {
	At     time.Duration
	Choice explain.Choice
}

// mostAsked is how many decisions of a log FirstDeparture asks the team about.
const mostAsked = 60

// FirstDeparture returns the first choice in a log of a learned team in which the team departs from its prior. It asks the team
// again at the decisions of the log in which something was done, at most 60, and passes over those in which the team, which
// begins there without memory, would do something else than the log. It returns nil if there is none.
func FirstDeparture(log *sim.Log, p *policy.Policy, seed uint64) (*Departure, error) {
	all, err := Decisions(log)
	if err != nil {
		return nil, err
	}
	for _, d := range all[:min(len(all), mostAsked)] {
		choices, does, err := choices(log, p, d.Number, seed)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(choices, departs)
		if i >= 0 && does == d.Does {
			return &Departure{At: time.Duration(d.At * float64(time.Second)), Choice: choices[i]}, nil
		}
	}
	return nil, nil
}

// departs reports whether a team takes a candidate that is not its prior's.
func departs(c explain.Choice) bool {
	return slices.ContainsFunc(c.Candidates, func(x explain.Candidate) bool { return x.Taken && !x.Prior })
}
