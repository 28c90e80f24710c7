// Package yardsticks trains two standard multi-agent learners from scratch in the public environment: independent PPO and value
// decomposition. In both, every server is an agent that sees only its own server, its own candidates and the cluster's features,
// and all agents share one network, which scores an agent's candidates one by one. So the same weights play any number of servers
// and candidates. There is no attention, no graph, no central critic, and nothing of the prior but its proposals among the
// candidates.
package yardsticks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/rng"
)

// The names of the learners.
const (
	IPPO = "ippo"
	VDN  = "vdn"
)

// Learners returns the names of the learners.
func Learners() []string { return []string{IPPO, VDN} }

// learner is one of the two algorithms.
type learner interface {
	// policy returns the network whose highest scores are the choices of the learned policy. It belongs to the learner.
	policy() *net
	// choose fills taken with the index that each agent takes in its view, while it learns.
	choose(views []view, taken []int)
	// learn is called after each round. It keeps s. done is the share of the training that is over.
	learn(s *step, done float64) error
	close() error
}

// step is one round with what followed. Views are by agent.
type step struct {
	views    []view
	taken    []int
	reward   float64 // of the team, until the next round
	discount float64 // factor on what follows: it falls with the time until the next round; 0 if all jobs have finished
	next     []view
	over     bool // whether the episode has ended
}

// Config contains all that, together with the Task, determines the result of a training. On one platform equal configurations and
// tasks give equal weights, byte for byte.
type Config struct {
	Learner   string        `json:"learner"`
	Seed      uint64        `json:"seed"`
	Decisions int           `json:"decisions"` // joint decisions: rounds to play, at least; the last episode is played to its end
	Rate      float64       `json:"rate"`      // of Adam
	Memory    time.Duration `json:"memory_ns"` // the time in which a reward is discounted to 1/e
	Rollout   int           `json:"rollout"`   // rounds that IPPO plays before an update, at least; it ends at the end of an episode
	Checks    int           `json:"checks"`    // how often the policy is validated, in equal distances
}

// DefaultConfig returns the settings of the figures in studies/yardsticks.md.
func DefaultConfig() Config {
	return Config{Learner: IPPO, Seed: 1, Decisions: 20_000, Rate: 1e-3, Memory: 8 * time.Hour, Rollout: 2048, Checks: 10}
}

// Validate returns an error about the first setting out of range.
func (c *Config) Validate() error {
	switch {
	case c.Learner != IPPO && c.Learner != VDN:
		return fmt.Errorf("learner %q, want %s or %s", c.Learner, IPPO, VDN)
	case c.Decisions < 1 || c.Decisions > 1e9:
		return fmt.Errorf("%d decisions, want 1 to 1e9", c.Decisions)
	case !(c.Rate >= 0 && c.Rate <= 1):
		return fmt.Errorf("rate %v, want 0 to 1", c.Rate)
	case c.Memory <= 0:
		return fmt.Errorf("memory %v, want more than 0", c.Memory)
	case c.Rollout < 1 || c.Rollout > 1e6:
		return fmt.Errorf("rollouts of %d rounds, want 1 to 1e6", c.Rollout)
	case c.Checks < 1 || c.Checks > c.Decisions:
		return fmt.Errorf("%d checks in %d decisions, want at least one and not more than decisions", c.Checks, c.Decisions)
	}
	return nil
}

// Task is what a learner learns. The environments must have equal features of observations.
type Task struct {
	Learn env.Env  // the environment to learn in; equal seeds give equal episodes
	Check env.Env  // the environment in which the best weights are chosen
	Seeds []uint64 // of the episodes to check
}

// Point is a point of a learning curve.
type Point struct {
	Decisions int     `json:"decisions"` // so far
	Episodes  int     `json:"episodes"`  // so far
	Cost      float64 `json:"cost"`      // of the greedy policy in the episodes to check: see Check
}

// Learn trains a policy and returns the one with the lowest cost at the points of the curve, the first of several. The curve
// begins before training. Learn calls progress, if not nil, at each point.
func Learn(cfg Config, t *Task, progress func(Point)) (*Policy, []Point, error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, fmt.Errorf("learn: %w", err)
	}
	spec := t.Learn.Spec()
	draw := rng.Stream(cfg.Seed, "yardsticks", cfg.Learner)
	l, err := newLearner(&cfg, &spec, draw)
	if err != nil {
		return nil, nil, fmt.Errorf("learn: %w", err)
	}
	defer func() { _ = l.close() }() // a machine contains nothing to save
	scaled, err := env.NewNormalisedReward(t.Learn, cfg.Memory)
	if err != nil {
		return nil, nil, fmt.Errorf("learn: %w", err)
	}
	prior, err := returns(t, priorPlayer{})
	if err != nil {
		return nil, nil, fmt.Errorf("learn: %w", err)
	}
	var best *Policy
	var curve []Point
	lowest := math.Inf(1)
	now := Point{}
	for {
		if now.Decisions*cfg.Checks >= len(curve)*cfg.Decisions {
			p := &Policy{l.policy().clone()}
			own, err := returns(t, p.player(cfg.Learner))
			if err != nil {
				return nil, nil, fmt.Errorf("learn: %w", err)
			}
			if now.Cost = relative(own, prior); now.Cost < lowest {
				best, lowest = p, now.Cost
			}
			curve = append(curve, now)
			if progress != nil {
				progress(now)
			}
		}
		if now.Decisions >= cfg.Decisions {
			return best, curve, nil
		}
		seed := rng.Derive(cfg.Seed, "yardsticks", "episode", strconv.Itoa(now.Episodes))
		if err := cfg.episode(scaled, seed, l, &now); err != nil {
			return nil, nil, fmt.Errorf("learn: episode %d: %w", now.Episodes, err)
		}
		now.Episodes++
	}
}

func newLearner(cfg *Config, s *game.Spec, draw *rand.Rand) (learner, error) {
	if cfg.Learner == VDN {
		return newVDN(width(s), s.Agents, cfg.Rate, draw)
	}
	return newIPPO(width(s), cfg, draw)
}

// episode plays an episode from which the learner learns.
func (c *Config) episode(e env.Env, seed uint64, l learner, now *Point) error {
	var ts env.TimeStep
	if err := e.Reset(seed, &ts); err != nil {
		return err
	}
	joint := make([]game.Action, ts.Spec().Agents)
	for next := see(&ts.Round); !ts.Over(); {
		s := &step{views: next, taken: make([]int, len(joint))}
		l.choose(s.views, s.taken)
		name(s.views, s.taken, joint)
		if err := e.Step(joint, &ts); err != nil {
			return err
		}
		next = see(&ts.Round)
		s.next, s.reward, s.over = next, ts.Reward, ts.Over()
		if !ts.Terminated { // a truncated episode would have gone on, so the value of its end counts
			s.discount = math.Exp(-float64(ts.Elapsed) / float64(c.Memory))
		}
		now.Decisions++
		if err := l.learn(s, float64(now.Decisions)/float64(c.Decisions)); err != nil {
			return err
		}
	}
	return nil
}

// returns plays the episodes to check and returns the sum of rewards of each.
func returns(t *Task, p game.Player) ([]float64, error) {
	e := env.NewStatistics(t.Check)
	var ts env.TimeStep
	joint := make([]game.Action, e.Spec().Agents)
	var all []float64
	for _, seed := range t.Seeds {
		err := p.Reset(seed)
		if err == nil {
			err = e.Reset(seed, &ts)
		}
		for err == nil && !ts.Over() {
			if err = p.Act(nil, &ts.Round, joint); err == nil {
				err = e.Step(joint, &ts)
			}
		}
		if err != nil {
			return nil, err
		}
		last, _ := e.Last()
		all = append(all, last.Return)
	}
	return all, nil
}

// relative returns the mean over episodes of a cost relative to the prior's. Costs are minus the returns.
func relative(own, prior []float64) float64 {
	sum := 0.0
	for i := range own {
		sum += own[i] / prior[i]
	}
	return sum / float64(len(own))
}
