package env

import (
	"errors"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
)

// ErrOver is returned by Step when the episode is over, or before the first Reset.
var ErrOver = errors.New("no episode in progress")

// Env is an episode that agents play. Same seed and same joint actions, same time steps, byte for byte. Not safe for
// concurrent use.
type Env interface {
	// Spec tells sizes and the meaning of every number. It does not change.
	Spec() game.Spec
	// Reset starts the episode of a seed and fills first. An episode in which there is nothing to choose has no steps: first is
	// Over.
	Reset(seed uint64, first *TimeStep) error
	// Step plays one round and fills next, which may be the step that the joint action answers. joint has one action an agent.
	// An action that the agent's mask excludes is an error that wraps game.ErrMasked. After that, and after a joint action of
	// another length or a number that there is not, nothing has happened, and the same round may be answered again.
	Step(joint []game.Action, next *TimeStep) error
	// Close releases what the environment holds.
	Close() error
}

// TimeStep is what the agents see. The caller owns it and may reuse it; Reset and Step size its slices on first use and then
// fill them in place. Everything is read only for others. When an episode is over its rows show the state as the episode left
// it, where a value may be bootstrapped; there are no candidates and coalitions, and agents may but pass.
type TimeStep struct {
	game.Round
	Reward  float64       // shared by all agents, for the time that passed since the last step
	Rewards []float64     // [Agents]: each agent's own; all are Reward unless the reward is an AgentReward
	Elapsed time.Duration // simulated time since the last step
	Now     time.Duration // simulated time
	// Taken lists the candidates that were carried out in the last round, ascending. Where the prior's own starts nobody, to pass is
	// to take it.
	Taken []game.Action
	// Refused lists the candidates that were named in the last round and not carried out, ascending by number.
	Refused    []game.Refusal
	Terminated bool   // every job finished
	Truncated  string // why the episode was cut off before that, "" if it was not
	// Cluster is the state behind the observations, for policies that look further. It changes with the next Step.
	Cluster *cluster.State
}

// Over reports whether the episode has ended, one way or the other.
func (ts *TimeStep) Over() bool { return ts.Terminated || ts.Truncated != "" }

// State appends the vector that a central critic may read: the rows of all servers, of all jobs, and the cluster's. Its length
// depends on the Spec alone.
func (ts *TimeStep) State(dst []float32) []float32 {
	dst = append(dst, ts.Servers...)
	dst = append(dst, ts.Jobs...)
	return append(dst, ts.Global...)
}

// CopyFrom makes ts a copy of src that shares no memory with it, but for List and Cluster.
func (ts *TimeStep) CopyFrom(src *TimeStep) {
	old := *ts
	*ts = *src
	ts.Round = old.Round
	ts.Round.CopyFrom(&src.Round)
	ts.Rewards = append(old.Rewards[:0], src.Rewards...)
	ts.Taken = append(old.Taken[:0], src.Taken...)
	ts.Refused = append(old.Refused[:0], src.Refused...)
}

// Reward scores the time between two decision points, during which nothing changes but the clock.
type Reward interface {
	Name() string
	// Score is called with the state as the agents left it at the instant from, before anything happens at the instant to.
	Score(s *cluster.State, from, to time.Duration) float64
}

// AgentReward is a Reward that also gives every agent its own.
type AgentReward interface {
	Reward
	// ScoreAgents adds to dst, one number an agent, what each is given for the same time as Score.
	ScoreAgents(s *cluster.State, from, to time.Duration, dst []float64)
}

// Flow is the negative number of jobs in the system integrated over time, in units of Scale: a whole episode sums to the
// negative sum of completion times, so its maximum is the minimum mean JCT (Decima, SIGCOMM 2019, §5.3).
type Flow struct {
	Scale time.Duration // 0 for an hour
}

// Name implements Reward.
func (Flow) Name() string { return "flow" }

// Score implements Reward.
func (f Flow) Score(s *cluster.State, from, to time.Duration) float64 {
	scale := f.Scale
	if scale == 0 {
		scale = time.Hour
	}
	jobs := len(s.Pending()) + len(s.Running())
	return -float64(jobs) * float64(to-from) / float64(scale)
}
