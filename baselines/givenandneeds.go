package baselines

import (
	"errors"
	"fmt"

	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/objectives"
)

// Given is what baselines may use that their names do not contain. The zero Given is enough for most. Its functions must be safe
// for concurrent use.
type Given struct {
	// Fitted returns a predictor of iterations that was fitted on jobs which ran before the episode: a new one at each call, always
	// with the same knowledge. A baseline with the option predictor=fitted needs it.
	Fitted func() asrpt.Predictor
	// Learned returns what a learner of a kind has learned from the jobs that ran before the episode, as belief.Learner.Save
	// returns it. Nobody changes it. KnowSuffix with seen=training needs it.
	Learned func(kind belief.Kind) []byte
	// Speeds returns what belief.Speeds has learned from readings before the episode, as its method Save returns it. Nobody changes
	// it. KnowSuffix with seen=training and speed=fit needs it.
	Speeds func() []byte
	// Memory is what was learned in production so far. Nobody changes it. KnowSuffix begins with it, and does not need Learned and
	// Speeds then. It may be nil.
	Memory *belief.Memory
	// Objective is what index decides by unless its name says another; nil for completion times.
	Objective *objectives.Objective
	// Tells says that baselines are told the truth that they need, as a reference for those that are not. Whoever simulates an
	// episode then tells it; see sim.Episode.Tell. KnowSuffix with time=truth or speed=truth needs it.
	Tells bool
}

// Nothing returns what baselines may begin with that have learned nothing. The truth that they ask for is not told.
func Nothing() Given {
	return Given{
		Learned: func(belief.Kind) []byte { return nil }, Speeds: func() []byte { return nil }, Tells: true,
	}
}

// Truth says which truth a baseline must be told.
type Truth struct{ Times, Speeds bool }

// Needs says which fields of Given a baseline needs, or begins with if it is given: Memory. It says which truth it needs, and
// whether it needs estimates.
type Needs struct {
	Fitted, Learned, Speeds bool
	Memory                  bool
	Estimates               bool // a job without an estimate of its duration is an error
	Objective               bool // it decides by Given.Objective
	Truth                   Truth
}

// Past reports whether the baseline needs what was learned from jobs that ran before the episode.
func (n *Needs) Past() bool { return n.Fitted || n.Learned || n.Speeds }

// Add adds the needs of another baseline.
func (n *Needs) Add(other Needs) {
	n.Fitted, n.Learned, n.Speeds = n.Fitted || other.Fitted, n.Learned || other.Learned, n.Speeds || other.Speeds
	n.Memory, n.Objective = n.Memory || other.Memory, n.Objective || other.Objective
	n.Estimates = n.Estimates || other.Estimates
	n.Truth = Truth{Times: n.Truth.Times || other.Truth.Times, Speeds: n.Truth.Speeds || other.Truth.Speeds}
}

// ErrUnfitted is wrapped by the error of Lacks.
var ErrUnfitted = errors.New("this needs a scenario and its training split, which are known only in eval")

// Lacks returns an error that wraps ErrUnfitted if the policy needs a field of Given that is not given.
func (s Spec) Lacks(g Given) error {
	of, instead := "", ""
	switch n := s.Needs(); {
	case n.Truth != (Truth{}) && !g.Tells:
		of = KnowSuffix + ": the truth"
	case g.Memory == nil && (n.Learned && g.Learned == nil || n.Speeds && g.Speeds == nil):
		of, instead = KnowSuffix+": option seen", "plan, whatif and serve take it from a file, with --beliefs"
	case n.Fitted && g.Fitted == nil:
		of, instead = "option predictor", "otherwise want a file that clustergym-studies predictor fit wrote"
	default:
		return nil
	}
	if instead != "" {
		instead = "; " + instead
	}
	return fmt.Errorf("policy %q: %s: %w%s", s, of, ErrUnfitted, instead)
}
