package env

import (
	"errors"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Action is one agent's answer: 0 is no-op, 1 + k·L + l takes level l of the menu for the k-th job of the window: as many of
// its workers as the server takes and the gang still lacks.
type Action int32

// NoOp leaves the agent's server as it is. It is always legal.
const NoOp Action = 0

// ErrMasked is wrapped by Step's error when an agent answers with an action that its mask excludes. Nothing has happened
// then.
var ErrMasked = errors.New("masked action")

// ErrOver is returned by Step when the episode is over, or before the first Reset.
var ErrOver = errors.New("no episode in progress")

// Env is an episode that agents play. Same seed and same joint actions, same time steps, byte for byte. Not safe for
// concurrent use.
type Env interface {
	// Spec tells sizes and the meaning of every number. It does not change.
	Spec() Spec
	// Reset starts the episode of a seed and fills first.
	Reset(seed uint64, first *TimeStep) error
	// Step plays one round and fills next, which may be the step that the joint action answers. joint has one action an agent.
	Step(joint []Action, next *TimeStep) error
	// Close releases what the environment holds.
	Close() error
}

// Feature is the meaning of one number of an observation.
type Feature struct {
	Name string  `json:"name"`
	Unit string  `json:"unit"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// Spec is the shape of an environment.
type Spec struct {
	Agents int // servers
	Window int // jobs shown at a time
	Menu   []Level
	Server []Feature // of a server: one agent's own observation
	Job    []Feature // of a job in the window
	Item   []Feature // of a server and a level of a job in the window
	Global []Feature // of the cluster
}

// Actions counts the actions of an agent, no-op included.
func (s *Spec) Actions() int { return 1 + s.Items() }

// Items counts the (job, level) pairs that an agent may take.
func (s *Spec) Items() int { return s.Window * len(s.Menu) }

// TimeStep is what the agents see. The caller owns it and may reuse it; Reset and Step size its slices on first use and then
// fill them in place. Everything is read only for others.
type TimeStep struct {
	Servers []float32 // [Agents][len(Spec.Server)]
	Jobs    []float32 // [Window][len(Spec.Job)]; rows of an absent job are 0
	Items   []float32 // [Agents][Items][len(Spec.Item)]; rows of a masked item are 0
	Global  []float32 // [len(Spec.Global)]
	Mask    []bool    // [Agents][Actions]: legal actions; no-op always is
	Window  []cluster.JobID
	Reward  float64       // shared by all agents, for the time that passed since the last step
	Elapsed time.Duration // simulated time since the last step
	Now     time.Duration // simulated time
	// Refused lists the agents whose action of the last round was legal but lost (see Round.Apply): the job had enough claims
	// before, or its gang did not become complete.
	Refused    []int32
	Terminated bool   // every job finished
	Truncated  string // why the episode was cut off before that, "" if it was not
	// State is the cluster behind the observations, for policies that look further. It changes with the next Step.
	State *cluster.State
}

// Over reports whether the episode has ended, one way or the other.
func (ts *TimeStep) Over() bool { return ts.Terminated || ts.Truncated != "" }

// Legal returns agent i's mask: one entry an action.
func (ts *TimeStep) Legal(spec *Spec, agent int) []bool {
	n := spec.Actions()
	return ts.Mask[agent*n : (agent+1)*n]
}

// Choice reports whether any agent may do anything but no-op.
func (ts *TimeStep) Choice(spec *Spec) bool {
	n := spec.Actions()
	for a := 0; a < len(ts.Mask); a += n {
		for _, legal := range ts.Mask[a+1 : a+n] {
			if legal {
				return true
			}
		}
	}
	return false
}

// Encoder turns a state into observations. It must depend on the state alone, so that training and production see the same.
type Encoder interface {
	// Spec returns the sizes for a cluster of that many servers.
	Spec(servers int) Spec
	// Encode fills the observations, the window and the mask of ts, whose slices have the sizes of Spec.
	Encode(s *cluster.State, ts *TimeStep)
}

// Reward scores the time between two decision points, during which nothing changes but the clock.
type Reward interface {
	Name() string
	// Score is called with the state as the agents left it at the instant from, before anything happens at the instant to.
	Score(s *cluster.State, from, to time.Duration) float64
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
