// Package train improves a team of server agents over its prior, a baseline scheduler.
//
// A run begins with labels. At some decisions of the prior, each candidate is carried out in a fork of the episode, and the
// prior plays on from there, with the jobs that really come. What a candidate saves against the prior's own choice is its label,
// and the team learns from the labels. The run may go on with proximal policy optimisation (PPO; Schulman et al., 2017): the
// team draws its own choices, and each is judged against what the prior would have made of the same state on the same arrivals.
//
// A run stores atomic checkpoints, resumes from one exactly, and writes its metrics as JSON lines. It compares the team with its
// prior on validation windows only; package eval compares policies on test windows.
package train

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/observe"
)

// Config is all the settings that a run's result depends on, beside its scenarios. The same Config and the same scenarios give
// the same weights and metrics, byte for byte, on one platform, whatever the number of cores. Each key in run.yaml and on the
// command line is the field's YAML name after "train.".
type Config struct {
	// Seed is the seed of all random draws but those of LabelSeed.
	Seed uint64 `yaml:"seed"`
	// Updates is how many updates the run makes in all.
	Updates int `yaml:"updates"`
	// Expert is how many updates, from the first on, learn from labels. The updates after those learn by PPO.
	Expert int `yaml:"expert"`
	// Learner says what the team learns from labels: PolicyLearner or ValueLearner.
	Learner string `yaml:"learner"`
	// Label is the fraction of decisions that are labelled, 0 to 1.
	Label float64 `yaml:"label"`
	// Explore sets how seldom the prior departs from its own choice while labels are gathered: it takes another candidate
	// exp(-Explore) times as often as its own.
	Explore float64 `yaml:"explore"`
	// LabelSeed is the seed of the labelled windows, of the departures there and of which decisions are labelled. Runs with
	// different Seed and the same LabelSeed share their labels.
	LabelSeed uint64 `yaml:"label_seed"`
	// Replay is how many labelled decisions are kept to learn from; the newest stay.
	Replay int `yaml:"replay"`
	// Prior names the baseline that the team starts from. Of several names, separated by commas, the run takes the one that does
	// best on training windows.
	Prior string `yaml:"prior"`
	// Margin is by how much the bid for another candidate must exceed the bid for the prior's own before it is taken.
	Margin float64 `yaml:"margin"`
	// Window is how many jobs the agents are shown, beside the jobs that candidates are about.
	Window int `yaml:"window"`
	// Candidates is how many candidates beside the prior's own a wide list holds. 0 means narrow lists: one start of the prior
	// at a time, and its alternatives.
	Candidates int `yaml:"candidates,omitempty"`
	// Rivals names baselines, separated by commas, whose proposals are put on the wide list too.
	Rivals string `yaml:"rivals,omitempty"`
	// Encoder names what the agents observe, see observe.Register. Empty is the standard encoder.
	Encoder string `yaml:"encoder,omitempty"`
	// Reward names what the team maximises, see env.RegisterReward. It must never be positive. Empty is env.Flow.
	Reward string `yaml:"reward,omitempty"`

	// Size is the size of the network.
	Size agents.Size `yaml:"size"`
	// Windows is how many training windows an update plays, and Rollouts how many episodes PPO plays on each of them.
	Windows  int `yaml:"windows"`
	Rollouts int `yaml:"rollouts"`
	// Memory is the time constant of the discount: a reward that comes this much later counts 1/e as much.
	Memory time.Duration `yaml:"memory"`
	// Credit is the time constant with which PPO passes from what really followed a decision to what the prior would have made
	// of it. It plays the part of λ in generalised advantage estimation, where steps are not of equal length. Labels ignore it.
	Credit time.Duration `yaml:"credit"`
	// Choices is how many decisions an update learns from at most, drawn evenly. Epochs is how often it passes over them, and
	// Batch is how many make one gradient step.
	Choices int `yaml:"choices"`
	Epochs  int `yaml:"epochs"`
	Batch   int `yaml:"batch"`
	// Rate is Adam's learning rate at the first update. It falls linearly to a tenth at the last.
	Rate float64 `yaml:"rate"`
	// Clip is how far PPO's probability ratio may leave 1 before it is clipped.
	Clip float64 `yaml:"clip"`
	// Entropy is the weight of the entropy bonus at the first update. It falls linearly to 0 at the last.
	Entropy float64 `yaml:"entropy"`
	// MaxKL ends an update after the epoch in which the policy's mean divergence from the policy that played exceeds it, in nats.
	MaxKL float64 `yaml:"max_kl"`
	// MaxNorm is the norm that gradients are clipped to.
	MaxNorm float64 `yaml:"max_norm"`
	// Every is after how many updates the policy is validated and a checkpoint is stored; both happen after the last update too.
	Every int `yaml:"every"`
	// Validation is how many validation windows of each scenario are played.
	Validation int `yaml:"validation"`
	// Keep is how many checkpoints stay on disk.
	Keep int `yaml:"keep"`
}

// What a team learns from labels: see Config.Learner.
const (
	policyLearner = "policy" // to choose candidates that save much more often
	valueLearner  = "value"  // to bid for each candidate what it saves
)

// DefaultConfig returns settings that learn on two cores within minutes.
func DefaultConfig() Config {
	return Config{
		Seed: 1, Updates: 60, Expert: 60, Learner: valueLearner, Label: 0.06, Explore: 8, LabelSeed: 1, Replay: 1 << 16,
		Prior: agents.DefaultPrior, Margin: 0.5,
		Window: agents.DefaultWindow, Size: agents.DefaultSize(), Windows: 8, Rollouts: 1, Memory: 2 * time.Hour,
		Credit: 10 * time.Minute, Choices: 1024, Epochs: 1, Batch: 64, Rate: 2e-3, Clip: 0.2, Entropy: 0.03,
		MaxKL: 0.03, MaxNorm: 0.5, Every: 5, Validation: 12, Keep: 3,
	}
}

// Validate returns an error that names the key of the first setting out of range, the value and what was expected.
func (c *Config) Validate() error {
	for _, f := range []struct {
		key      string
		n        int
		low, top int
	}{
		{"updates", c.Updates, 1, 1 << 24}, {"expert", c.Expert, 0, 1 << 24}, {"window", c.Window, 4, 1 << 10},
		{"windows", c.Windows, 1, 1 << 10}, {"rollouts", c.Rollouts, 1, 1 << 10}, {"choices", c.Choices, 1, 1 << 24},
		{"epochs", c.Epochs, 1, 1 << 10}, {"batch", c.Batch, 1, 1 << 20}, {"every", c.Every, 1, 1 << 24},
		{"validation", c.Validation, 1, 1 << 20}, {"keep", c.Keep, 1, 1 << 10}, {"replay", c.Replay, 1, 1 << 24},
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
		{"credit", c.Credit.Hours(), math.MaxFloat64, false}, {"label", c.Label, 1, true}, {"margin", c.Margin, 1e6, true},
		{"explore", c.Explore, 1e6, true},
	} {
		if !(f.x > 0 || f.zero && f.x == 0) || f.x > f.top {
			least := "above 0"
			if f.zero {
				least = "at least 0"
			}
			return fmt.Errorf("train.%s: %v, want %s and at most %v", f.key, f.x, least, f.top)
		}
	}
	if c.Learner != policyLearner && c.Learner != valueLearner {
		return fmt.Errorf("train.learner: %q, want %s or %s", c.Learner, policyLearner, valueLearner)
	}
	if _, err := observe.Named(c.Encoder, c.Window); err != nil {
		return fmt.Errorf("train.encoder: %w", err)
	}
	if _, err := env.NamedReward(c.Reward); err != nil {
		return fmt.Errorf("train.reward: %w", err)
	}
	if c.Candidates < 0 || c.Candidates > 1<<10 {
		return fmt.Errorf("train.candidates: %d, want 0 to %d", c.Candidates, 1<<10)
	}
	if c.Rivals != "" && c.Candidates == 0 {
		return fmt.Errorf("train.rivals: %q without train.candidates, want both or none", c.Rivals)
	}
	for _, name := range c.priors() {
		if _, err := baselines.Reviewed(name); err != nil {
			return fmt.Errorf("train.prior: %w", err)
		}
	}
	for _, name := range c.design("", "").Wide.Rivals {
		if _, err := baselines.New(name); err != nil {
			return fmt.Errorf("train.rivals: %w", err)
		}
	}
	return nil
}

// design is that of the run's policy.
func (c *Config) design(name, prior string) agents.Design {
	d := agents.Design{
		Name: name, Encoder: c.Encoder, Window: c.Window, Prior: prior, Wide: agents.Wide{Items: c.Candidates}, Margin: c.Margin,
		Size: c.Size,
	}
	if c.Rivals != "" {
		d.Wide.Rivals = strings.Split(c.Rivals, ",")
	}
	return d
}

// goal is what the run learns.
func (c *Config) goal() (goal, error) {
	reward, err := env.NamedReward(c.Reward)
	return goal{reward, c.Memory}, err
}

// priors are the candidates.
func (c *Config) priors() []string { return strings.Split(c.Prior, ",") }
