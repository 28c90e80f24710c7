package env_test

import (
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
	if len(returns) < 20 {
		t.Errorf("%d steps in which time passes, want at least 20", len(returns))
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

func TestNormalisedRewardRefuses(t *testing.T) {
	if _, err := env.NewNormalisedReward(small(t, nil), 0); err == nil {
		t.Error("no error for no memory")
	}
}
