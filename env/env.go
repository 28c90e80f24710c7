package env

import (
	"errors"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
)

// ErrOver is wrapped by the error of Step when the episode is over, and before the first Reset.
var ErrOver = errors.New("no episode in progress")

// Env is a multi-agent environment, which plays one episode after another. The same seed and the same joint actions give the same
// time steps, byte for byte. An Env is not safe for concurrent use.
type Env interface {
	// Spec returns the shapes of observations and actions, and what every number in them means. It never changes.
	Spec() game.Spec
	// Reset starts the episode of a seed and fills first with its first time step. If the episode has nothing to choose, it is
	// over at once: first.Over() is true.
	Reset(seed uint64, first *TimeStep) error
	// Step plays one round and fills next with the time step after it. joint has one action for each agent, by index. next may be
	// the time step to which joint responds. For an action that the agent's mask forbids, Step returns an error that wraps
	// game.ErrMasked. After that error, and after an error about the length of joint or the number of a candidate, the state is
	// unchanged, and the caller may play the same round again.
	Step(joint []game.Action, next *TimeStep) error
	// Close frees what the environment holds.
	Close() error
}

// TimeStep is what the agents observe before a round. The caller owns it and may reuse it: Reset and Step allocate its slices on
// first use and later fill them in place. Other code must only read it.
//
// When an episode is over, the rows show the final state of the cluster, so that a learner can bootstrap from its value. There
// are no candidates and no coalitions then, and agents can only pass.
type TimeStep struct {
	game.Round
	Reward  float64       // of all agents together, for the time since the last step
	Rewards []float64     // [Agents]: each agent's own reward; all equal Reward unless the reward function is an AgentReward
	Elapsed time.Duration // simulated time since the last step
	Now     time.Duration // simulated time at this step
	// Taken lists the candidates that were carried out in the last round, in ascending order. If the prior's own candidate, number
	// 1, starts no job, it is carried out also when all agents pass.
	Taken []game.Action
	// Refused lists the candidates that agents named in the last round and that were not carried out, in ascending order.
	Refused    []game.Refusal
	Terminated bool   // all jobs have finished
	Truncated  string // why the episode was cut off before all jobs finished; "" if it was not
	// Cluster is the state behind the observations, for policies that need more than these. It changes with the next Step.
	Cluster *cluster.View
}

// Over reports whether the episode has ended, terminated or truncated.
func (ts *TimeStep) Over() bool { return ts.Terminated || ts.Truncated != "" }

// State appends to dst the input of a central critic: the rows of all servers, then those of all jobs, then the features of the
// cluster. Their number depends on the Spec alone.
func (ts *TimeStep) State(dst []float32) []float32 {
	dst = append(dst, ts.Servers...)
	dst = append(dst, ts.Jobs...)
	return append(dst, ts.Global...)
}

// CopyFrom makes ts a deep copy of src. Only List and Cluster still point to the memory of src.
func (ts *TimeStep) CopyFrom(src *TimeStep) {
	old := *ts
	*ts = *src
	ts.Round = old.Round
	ts.Round.CopyFrom(&src.Round)
	ts.Rewards = append(old.Rewards[:0], src.Rewards...)
	ts.Taken = append(old.Taken[:0], src.Taken...)
	ts.Refused = append(old.Refused[:0], src.Refused...)
}

// Reward is a reward function. It scores an interval of simulated time during which only the clock changes.
type Reward interface {
	Name() string
	// Score is called with the state as the agents left it at the instant from, before anything happens at the instant to.
	Score(s *cluster.View, from, to time.Duration) float64
}

// AgentReward is a Reward that also gives every agent a reward of its own.
type AgentReward interface {
	Reward
	// ScoreAgents adds each agent's reward for the same interval to dst, which has one number per agent.
	ScoreAgents(s *cluster.View, from, to time.Duration, dst []float64)
}

// Flow is the usual reward: minus the number of jobs that wait or run, integrated over time. Over an episode in which all jobs
// finish it sums to minus the sum of job completion times (JCT), so the policy with the highest return has the lowest mean JCT
// (Decima, SIGCOMM 2019, §5.3).
type Flow struct {
	Scale time.Duration // the unit of time; 0 for an hour, so that rewards are in job-hours
}

// Name implements Reward.
func (Flow) Name() string { return "flow" }

// Score implements Reward.
func (f Flow) Score(s *cluster.View, from, to time.Duration) float64 {
	scale := f.Scale
	if scale == 0 {
		scale = time.Hour
	}
	jobs := len(s.Pending()) + len(s.Running())
	return -float64(jobs) * float64(to-from) / float64(scale)
}
