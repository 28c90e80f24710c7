package env_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/must"
)

func TestTimeLimit(t *testing.T) {
	e := must.Get(env.NewTimeLimit(env.NewOrderCheck(small(t, nil)), 4))(t)
	var ts env.TimeStep
	idle := make([]game.Action, 3)
	for range 2 {
		must.Do(t, e.Reset(1, &ts))
		for n := range 4 {
			if ts.Over() {
				t.Fatalf("over after %d steps", n)
			}
			must.Do(t, e.Step(idle, &ts))
		}
		if ts.Truncated != "limit of 4 steps" || ts.Terminated {
			t.Errorf("after 4 steps: %+v", ts)
		}
		if err := e.Step(idle, &ts); !errors.Is(err, env.ErrOver) {
			t.Errorf("fifth step: %v", err)
		}
	}
	if c, ok := env.As[*env.Cluster](e); !ok || c.Log() == nil {
		t.Error("the cluster within two wrappers is not found")
	}
	if _, ok := env.As[*env.TimeLimit](small(t, nil)); ok {
		t.Error("a limit is found where there is none")
	}
	if _, err := env.NewTimeLimit(small(t, nil), 0); err == nil {
		t.Error("no error for a limit of 0")
	}
}

// TestWholeReturn checks that rewards of steps sum to the return, that a reset shows none, and that an episode without steps keeps its
// reward.
func TestWholeReturn(t *testing.T) {
	plain, whole := small(t, nil), env.NewWholeReturn(small(t, nil))
	idle, early := make([]game.Action, 3), 0
	for seed := range uint64(20) {
		var a, b env.TimeStep
		must.Do(t, errors.Join(plain.Reset(seed, &a), whole.Reset(seed, &b)))
		if a.Reward < 0 {
			early++
		}
		want, agent, elapsed := a.Reward, a.Rewards[1], a.Elapsed
		if b.Reward != 0 || slices.Max(b.Rewards) != 0 || slices.Min(b.Rewards) != 0 || b.Elapsed != 0 {
			t.Fatalf("seed %d: a reset shows the rewards %v and %v of %v", seed, b.Reward, b.Rewards, b.Elapsed)
		}
		for n := 0; !a.Over(); n++ {
			must.Do(t, errors.Join(plain.Step(idle, &a), whole.Step(idle, &b)))
			want, agent, elapsed = want+a.Reward, agent+a.Rewards[1], elapsed+a.Elapsed
			if b.Reward != want || b.Rewards[1] != agent || b.Elapsed != elapsed {
				t.Fatalf("seed %d, step %d: rewards %v and %v of %v, want %v and %v of %v", seed, n, b.Reward, b.Rewards, b.Elapsed,
					want, agent, elapsed)
			}
			want, agent, elapsed = 0, 0, 0
		}
	}
	if early == 0 {
		t.Error("no episode has a reward before its first step: the test shows nothing")
	}
	e := env.NewWholeReturn(small(t, func(c *env.Config) { these(c, job(0, 1, time.Minute)) }))
	var ts env.TimeStep
	if err := e.Reset(1, &ts); err != nil || !ts.Over() || ts.Reward >= 0 || ts.Rewards[2] >= 0 {
		t.Errorf("an episode without steps: %v, over %v, reward %v", err, ts.Over(), ts.Reward)
	}
}

// careless is an environment whose Step accepts everything.
type careless struct{ env.Env }

func (careless) Step([]game.Action, *env.TimeStep) error { return nil }

func TestOrderCheck(t *testing.T) {
	e := env.NewOrderCheck(careless{small(t, nil)})
	var ts env.TimeStep
	if err := e.Step(make([]game.Action, 3), &ts); !errors.Is(err, env.ErrOver) {
		t.Errorf("step before reset: %v", err)
	}
	must.Do(t, e.Reset(1, &ts))
	if err := e.Step(make([]game.Action, 2), &ts); err == nil || errors.Is(err, env.ErrOver) {
		t.Errorf("two actions for three agents: %v", err)
	}
	if err := e.Step(make([]game.Action, 3), &ts); err != nil {
		t.Error(err)
	}
	ts.Terminated = true
	if err := errors.Join(e.Step(make([]game.Action, 3), &ts), e.Close()); err != nil {
		t.Error(err)
	}
	if err := e.Step(make([]game.Action, 3), &ts); !errors.Is(err, env.ErrOver) {
		t.Errorf("step after the end: %v", err)
	}
}

// TestAsFindsWrappers checks that As finds every wrapper from the outside, and the environment inside all of them.
func TestAsFindsWrappers(t *testing.T) {
	n := must.Get(env.NewNormalisedReward(small(t, nil), time.Hour))(t)
	l := must.Get(env.NewTimeLimit(env.NewStatistics(n), 1))(t)
	e := env.NewOrderCheck(l)
	_, a := env.As[*env.Statistics](e)
	_, b := env.As[*env.TimeLimit](e)
	_, c := env.As[*env.NormalisedReward](e)
	_, d := env.As[*env.Cluster](e)
	if !a || !b || !c || !d {
		t.Error(a, b, c, d)
	}
}
