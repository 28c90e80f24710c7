package env

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// Config makes a Cluster environment.
type Config struct {
	Sim sim.Config // its cluster is that of every episode
	// Jobs returns the workload of a seed, which Sim plays; it is kept, not copied, and not changed.
	Jobs func(seed uint64) ([]trace.Job, error)
	// Episode returns the whole episode of a seed, in place of Jobs and of what Sim says beside the cluster.
	Episode func(seed uint64) (sim.Episode, error)
	Encoder Encoder // nil: NewEncoder(). It keeps scratch space: every environment needs its own
	Reward  Reward  // nil: Flow{}
	// Patience moves time on by that much, at most once a step, where nothing runs, arrives or wakes while agents that could
	// act leave jobs waiting, so that idling costs what it costs. 0 truncates the episode there: a reward that is never
	// positive then makes idling to the end look good to a learner that does not bootstrap from truncated steps.
	Patience time.Duration
	// SkipForced passes over decision points at which no agent may do anything but no-op: they are no steps, and their
	// reward and time go to the next one.
	SkipForced bool
}

// Cluster is the environment of a simulated cluster.
type Cluster struct {
	cfg   Config
	spec  Spec
	round *Round
	sim   *sim.Sim
	tx    *cluster.Txn // open while an episode is in progress
	// What the agents answer, kept here because the caller owns the time step.
	mask   []bool
	window []cluster.JobID
	choice bool // whether any agent may do anything but no-op
}

var _ Env = (*Cluster)(nil)

// New returns an environment before its first Reset.
func New(cfg Config) (*Cluster, error) {
	if (cfg.Jobs == nil) == (cfg.Episode == nil) {
		return nil, fmt.Errorf("make environment: no workload, or two: want Jobs or Episode")
	}
	if err := cfg.Sim.Cluster.Validate(); err != nil {
		return nil, fmt.Errorf("make environment: %w", err)
	}
	if cfg.Encoder == nil {
		cfg.Encoder = NewEncoder()
	}
	if cfg.Reward == nil {
		cfg.Reward = Flow{}
	}
	if cfg.Patience < 0 {
		return nil, fmt.Errorf("make environment: patience %v, want 0 or more", cfg.Patience)
	}
	servers := len(cfg.Sim.Cluster.Servers)
	spec := cfg.Encoder.Spec(servers)
	if spec.Agents != servers || spec.Window < 1 || len(spec.Menu) < 1 {
		return nil, fmt.Errorf("make environment: encoder for %d agents, window %d, menu %d, want %d, at least 1 and at least 1",
			spec.Agents, spec.Window, len(spec.Menu), servers)
	}
	return &Cluster{cfg: cfg, spec: spec, round: NewRound(spec)}, nil
}

// Spec implements Env.
func (c *Cluster) Spec() Spec { return c.spec }

// Reward returns how the environment scores time.
func (c *Cluster) Reward() Reward { return c.cfg.Reward }

// Close implements Env.
func (c *Cluster) Close() error {
	c.sim, c.tx = nil, nil
	return nil
}

// Log returns the record of the present or last episode, nil before the first. Read only.
func (c *Cluster) Log() *sim.Log {
	if c.sim == nil {
		return nil
	}
	return c.sim.Log()
}

// Reset implements Env. After an error no episode is in progress.
func (c *Cluster) Reset(seed uint64, first *TimeStep) error {
	c.tx = nil
	start, err := c.episode(seed)
	if err != nil {
		return fmt.Errorf("reset environment: %w", err)
	}
	if n := len(start.Config.Cluster.Servers); n != c.spec.Agents {
		return fmt.Errorf("reset environment: the episode has %d servers, want the %d agents", n, c.spec.Agents)
	}
	episode, err := start.New()
	if err != nil {
		return fmt.Errorf("reset environment: %w", err)
	}
	c.sim = episode
	c.begin(first)
	c.advance(first)
	return nil
}

func (c *Cluster) episode(seed uint64) (sim.Episode, error) {
	if c.cfg.Episode != nil {
		return c.cfg.Episode(seed)
	}
	jobs, err := c.cfg.Jobs(seed)
	return sim.Episode{Config: c.cfg.Sim, Jobs: jobs}, err
}

// Step implements Env.
func (c *Cluster) Step(joint []Action, next *TimeStep) error {
	if c.tx == nil {
		return fmt.Errorf("step environment: %w", ErrOver)
	}
	if len(joint) != c.spec.Agents {
		return fmt.Errorf("step environment: %d actions, want one for each of the %d agents", len(joint), c.spec.Agents)
	}
	idle, err := c.check(joint)
	if err != nil {
		return err
	}
	c.begin(next)
	if !idle {
		started, refused := c.round.Apply(c.tx, c.window, joint)
		next.Refused = append(next.Refused, refused...)
		if started > 0 {
			c.show(next)
			if c.choice || !c.cfg.SkipForced {
				return nil
			}
		}
	}
	if c.cfg.Patience > 0 && c.choice && c.stuck() {
		c.tx.WakeAt(c.tx.Now() + c.cfg.Patience)
	}
	c.sim.Commit()
	c.advance(next)
	return nil
}

// check holds the joint action against the masks that were shown.
func (c *Cluster) check(joint []Action) (idle bool, err error) {
	idle = true
	for agent, a := range joint {
		if a == NoOp {
			continue
		}
		idle = false
		if a < 0 || int(a) >= c.spec.Actions() {
			return false, fmt.Errorf("step environment: agent %d answers %d, want 0 to %d", agent, a, c.spec.Actions()-1)
		}
		if !c.mask[agent*c.spec.Actions()+int(a)] {
			return false, fmt.Errorf("step environment: agent %d answers %d: %w", agent, a, ErrMasked)
		}
	}
	return idle, nil
}

// advance moves to the next decision point that is a step, or to the end.
func (c *Cluster) advance(ts *TimeStep) {
	for {
		from := c.sim.State().Now()
		to, more := c.sim.Peek()
		if more {
			ts.Reward += c.cfg.Reward.Score(c.sim.State(), from, to)
		}
		tx, ok := c.sim.Next()
		now := c.sim.State().Now()
		ts.Elapsed += now - from
		ts.Now = now
		c.tx = tx
		if ok && c.done() {
			c.sim.Commit() // nobody has anything to answer to the last finish
			continue
		}
		c.show(ts)
		if !ok {
			o := c.sim.Outcome()
			ts.Terminated, ts.Truncated = o.Terminated, o.Truncated
			return
		}
		if c.choice || !c.cfg.SkipForced {
			return
		}
		c.sim.Commit()
	}
}

// done reports whether every job has finished.
func (c *Cluster) done() bool {
	_, more := c.sim.Peek()
	return !more && len(c.sim.State().Pending()) == 0 && len(c.sim.State().Running()) == 0
}

// stuck reports whether nothing will happen unless the agents act.
func (c *Cluster) stuck() bool {
	_, more := c.sim.Peek()
	return !more && len(c.sim.State().Running()) == 0
}

// show fills the observations and remembers what was shown.
func (c *Cluster) show(ts *TimeStep) {
	c.cfg.Encoder.Encode(c.sim.State(), ts)
	c.mask = append(c.mask[:0], ts.Mask...)
	c.window = append(c.window[:0], ts.Window...)
	c.choice = ts.Choice(&c.spec)
}

// begin makes a time step ready to be filled, whatever it held before.
func (c *Cluster) begin(ts *TimeStep) {
	c.spec.fit(ts)
	ts.State, ts.Now = c.sim.State(), c.sim.State().Now()
	ts.Reward, ts.Elapsed, ts.Refused = 0, 0, ts.Refused[:0]
	ts.Terminated, ts.Truncated = false, ""
}

// fit gives the slices of a time step their sizes.
func (s *Spec) fit(ts *TimeStep) {
	size := func(buf []float32, n int) []float32 { return slices.Grow(buf[:0], n)[:n] }
	ts.Servers = size(ts.Servers, s.Agents*len(s.Server))
	ts.Jobs = size(ts.Jobs, s.Window*len(s.Job))
	ts.Items = size(ts.Items, s.Agents*s.Items()*len(s.Item))
	ts.Global = size(ts.Global, len(s.Global))
	ts.Mask = slices.Grow(ts.Mask[:0], s.Agents*s.Actions())[:s.Agents*s.Actions()]
	ts.Window = slices.Grow(ts.Window[:0], s.Window)[:s.Window]
}
