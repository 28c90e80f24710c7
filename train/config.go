// Package train improves a team of server agents by proximal policy optimisation (Schulman et al., 2017) with per-trace
// baselines: what a decision of the sampled policy led to is judged against what the prior would have made of the very state
// that it was taken in, on the same arrivals, which a forked simulation tells exactly. It stores atomic checkpoints, continues
// from one exactly, and writes its metrics as JSON lines. It compares with the prior on validation windows alone; package eval
// compares policies.
package train

import (
	"fmt"
	"math"
	"time"

	"github.com/clustergym/clustergym/agents"
)

// Config is all that fixes a run's result, together with its scenario: same Config, same scenario, same weights and metrics,
// byte for byte, on one platform, whatever the number of cores.
type Config struct {
	Seed    uint64      `yaml:"seed"`
	Updates int         `yaml:"updates"`
	Window  int         `yaml:"window"` // jobs shown to the agents
	Size    agents.Size `yaml:"size"`
	// Windows and Rollouts: an update plays Rollouts episodes on each of Windows windows.
	Windows  int `yaml:"windows"`
	Rollouts int `yaml:"rollouts"`
	// Memory is the time constant with which what a decision leads to is discounted. Credit is that within which a decision is
	// judged by what did follow; beyond, by what the prior would have made of it. It stands for GAE's λ where steps are unequal.
	Memory time.Duration `yaml:"memory"`
	Credit time.Duration `yaml:"credit"`
	// Choices bounds the decisions an update learns from, drawn evenly from all that it saw; Epochs is how often it sees
	// them, in batches of Batch.
	Choices int     `yaml:"choices"`
	Epochs  int     `yaml:"epochs"`
	Batch   int     `yaml:"batch"`
	Rate    float64 `yaml:"rate"`    // Adam's step at the first update, falling linearly to a tenth at the last
	Clip    float64 `yaml:"clip"`    // of the probability ratio
	Entropy float64 `yaml:"entropy"` // bonus, falling linearly to 0
	MaxKL   float64 `yaml:"max_kl"`  // an update ends its epochs when the policy has moved so far
	MaxNorm float64 `yaml:"max_norm"`
	// Every so many updates a checkpoint is stored, and at the end; Keep of them stay.
	Every int `yaml:"every"`
	Keep  int `yaml:"keep"`
}

// DefaultConfig returns settings that learn on two cores within minutes.
func DefaultConfig() Config {
	return Config{
		Seed: 1, Updates: 60, Window: 32, Size: agents.DefaultSize(), Windows: 4, Rollouts: 1, Memory: 2 * time.Hour,
		Credit: 10 * time.Minute, Choices: 4096, Epochs: 3, Batch: 512, Rate: 2e-3, Clip: 0.2, Entropy: 0.003,
		MaxKL: 0.03, MaxNorm: 0.5, Every: 3, Keep: 3,
	}
}

// Validate reports the first setting out of range, by its key.
func (c *Config) Validate() error {
	for _, f := range []struct {
		key      string
		n        int
		low, top int
	}{
		{"updates", c.Updates, 1, 1 << 24}, {"window", c.Window, 4, 1 << 10}, {"windows", c.Windows, 1, 1 << 10},
		{"rollouts", c.Rollouts, 1, 1 << 10}, {"choices", c.Choices, 1, 1 << 24}, {"epochs", c.Epochs, 1, 1 << 10},
		{"batch", c.Batch, 1, 1 << 20}, {"every", c.Every, 1, 1 << 24}, {"keep", c.Keep, 1, 1 << 10},
	} {
		if f.n < f.low || f.n > f.top {
			return fmt.Errorf("train.%s: %d, want %d to %d", f.key, f.n, f.low, f.top)
		}
	}
	for _, f := range []struct {
		key    string
		x, top float64
		zero   bool
	}{
		{"rate", c.Rate, 1, false}, {"clip", c.Clip, 1, false}, {"entropy", c.Entropy, 10, true},
		{"max_kl", c.MaxKL, 100, false}, {"max_norm", c.MaxNorm, 1e6, false}, {"memory", c.Memory.Hours(), math.MaxFloat64, false},
		{"credit", c.Credit.Hours(), math.MaxFloat64, false},
	} {
		if !(f.x > 0 || f.zero && f.x == 0) || f.x > f.top {
			least := "above 0"
			if f.zero {
				least = "at least 0"
			}
			return fmt.Errorf("train.%s: %v, want %s and at most %v", f.key, f.x, least, f.top)
		}
	}
	return nil
}
