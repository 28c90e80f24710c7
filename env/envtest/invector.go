package envtest

import (
	"errors"
	"fmt"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/rng"
)

// lengths are the maximum numbers of steps of the episodes that inVector plays, in turn. Some episodes have no steps, and two of
// these follow each other.
var lengths = []int{0, 3, 0, 0, 5, 1}

// brief cuts off the episodes of an environment after the numbers of steps in lengths.
type brief struct {
	env.Env
	episode, left int
}

// Reset implements env.Env.
func (b *brief) Reset(seed uint64, first *env.TimeStep) error {
	b.left = lengths[b.episode%len(lengths)]
	b.episode++
	err := b.Env.Reset(seed, first)
	b.cut(first)
	return err
}

// Step implements env.Env.
func (b *brief) Step(joint []game.Action, next *env.TimeStep) error {
	if b.left == 0 {
		return env.ErrOver
	}
	b.left--
	err := b.Env.Step(joint, next)
	b.cut(next)
	return err
}

func (b *brief) cut(ts *env.TimeStep) {
	if b.left == 0 && !ts.Over() {
		ts.Truncated = "cut off by the check"
	}
	if ts.Over() {
		b.left = 0
	}
}

// inVector plays episodes in a vector, in each mode, and compares its time steps with those of the same episodes played one after
// the other.
func inVector(make Make, seed uint64) error {
	for _, mode := range []env.Autoreset{env.SameStep, env.NextStep, env.Disabled} {
		if err := inMode(make, seed, mode); err != nil {
			return fmt.Errorf("%v: %w", mode, err)
		}
	}
	return nil
}

func inMode(make Make, seed uint64, mode env.Autoreset) error {
	var envs []env.Env
	for range 3 {
		e, err := make()
		if err != nil {
			return err
		}
		envs = append(envs, &brief{Env: e})
	}
	v, err := env.NewVector(envs[1:], mode, 2)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }()
	p := plain{env: envs[0], seed: seed, mode: mode}
	defer p.env.Close()
	var two [2]env.TimeStep
	ts, draw, joint := two[:], rng.Stream(seed, "envtest", "vector"), passes(v.Spec(0).Agents)
	if err := errors.Join(v.Reset([]uint64{seed, seed}, ts), p.reset()); err != nil {
		return err
	}
	for step := 0; p.episode < 2*uint64(len(lengths)); step++ {
		for i := range ts {
			if err := p.shows(&ts[i], v.Final(i)); err != nil {
				return fmt.Errorf("step %d, environment %d: %w", step, i, err)
			}
		}
		if !p.over {
			RandomJoint(&p.want.Round, draw, joint)
		}
		if p.over && mode == env.Disabled {
			next := env.EpisodeSeed(seed, p.episode+1)
			err = errors.Join(v.ResetEnv(0, next, &ts[0]), v.ResetEnv(1, next, &ts[1]))
		} else {
			err = v.Step([][]game.Action{joint, joint}, ts)
		}
		if err = errors.Join(err, p.step(joint)); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return nil
}

// plain plays episodes one after the other and computes what a vector must return.
type plain struct {
	env     env.Env
	seed    uint64
	mode    env.Autoreset
	episode uint64
	over    bool
	ended   bool // Vector.Final must return last
	// want is what the vector must return, now is what the environment returned, and last is the last time step of the previous
	// episode.
	want, now, last env.TimeStep
}

func (p *plain) reset() error {
	err := p.env.Reset(env.EpisodeSeed(p.seed, p.episode), &p.now)
	p.want, p.over, p.ended = p.now, p.now.Over(), false
	return err
}

// step plays a step, and begins the next episode where a vector would.
func (p *plain) step(joint []game.Action) error {
	if !p.over {
		if err := p.env.Step(joint, &p.now); err != nil {
			return err
		}
		p.want, p.over, p.ended = p.now, p.now.Over(), false
		if !p.over || p.mode != env.SameStep {
			return nil
		}
	}
	p.last.CopyFrom(&p.now)
	p.episode++
	if err := p.reset(); err != nil || p.mode != env.SameStep {
		return err
	}
	round, now := p.want.Round, p.want.Now
	p.want, p.ended = p.last, true
	p.want.Round, p.want.Now = round, now
	return nil
}

// shows compares the time steps that a vector returned with the expected ones, except for their lists: the environment has reused
// the memory of earlier lists.
func (p *plain) shows(ts, final *env.TimeStep) error {
	if err := same(&p.want, ts); err != nil {
		return err
	}
	if (final != nil) != p.ended {
		return fmt.Errorf("that there is a final time step is %v, want %v", final != nil, p.ended)
	}
	if final == nil {
		return nil
	}
	got, want := *final, p.last
	got.List, want.List = nil, nil
	if err := same(&want, &got); err != nil {
		return fmt.Errorf("final time step: %w", err)
	}
	return nil
}
