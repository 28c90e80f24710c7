// Command reference plays an environment in Go and prints digests of what agents observe, so that the tests of the Python package
// can compare theirs. Actions follow from the step alone: in step t the agent i names its legal number t+i, counted from 0 and
// beginning again after the last; a central controller names the candidate t in the same way.
package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func main() {
	envs := flag.Int("envs", 1, "how many environments to play, with the seeds 1, 2 and so on")
	joint := flag.Bool("joint", false, "let each agent name a number of its own")
	prior := flag.Bool("prior", false, "name what the prior would choose")
	steps := flag.Int("steps", 200, "how many steps to play")
	quiet := flag.Bool("quiet", false, "print no digests, but the CPU seconds of the steps")
	flag.Parse()
	out := io.Writer(os.Stdout)
	if *quiet {
		out = nil
	}
	if err := play(out, *envs, *steps, *joint, *prior); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play plays n environments. If out is not nil, it prints a line of digests for every step, else the CPU seconds of all steps.
func play(out io.Writer, n, steps int, joint, prior bool) error {
	envs, seeds := make([]env.Env, n), make([]uint64, n)
	for i := range envs {
		e, err := create()
		if err != nil {
			return err
		}
		envs[i], seeds[i] = e, uint64(i)+1
	}
	v, err := env.NewVector(envs, env.NextStep, 1)
	if err != nil {
		return err
	}
	ts, joints := make([]env.TimeStep, n), make([][]game.Action, n)
	if err := v.Reset(seeds, ts); err != nil {
		return err
	}
	for i := range joints {
		joints[i] = make([]game.Action, v.Spec(i).Agents)
	}
	before := cmdline.CPUTime()
	for t := range steps {
		if out != nil {
			if err := describe(out, ts); err != nil {
				return err
			}
		}
		for i := range ts {
			choose(&ts[i], t, joint, prior, joints[i])
		}
		if err := v.Step(joints, ts); err != nil {
			return err
		}
	}
	if out == nil {
		fmt.Println((cmdline.CPUTime() - before).Seconds())
	}
	return nil
}

// create returns the environment that the tests of the Python package use: embedded-small-v1 on 4 servers, a window of 8 jobs,
// and sjfskip as prior.
func create() (env.Env, error) {
	s, err := scenario.Load("embedded-small-v1", "cluster.servers=4")
	if err != nil {
		return nil, err
	}
	src, err := s.Open()
	if err != nil {
		return nil, err
	}
	cfg, err := s.SimConfig()
	if err != nil {
		return nil, err
	}
	r, err := baselines.Reviewed("sjfskip")
	if err != nil {
		return nil, err
	}
	e, err := env.New(env.Config{
		Sim: cfg, Game: game.Config{Review: r.Config, Rule: r.Rule, Encoder: &observe.Standard{Window: 8}},
		Episode: func(seed uint64) (sim.Episode, error) {
			e, err := src.Episode(scenario.Train, int(seed%uint64(src.Count(scenario.Train))), seed)
			return e.Episode, err
		},
	})
	if err != nil {
		return nil, err
	}
	return env.NewWholeReturn(e), nil
}

// choose fills the actions of step t.
func choose(ts *env.TimeStep, t int, joint, prior bool, actions []game.Action) {
	if prior {
		ts.Unanimous(ts.Prior, actions)
		return
	}
	if !joint {
		ts.Unanimous(game.Action(t%(len(ts.List)+1)), actions)
		return
	}
	for i := range actions {
		var legal []game.Action
		for n, ok := range ts.Legal(i) {
			if ok {
				legal = append(legal, game.Action(n))
			}
		}
		actions[i] = legal[(t+i)%len(legal)]
	}
}

// describe prints the digests of all environments as a line of JSON.
func describe(out io.Writer, ts []env.TimeStep) (err error) {
	digests := make([]map[string]string, len(ts))
	for i := range ts {
		if digests[i], err = digest(&ts[i]); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(digests)
}

// digest returns the SHA-256 of what a time step shows, little endian.
func digest(ts *env.TimeStep) (map[string]string, error) {
	all := map[string]string{}
	for name, value := range map[string]any{
		"servers": ts.Servers, "jobs": ts.Jobs, "candidates": ts.Candidates, "cluster": ts.Global, "mask": ts.Mask,
		"reward": ts.Reward, "rewards": ts.Rewards, "ends": []bool{ts.Terminated, ts.Truncated != ""},
	} {
		h := sha256.New()
		if err := binary.Write(h, binary.LittleEndian, value); err != nil {
			return nil, fmt.Errorf("digest of %s: %w", name, err)
		}
		all[name] = fmt.Sprintf("%x", h.Sum(nil))
	}
	return all, nil
}
