package main

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/examples/maintest"
)

func TestMain(m *testing.M) { maintest.Main(m, main) }

// TestReward checks that environments give the reward, and that training a team with it differs from training with the default
// reward.
func TestReward(t *testing.T) {
	t.Chdir(t.TempDir())
	maintest.Run(t, "env", "check", "--scenario", "embedded-small-v1", "--reward", "slowdown")
	learned := func(reward string) string {
		maintest.Run(t, "train", "--scenario", "embedded-small-v1", "--updates", "1", "--set", "train.windows=1", "--set", "train.validation=1",
			"--set", "train.label=0.5", "--objective", reward, "--dir", reward)
		metrics, err := os.ReadFile(reward + "/metrics.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		return string(metrics)
	}
	if learned("slowdown") == learned("flow") {
		t.Error("the reward teaches what the usual one does")
	}
	maintest.Holds(t, maintest.Fail(t, "env", "check", "--scenario", "embedded-small-v1", "--reward", "speed"),
		`reward "speed" is not part of this program, which has flow, slowdown`)
}

// TestSlowdownIsThatOfTheLog checks that the rewards of an episode add up to minus the slowdowns computed from its event log,
// and that the agents' rewards add up to the same.
func TestSlowdownIsThatOfTheLog(t *testing.T) {
	s, err := scenario.Load("embedded-small-v1")
	if err != nil {
		t.Fatal(err)
	}
	src, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := s.SimConfig()
	if err != nil {
		t.Fatal(err)
	}
	prior, err := baselines.Reviewed("sjfskip")
	if err != nil {
		t.Fatal(err)
	}
	const floor = 10 * time.Second
	e, err := env.New(env.Config{
		Sim: cfg, Game: game.Config{Review: prior.Config}, Reward: Slowdown{Floor: floor},
		Episode: func(seed uint64) (sim.Episode, error) {
			e, err := src.Episode(scenario.Test, int(seed), seed)
			return e.Episode, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	counted := env.NewStatistics(e)
	for seed := range uint64(src.Count(scenario.Test)) {
		if err := play(counted, seed); err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for _, row := range eval.Rows(e.Log()) {
			want -= row.JCT().Seconds() / max(row.Work, floor).Seconds()
		}
		got, _ := counted.Last()
		agents := 0.0
		for _, x := range got.Returns {
			agents += x
		}
		if off := 1e-6 * math.Abs(want); math.Abs(got.Return-want) > off || math.Abs(agents-want) > off || len(got.Returns) != 8 {
			t.Errorf("window %d: the team is given %v, its %d agents %v, want %v", seed, got.Return, len(got.Returns), agents, want)
		}
	}
}

// play plays an episode in which the agents do what the prior would do.
func play(e env.Env, seed uint64) error {
	var ts env.TimeStep
	joint := make([]game.Action, e.Spec().Agents)
	err := e.Reset(seed, &ts)
	for err == nil && !ts.Over() {
		ts.Unanimous(ts.Prior, joint)
		err = e.Step(joint, &ts)
	}
	return err
}
