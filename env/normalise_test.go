package env_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/must"
)

func normalised(t *testing.T, memory time.Duration) *env.NormalisedReward {
	t.Helper()
	return must.Get(env.NewNormalisedReward(small(t, func(c *env.Config) { c.Reward = held{} }), memory))(t)
}

// TestNormalisedReward checks that rewards are those of the environment, divided by the standard deviation of all discounted
// returns so far, which the test recomputes each time.
func TestNormalisedReward(t *testing.T) {
	const memory = 30 * time.Second
	n, plain := normalised(t, memory), small(t, func(c *env.Config) { c.Reward = held{} })
	var returns []float64
	var a, b env.TimeStep
	joint := make([]game.Action, 3)
	for seed := range uint64(3) {
		discounted := 0.0
		must.Do(t, n.Reset(seed, &a))
		must.Do(t, plain.Reset(seed, &b))
		for step := 0; ; step++ {
			if b.Elapsed > 0 {
				discounted = discounted*math.Pow(math.E, -b.Elapsed.Seconds()/memory.Seconds()) + b.Reward
				returns = append(returns, discounted)
			}
			by := 1.0
			if len(returns) > 1 {
				by = math.Sqrt(variance(returns) + 1e-8)
			}
			if !near(a.Reward, b.Reward/by) || !near(a.Rewards[1], b.Rewards[1]/by) {
				t.Fatalf("seed %d, step %d: rewards %v and %v, want %v and %v over %v", seed, step, a.Reward, a.Rewards, b.Reward, b.Rewards, by)
			}
			if b.Over() {
				break
			}
			act(&a, step, joint)
			must.Do(t, n.Step(joint, &a))
			must.Do(t, plain.Step(joint, &b))
		}
	}
	if len(returns) < 20 || n.Scale().Count != uint64(len(returns)) {
		t.Errorf("learned from %d steps, want %d", n.Scale().Count, len(returns))
	}
}

func variance(x []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean) / float64(len(x))
	}
	return sum
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// TestRewardScaleGoesOn checks that restoring a stored scale continues as if there had been no interruption, also within an
// episode.
func TestRewardScaleGoesOn(t *testing.T) {
	rewards := func(stop int) (all []float64) {
		n := normalised(t, time.Minute)
		var ts env.TimeStep
		joint := make([]game.Action, 3)
		must.Do(t, n.Reset(3, &ts))
		for step := 0; !ts.Over(); step++ {
			if step == stop {
				stored := must.Get(json.Marshal(n.Scale()))(t)
				var s env.RewardScale
				must.Do(t, json.Unmarshal(stored, &s))
				again := &env.NormalisedReward{}
				*again = *n
				must.Do(t, again.SetScale(env.RewardScale{}))
				must.Do(t, again.SetScale(s))
				n = again
			}
			act(&ts, step, joint)
			must.Do(t, n.Step(joint, &ts))
			all = append(all, ts.Reward)
		}
		return all
	}
	want, got := rewards(-1), rewards(5)
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("step %d: reward %v, without a stop %v", i, got[i], want[i])
		}
	}
}

func TestNormalisedRewardRefuses(t *testing.T) {
	if _, err := env.NewNormalisedReward(small(t, nil), 0); err == nil {
		t.Error("no error for no memory")
	}
	n := normalised(t, time.Minute)
	for _, s := range []env.RewardScale{{Mean: math.NaN()}, {Return: math.Inf(1)}, {Spread: -1}} {
		if err := n.SetScale(s); err == nil || n.Scale() != (env.RewardScale{}) {
			t.Errorf("scale %+v: error %v", s, err)
		}
	}
}
