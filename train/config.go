// Package train trains a team of server agents to improve on its prior: the base policy whose decisions the team reviews.
//
// A run begins with labels. At some decisions of the prior, the simulator is forked once for each candidate. It carries out the
// candidate in the fork, and the prior plays on from there with the trace's actual later arrivals. The label of a candidate is
// the cost that it saves relative to the prior's own choice, and the team learns from the labels. The run may then continue with
// proximal policy optimisation (PPO; Schulman et al., 2017): the team samples its own choices, and the advantage of each compares
// it with the prior's decision in the same state, on the same arrivals.
//
// A run stores atomic checkpoints, resumes exactly from one, and writes its metrics as JSON lines. It compares the team with its
// prior on validation windows only; package eval compares policies on test windows.
package train

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/observe"
)

// Config contains all settings that a run's result depends on, apart from its scenarios. On one platform, the same Config and the
// same scenarios give the same weights and metrics, byte for byte, with any number of cores. In run.yaml and on the command line,
// the key of a field is "train." and its YAML name.
type Config struct {
	// Seed seeds all random draws except those that LabelSeed seeds.
	Seed uint64 `yaml:"seed"`
	// Updates is the total number of updates.
	Updates int `yaml:"updates"`
	// Extended lists, for a run that was extended, the stages before it had so many Updates; see Planned.
	Extended []Planned `yaml:"extended,omitempty"`
	// Expert is the number of updates that learn from labels. They come first; the updates after them learn by PPO.
	Expert int `yaml:"expert"`
	// Learner is how the team learns from labels: "policy" (policyLearner) or "value" (valueLearner).
	Learner string `yaml:"learner"`
	// Label is the fraction of decisions to label, 0 to 1.
	Label float64 `yaml:"label"`
	// Pairs is the fraction of labelled decisions that are labelled once more after a drawn candidate, if Size.Joint: they show what
	// candidates are worth together.
	Pairs float64 `yaml:"pairs,omitempty"`
	// Explore controls how often the prior departs from its own choice while labels are gathered: it takes each other candidate
	// exp(-Explore) times as often as its own.
	Explore float64 `yaml:"explore"`
	// Along says in whose play the labelled decisions come up: "prior", or "team", which takes every second window of a scenario
	// from the play of the policy that the run began with; see Options.From. Empty means "prior".
	Along string `yaml:"along,omitempty"`
	// LabelSeed seeds the choice of labelled windows, the departures in them and the choice of decisions to label. Runs that differ
	// in Seed but not in LabelSeed can share their labels.
	LabelSeed uint64 `yaml:"label_seed"`
	// Replay is the number of labelled decisions to learn from; the run drops the oldest windows beyond it.
	Replay int `yaml:"replay"`
	// Prior names the base policy that the team starts from. If it lists several names, separated by commas, the run takes the one
	// with the lowest cost on training windows.
	Prior string `yaml:"prior"`
	// Margin is how much the bid for another candidate must exceed the bid for the prior's own candidate to be taken.
	Margin float64 `yaml:"margin"`
	// Window is the number of jobs that the agents observe, in addition to the jobs that the candidates are about.
	Window int `yaml:"window"`
	// Candidates is the largest number of candidates on a wide list, besides the prior's own. 0 means narrow lists, which contain
	// one start of the prior and its alternatives.
	Candidates int `yaml:"candidates,omitempty"`
	// Rivals names baselines, separated by commas, whose proposals also become candidates on the wide list.
	Rivals string `yaml:"rivals,omitempty"`
	// Against names baselines, separated by commas, with whose costs the team's is compared; "prior" stands for the team's prior.
	// PPO divides the advantages of a scenario by the mean cost of the baselines that did best on its windows.
	Against string `yaml:"against,omitempty"`
	// Encoder names the encoder of observations; see observe.Register. Empty means the standard encoder.
	Encoder string `yaml:"encoder,omitempty"`
	// Costs lets the team see what jobs cost by the objective, and decide when that changes by itself.
	Costs bool `yaml:"costs,omitempty"`
	// Objective is what the team is trained for: a name of the library of objectives, a YAML file or its text, or the name of a
	// reward of the program (env.RegisterReward), which must never be positive. Empty means completion. Run puts the text in place
	// of a name or a file; see Settle.
	Objective string `yaml:"objective,omitempty"`
	// Reward is what older programs were trained for; it is no setting any more.
	Reward string `yaml:"reward,omitempty" gone:"train.objective replaces it: see clustergym objective ls"`
	// Tail is how labels, and advantages of draws, count what happens long after a decision: "discount" (discountTail) or "backlog"
	// (backlogTail). Empty means discount.
	Tail string `yaml:"tail,omitempty"`

	// Curriculum lists stages of other workloads, with which training begins.
	Curriculum []Stage `yaml:"curriculum,omitempty"`

	// Table has the baselines that Prior, Rivals and Against name.
	Table baselines.Table `yaml:"-"`

	// Size is the size of the network.
	Size agents.Size `yaml:"size"`
	// Windows is the number of training windows in an update; Rollouts is the number of episodes that PPO plays on each of them.
	Windows  int `yaml:"windows"`
	Rollouts int `yaml:"rollouts"`
	// Memory is the time constant of the discount: a reward that comes Memory later counts 1/e as much. With the Tail "backlog" it
	// is how long a fork plays before its backlog is estimated.
	Memory time.Duration `yaml:"memory"`
	// Credit is the time constant with which PPO's advantages shift from the costs that followed a decision to the estimate from the
	// prior. It has the role of λ in generalised advantage estimation, for steps of unequal length. Labels ignore it.
	Credit time.Duration `yaml:"credit"`
	// Critic is what PPO's advantages compare the team with: "prior" (or empty) simulates for every decision the exact cost if the
	// prior plays on; "learned" is a network that learns to estimate the team's cost, which saves these simulations.
	Critic string `yaml:"critic,omitempty"`
	// Choices is the largest number of decisions that an update learns from, drawn uniformly. Epochs is the number of passes over
	// them, and Batch is the number of decisions in one gradient step.
	Choices int `yaml:"choices"`
	Epochs  int `yaml:"epochs"`
	Batch   int `yaml:"batch"`
	// Rate is Adam's learning rate at the first update. It falls linearly to a tenth at the last.
	Rate float64 `yaml:"rate"`
	// Temperature divides the logits, bids and margin, before they become probabilities: the lower, the more often the team takes
	// the highest bid while it samples its actions. Bids that were fitted to savings need one below 1 (see Learner). 0 means 1.
	Temperature float64 `yaml:"temperature,omitempty"`
	// Clip is the largest deviation of PPO's probability ratio from 1; larger deviations are clipped.
	Clip float64 `yaml:"clip"`
	// Entropy is the weight of the entropy bonus at the first update. It falls linearly to 0 at the last.
	Entropy float64 `yaml:"entropy"`
	// MaxKL, in nats, ends an update after the first epoch in which the mean divergence from the policy that played exceeds it.
	MaxKL float64 `yaml:"max_kl"`
	// MaxNorm is the largest norm of a gradient; larger gradients are scaled down.
	MaxNorm float64 `yaml:"max_norm"`
	// Every is the number of updates between validations, which also store a checkpoint. The last update is always validated and
	// stored.
	Every int `yaml:"every"`
	// Patience ends the run after that many validations in a row without better weights; see endsEarly. 0 never does.
	Patience int `yaml:"patience,omitempty"`
	// Validation is the number of validation windows to play in each scenario.
	Validation int `yaml:"validation"`
	// Keep is the number of checkpoints to keep on disk.
	Keep int `yaml:"keep"`
}

// The values of Config.Learner.
const (
	policyLearner = "policy" // learns to choose, more often, the candidates that save much
	valueLearner  = "value"  // learns to bid for each candidate the cost that it saves
)

// The values of Config.Along.
const (
	alongPrior = "prior"
	alongTeam  = "team"
)

// DefaultConfig returns settings with which a run on two cores learns within minutes.
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
	if err := c.decides(); err != nil {
		return err
	}
	if c.Reward != "" {
		return fmt.Errorf("train.reward: %q is no setting any more; train.objective replaces it: see clustergym objective ls", c.Reward)
	}
	if err := c.validateTail(); err != nil {
		return err
	}
	for _, of := range []struct {
		key   string
		names []string
	}{{"train.prior", c.priors()}, {"train.rivals", listed(c.Rivals)}} {
		all, err := c.Table.ParseAll(of.names...)
		for i := range all {
			if _, lacks := all[i].Review(baselines.Given{}); err == nil {
				err = cmp.Or(lacks, c.decidesBy(all[i]))
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", of.key, err)
		}
	}
	return c.checkAgainst()
}

// decidesBy returns an error about a baseline that decides by an objective, and would do so by another one than the run's. A
// policy is used where nobody says what it was trained for, so its prior must name the objective itself.
func (c *Config) decidesBy(s baselines.Spec) error {
	g, err := c.goal()
	if err != nil || !s.Needs().Objective || strings.Contains(s.String(), "objective=") ||
		g.reward == nil && g.objective.Text() == objectives.Usual().Text() {
		return nil
	}
	return fmt.Errorf("%s decides by completion times, and the run learns for another objective: want its option objective, such "+
		"as index:objective=small-first", s)
}

// decides is Validate without the settings that only training uses: the objective and the baselines. A program that lacks one of
// them can still decide with a policy that was trained with it.
func (c *Config) decides() error {
	for _, f := range []struct {
		key      string
		n        int
		low, top int
	}{
		{"updates", c.Updates, 1, 1 << 24}, {"expert", c.Expert, 0, 1 << 24}, {"window", c.Window, 4, 1 << 10},
		{"windows", c.Windows, 1, 1 << 10}, {"rollouts", c.Rollouts, 1, 1 << 10}, {"choices", c.Choices, 1, 1 << 24},
		{"epochs", c.Epochs, 1, 1 << 10}, {"batch", c.Batch, 1, 1 << 20}, {"every", c.Every, 1, 1 << 24},
		{"validation", c.Validation, 1, 1 << 20}, {"keep", c.Keep, 1, 1 << 10}, {"replay", c.Replay, 1, 1 << 24},
		{"patience", c.Patience, 0, 1 << 20},
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
		{"rate", c.Rate, 1, false}, {"temperature", c.Temperature, 1e6, true}, {"clip", c.Clip, 1, false},
		{"entropy", c.Entropy, 10, true},
		{"max_kl", c.MaxKL, 100, false}, {"max_norm", c.MaxNorm, 1e6, false}, {"memory", c.Memory.Hours(), math.MaxFloat64, false},
		{"credit", c.Credit.Hours(), math.MaxFloat64, false}, {"label", c.Label, 1, true}, {"margin", c.Margin, 1e6, true},
		{"explore", c.Explore, 1e6, true}, {"pairs", c.Pairs, 1, true},
	} {
		if !(f.x > 0 || f.zero && f.x == 0) || f.x > f.top {
			least := "above 0"
			if f.zero {
				least = "at least 0"
			}
			return fmt.Errorf("train.%s: %v, want %s and at most %v", f.key, f.x, least, f.top)
		}
	}
	if err := c.checkExtended(); err != nil {
		return err
	}
	if c.Learner != policyLearner && c.Learner != valueLearner {
		return fmt.Errorf("train.learner: %q, want %s or %s", c.Learner, policyLearner, valueLearner)
	}
	switch c.Critic {
	case "", priorCritic, learnedCritic:
	default:
		return fmt.Errorf("train.critic: %q, want %s or %s", c.Critic, priorCritic, learnedCritic)
	}
	if c.Along != "" && c.Along != alongPrior && c.Along != alongTeam {
		return fmt.Errorf("train.along: %q, want %s or %s", c.Along, alongPrior, alongTeam)
	}
	if _, err := observe.Named(c.Encoder, c.Window); err != nil {
		return fmt.Errorf("train.encoder: %w", err)
	}
	if g, err := c.goal(); c.Costs && (err != nil || g.reward != nil || c.Encoder != "" && c.Encoder != observe.StandardName &&
		c.Encoder != observe.UncertainName) {
		return fmt.Errorf("train.costs: with objective %q and encoder %q, want an objective and an encoder of this program",
			c.Objective, c.Encoder)
	}
	if err := c.validateCurriculum(); err != nil {
		return err
	}
	if c.Candidates < 0 || c.Candidates > 1<<10 {
		return fmt.Errorf("train.candidates: %d, want 0 to %d", c.Candidates, 1<<10)
	}
	if c.Size.Joint && c.Candidates == 0 || c.Pairs > 0 && !c.Size.Joint {
		return fmt.Errorf("train.size.joint: %t with train.candidates %d and train.pairs %v, want joint decisions with more than 0"+
			" candidates, and pairs only with them", c.Size.Joint, c.Candidates, c.Pairs)
	}
	if c.Rivals != "" && c.Candidates == 0 {
		return fmt.Errorf("train.rivals: %q without train.candidates, want both or none", c.Rivals)
	}
	return nil
}

// design returns the design of the run's policy.
func (c *Config) design(name, prior string) agents.Design {
	g, _ := c.goal() // a mistake has been found before
	return agents.Design{
		Name: name, Encoder: c.Encoder, Costs: c.Costs, Objective: g.objective, Window: c.Window, Prior: prior, Table: c.Table,
		Wide: agents.Wide{Items: c.Candidates, Rivals: listed(c.Rivals)}, Margin: c.Margin, Size: c.Size,
	}
}

// temperature returns the temperature of draws.
func (c *Config) temperature() float64 {
	if c.Temperature == 0 {
		return 1
	}
	return c.Temperature
}

// priors returns the names listed in Prior.
func (c *Config) priors() []string { return strings.Split(c.Prior, ",") }
