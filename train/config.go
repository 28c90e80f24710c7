// Package train improves a team of server agents over its prior. It begins with labels: at decisions of the prior each candidate
// is played on by the prior in a fork of the episode, so with the future as it comes, and the team learns what candidates save.
// It may go on with proximal policy optimisation (Schulman et al., 2017) on what the team draws itself, judged against
// what the prior would have made of the very state that a decision was taken in, on the same arrivals. It stores atomic
// checkpoints, continues from one exactly, and writes its metrics as JSON lines. It compares with the prior on validation windows
// alone; package eval compares policies.
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

// Config is all that fixes a run's result, together with its scenarios: same Config, same scenarios, same weights and metrics,
// byte for byte, on one platform, whatever the number of cores.
type Config struct {
	Seed    uint64 `yaml:"seed"`
	Updates int    `yaml:"updates"`
	// Expert is how many of the updates, the first, learn from labels; the others learn by proximal policy optimisation.
	Expert int `yaml:"expert"`
	// Learner says what labels teach: "policy" to choose candidates that save much, "value" to bid what they save.
	Learner string `yaml:"learner"`
	// Label is the part of decisions that are labelled. Explore is how much less likely than the prior's own a candidate is taken
	// where labels are gathered: exp(-Explore) as often. LabelSeed draws their windows, what is explored and what is labelled,
	// so that runs with other seeds may share them. Replay bounds the labelled decisions that stay to be learned from.
	Label     float64 `yaml:"label"`
	Explore   float64 `yaml:"explore"`
	LabelSeed uint64  `yaml:"label_seed"`
	Replay    int     `yaml:"replay"`
	Prior     string  `yaml:"prior"`  // candidates, with commas between: the best on training windows is taken
	Margin    float64 `yaml:"margin"` // by which bids for other candidates must exceed that for the prior's own
	Window    int     `yaml:"window"` // jobs shown to the agents
	// Candidates is how many candidates of a wide list the team chooses from beside the prior's own, and Rivals are baselines, with
	// commas between, whose proposals are among them; 0 is for narrow lists, about one start of the prior after the other.
	Candidates int    `yaml:"candidates,omitempty"`
	Rivals     string `yaml:"rivals,omitempty"`
	// Encoder and Reward are names, see observe.Register and env.RegisterReward. A reward must never be positive: what is learned
	// is to lose less of it than the prior.
	Encoder string `yaml:"encoder,omitempty"` // empty: standard
	Reward  string `yaml:"reward,omitempty"`  // empty: flow

	Size agents.Size `yaml:"size"`
	// Windows and Rollouts: an update plays Rollouts episodes on each of Windows windows.
	Windows  int `yaml:"windows"`
	Rollouts int `yaml:"rollouts"`
	// Memory is the time constant with which what a decision leads to is discounted. Credit is that within which a decision is
	// judged by what did follow; beyond, by what the prior would have made of it. It stands for GAE's λ where steps are unequal,
	// and labels do without.
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
	MaxKL   float64 `yaml:"max_kl"`  // an update from draws ends its epochs when the policy has moved so far
	MaxNorm float64 `yaml:"max_norm"`
	// Every so many updates the policy is played on Validation windows of each scenario and a checkpoint is stored, and at the
	// end; Keep checkpoints stay.
	Every      int `yaml:"every"`
	Validation int `yaml:"validation"`
	Keep       int `yaml:"keep"`
}

// The learners.
const (
	PolicyLearner = "policy"
	ValueLearner  = "value"
)

// DefaultConfig returns settings that learn on two cores within minutes.
func DefaultConfig() Config {
	return Config{
		Seed: 1, Updates: 60, Expert: 60, Learner: ValueLearner, Label: 0.06, Explore: 8, LabelSeed: 1, Replay: 1 << 16,
		Prior: agents.DefaultPrior, Margin: 0.5,
		Window: agents.DefaultWindow, Size: agents.DefaultSize(), Windows: 8, Rollouts: 1, Memory: 2 * time.Hour,
		Credit: 10 * time.Minute, Choices: 1024, Epochs: 1, Batch: 64, Rate: 2e-3, Clip: 0.2, Entropy: 0.03,
		MaxKL: 0.03, MaxNorm: 0.5, Every: 5, Validation: 12, Keep: 3,
	}
}

// Validate reports the first setting out of range, by its key.
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
	if c.Learner != PolicyLearner && c.Learner != ValueLearner {
		return fmt.Errorf("train.learner: %q, want %s or %s", c.Learner, PolicyLearner, ValueLearner)
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
