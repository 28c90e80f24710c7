package env_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/must"
)

func TestStatistics(t *testing.T) {
	e := env.NewStatistics(small(t, func(c *env.Config) { c.Reward = held{} }))
	if _, ok := e.Last(); ok {
		t.Error("statistics before the first episode")
	}
	for _, c := range []struct {
		name    string
		choose  func(*env.TimeStep, []game.Action)
		asPrior func(float64) bool
	}{
		{"prior", byPrior, func(x float64) bool { return x == 1 }},
		{"pass", pass, func(x float64) bool { return x < 1 }},
		{"every second", everySecond(), func(x float64) bool { return 0.3 < x && x < 0.9 }},
	} {
		refused, returns, took := 0, make([]float64, 3), time.Duration(0)
		note := func(ts *env.TimeStep) {
			refused += len(ts.Refused)
			took = ts.Now
			for i, x := range ts.Rewards {
				returns[i] += x
			}
		}
		var ts env.TimeStep
		must.Do(t, e.Reset(2, &ts))
		note(&ts)
		joint, rounds, sum := make([]game.Action, 3), 0, ts.Reward
		for ; !ts.Over(); rounds++ {
			c.choose(&ts, joint)
			must.Do(t, e.Step(joint, &ts))
			note(&ts)
			sum += ts.Reward
		}
		got, ok := e.Last()
		if !ok || got.Seed != 2 || got.Rounds != rounds || math.Abs(got.Return-sum) > 1e-9 || !slices.Equal(got.Returns, returns) ||
			got.Time != took || got.Refused != refused || !got.Terminated || got.Truncated != "" || !c.asPrior(got.AsPrior) {
			t.Errorf("%s: %+v; played were %d rounds, %v, return %v of %v, %d refused", c.name, got, rounds, took, sum, returns, refused)
		}
	}
	// An episode that is not played to its end does not count.
	var ts env.TimeStep
	must.Do(t, e.Reset(5, &ts))
	if last, _ := e.Last(); last.Seed != 2 {
		t.Errorf("in the midst of an episode the last is %+v", last)
	}
}

// everySecond follows the prior, except that in every second round one server passes.
func everySecond() func(*env.TimeStep, []game.Action) {
	n := 0
	return func(ts *env.TimeStep, joint []game.Action) {
		byPrior(ts, joint)
		if n++; n%2 == 0 {
			if m := ts.Members(ts.Prior); len(m) > 0 {
				joint[m[0].Server] = game.Pass
			}
		}
	}
}

// TestStatisticsInVector checks that the statistics of an ended episode remain available in a vector that resets at once.
func TestStatisticsInVector(t *testing.T) {
	s := env.NewStatistics(small(t, nil))
	v := must.Get(env.NewVector([]env.Env{s}, env.SameStep, 1))(t)
	ts, joints := make([]env.TimeStep, 1), newJoints(1, 3)
	must.Do(t, v.Reset([]uint64{4}, ts))
	for v.Final(0) == nil {
		byPrior(&ts[0], joints[0])
		must.Do(t, v.Step(joints, ts))
	}
	if got, ok := s.Last(); !ok || got.Seed != 4 || got.Time != v.Final(0).Now || got.AsPrior != 1 || !got.Terminated {
		t.Errorf("%+v, %v", got, ok)
	}
}
