package env

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// Config configures a Cluster environment. Set either Jobs or Episode, not both.
type Config struct {
	// Sim is how episodes are simulated. All episodes have the servers of Sim.Cluster.
	Sim sim.Config
	// Jobs returns the jobs of the episode of a seed. The environment keeps the slice and does not change it.
	Jobs func(seed uint64) ([]trace.Job, error)
	// Episode returns the whole episode of a seed: jobs, cluster and simulation. It must have as many servers as Sim.Cluster; the
	// rest of Sim is unused then.
	Episode func(seed uint64) (sim.Episode, error)
	// Game configures the prior, the search for candidates, what agents observe and when they agree.
	Game   game.Config
	Reward Reward // nil means Flow{}
	// Objective makes minus the cost of the objective the reward, in place of Reward. Each agent's own reward is its part: that of a
	// running job is divided among its servers by their workers, all else among all servers. It is Game.Objective, too.
	Objective *objectives.Objective
}

// Cluster is the environment of a simulated cluster. If there is nothing to choose at a decision point, the prior's proposal is
// carried out without a step; the next step includes the reward and the time.
type Cluster struct {
	cfg    Config
	game   *game.Game
	spec   game.Spec
	agents AgentReward // nil if the reward is shared
	sim    *sim.Sim
	tx     *cluster.Txn      // open while an episode is in progress
	into   *TimeStep         // the time step to which rewards are added while time passes
	meter  *objectives.Meter // of the episode in progress, if there is an objective
}

var _ Env = (*Cluster)(nil)

// New returns an environment. Its first call must be Reset.
func New(cfg Config) (*Cluster, error) {
	if (cfg.Jobs == nil) == (cfg.Episode == nil) {
		return nil, fmt.Errorf("make environment: no workload, or two: want Jobs or Episode")
	}
	if err := cfg.Sim.Cluster.Validate(); err != nil {
		return nil, fmt.Errorf("make environment: %w", err)
	}
	if cfg.Reward != nil && cfg.Objective != nil {
		return nil, fmt.Errorf("make environment: reward %s and objective %s, want one", cfg.Reward.Name(), cfg.Objective.Name)
	}
	if cfg.Reward == nil {
		cfg.Reward = Flow{}
	}
	if cfg.Objective != nil {
		cfg.Game.Objective = cfg.Objective
	}
	g, err := game.New(cfg.Game, len(cfg.Sim.Cluster.Servers))
	if err != nil {
		return nil, fmt.Errorf("make environment: %w", err)
	}
	c := &Cluster{cfg: cfg, game: g, spec: g.Spec()}
	c.agents, _ = cfg.Reward.(AgentReward)
	return c, nil
}

// Spec implements Env.
func (c *Cluster) Spec() game.Spec { return c.spec }

// Reward returns the reward function.
func (c *Cluster) Reward() Reward { return c.cfg.Reward }

// Game returns the game that the agents play. Its Tally returns how many candidates of each kind were carried out.
func (c *Cluster) Game() *game.Game { return c.game }

// Close implements Env.
func (c *Cluster) Close() error {
	c.sim, c.tx = nil, nil
	return nil
}

// Log returns the event log of the episode in progress, or of the last one; nil before the first. The caller must not change it.
func (c *Cluster) Log() *sim.Log {
	if c.sim == nil {
		return nil
	}
	return c.sim.Log()
}

// Fork makes dst an independent copy of the episode in progress and its open transaction, for agents and learners that look
// ahead. It costs about as much time as a few decisions. sim.Sim.Continue continues the copy under any scheduler. An episode must
// be in progress.
func (c *Cluster) Fork(dst *sim.Sim) { c.sim.Fork(dst) }

// Txn returns the open transaction of the present round, nil if no episode is in progress. The caller may try operations in it
// but must roll them back.
func (c *Cluster) Txn() *cluster.Txn { return c.tx }

// Reset implements Env. After an error there is no episode in progress.
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
	if err := c.game.Reset(seed); err != nil {
		return fmt.Errorf("reset environment: %w", err)
	}
	c.sim = episode
	c.sim.Watch(c.score)
	if c.cfg.Objective != nil {
		c.meter = start.Meter(c.cfg.Objective, c.charged)
	}
	c.begin(first)
	if err := c.advance(first); err != nil {
		return fmt.Errorf("reset environment: %w", err)
	}
	return nil
}

func (c *Cluster) episode(seed uint64) (sim.Episode, error) {
	if c.cfg.Episode != nil {
		return c.cfg.Episode(seed)
	}
	jobs, err := c.cfg.Jobs(seed)
	return sim.Episode{Config: c.cfg.Sim, Jobs: jobs}, err
}

// Step implements Env. After an error about anything but the joint action there is no episode in progress.
func (c *Cluster) Step(joint []game.Action, next *TimeStep) error {
	if c.tx == nil {
		return fmt.Errorf("step environment: %w", ErrOver)
	}
	if err := c.game.Check(joint); err != nil {
		return fmt.Errorf("step environment: %w", err)
	}
	if err := c.step(joint, next); err != nil {
		c.tx = nil
		return fmt.Errorf("step environment: %w", err)
	}
	return nil
}

func (c *Cluster) step(joint []game.Action, next *TimeStep) error {
	c.begin(next)
	more, err := c.game.Play(joint)
	if err != nil {
		return err
	}
	next.Taken = append(next.Taken, c.game.Taken()...)
	next.Refused = append(next.Refused, c.game.Refused()...)
	if more {
		return c.game.Show(&next.Round)
	}
	c.sim.Commit()
	return c.advance(next)
}

// advance moves to the next decision point at which there is a choice, or to the end of the episode.
func (c *Cluster) advance(ts *TimeStep) error {
	for {
		from := c.sim.State().Now()
		tx, ok := c.sim.Next()
		now := c.sim.State().Now()
		ts.Elapsed += now - from
		ts.Now = now
		if c.tx = tx; !ok {
			if c.meter != nil {
				c.meter.Catch(&c.sim.State().View)
			}
			o := c.sim.Outcome()
			ts.Terminated, ts.Truncated = o.Terminated, o.Truncated
			return c.game.End(c.sim.State().Txn(), &ts.Round)
		}
		more, err := c.game.Begin(tx)
		if err != nil {
			return err
		}
		if more {
			return c.game.Show(&ts.Round)
		}
		c.sim.Commit()
	}
}

// charged subtracts a cost from the rewards of the present time step.
func (c *Cluster) charged(id cluster.JobID, cost float64) {
	ts := c.into
	ts.Reward -= cost
	if v := &c.sim.State().View; id >= 0 && v.Phase(id) == cluster.Running {
		p := v.Placement(id)
		for i := range p {
			ts.Rewards[p[i].Server] -= cost * float64(p[i].Workers) / float64(p.Workers())
		}
		return
	}
	for i := range ts.Rewards {
		ts.Rewards[i] -= cost / float64(len(ts.Rewards))
	}
}

// Costs returns what the episode has cost so far by each term of the objective, nil without one. Read only.
func (c *Cluster) Costs() []float64 {
	if c.meter == nil {
		return nil
	}
	return c.meter.Terms()
}

// score adds the reward of the time between two instants.
func (c *Cluster) score(from, to time.Duration) {
	if c.meter != nil {
		c.meter.Pass(&c.sim.State().View, from, to)
		return
	}
	ts, x := c.into, c.cfg.Reward.Score(&c.sim.State().View, from, to)
	ts.Reward += x
	if c.agents != nil {
		c.agents.ScoreAgents(&c.sim.State().View, from, to, ts.Rewards)
		return
	}
	for i := range ts.Rewards {
		ts.Rewards[i] += x
	}
}

// begin resets a time step, so that it can be filled.
func (c *Cluster) begin(ts *TimeStep) {
	c.into = ts
	ts.Cluster, ts.Now = &c.sim.State().View, c.sim.State().Now()
	ts.Reward, ts.Elapsed, ts.Taken, ts.Refused = 0, 0, ts.Taken[:0], ts.Refused[:0]
	ts.Rewards = slices.Grow(ts.Rewards[:0], c.spec.Agents)[:c.spec.Agents]
	clear(ts.Rewards)
	ts.Terminated, ts.Truncated = false, ""
}
