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

// TestAsFindsWrappers checks that As finds every wrapper from the outside, and the environment inside all of them.
func TestAsFindsWrappers(t *testing.T) {
	n := must.Get(env.NewNormalisedReward(small(t, nil), time.Hour))(t)
	e := env.NewStatistics(n)
	_, a := env.As[*env.Statistics](e)
	_, b := env.As[*env.NormalisedReward](e)
	_, c := env.As[*env.Cluster](e)
	if !a || !b || !c {
		t.Error(a, b, c)
	}
	if _, found := env.As[*env.Statistics](n); found {
		t.Error("statistics are found where there are none")
	}
}
