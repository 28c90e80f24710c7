package runtimes

import (
	"context"
	"fmt"
	"math"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/train/ensemble"
)

// Config are the settings of a fit. The result depends on nothing else but the scenarios.
type Config struct {
	Seed     uint64  `yaml:"seed"`     // of everything random
	Members  int     `yaml:"members"`  // networks whose probabilities are averaged
	Examples int     `yaml:"examples"` // most examples of each scenario
	Hidden   int     `yaml:"hidden"`   // units of each of the two hidden layers
	Epochs   int     `yaml:"epochs"`   // most passes over the examples for each member
	Patience int     `yaml:"patience"` // passes without progress on validation after which a member is done
	Batch    int     `yaml:"batch"`    // bins of the examples of a step
	Rate     float64 `yaml:"rate"`     // of Adam
	Decay    float64 `yaml:"decay"`    // of weights, for each step and unit of Rate
}

// DefaultConfig returns the usual settings.
func DefaultConfig() Config {
	return Config{Seed: 1, Members: 2, Examples: 25_000, Hidden: 24, Epochs: 30, Patience: 5, Batch: 4096, Rate: 1e-3, Decay: 3}
}

// Validate returns an error that names the first setting out of range.
func (c *Config) Validate() error {
	for _, s := range []struct {
		name           string
		got, low, high float64
	}{
		{"members", float64(c.Members), 1, 16}, {"examples", float64(c.Examples), 1, 1e6},
		{"hidden", float64(c.Hidden), 1, 1024}, {"epochs", float64(c.Epochs), 1, 10000},
		{"patience", float64(c.Patience), 1, 10000}, {"batch", float64(c.Batch), belief.Hazards, 1 << 20}, {"rate", c.Rate, 1e-9, 1},
		{"decay", c.Decay, 0, 100},
	} {
		if !(s.got >= s.low && s.got <= s.high) {
			return fmt.Errorf("setting beliefs.%s: %v, want %v to %v", s.name, s.got, s.low, s.high)
		}
	}
	return nil
}

// fit is a fit in progress.
type fit struct {
	*ensemble.Fit[*belief.Member]
	net     belief.Network // without members until run has returned
	machine *machine[float32]
}

// newFit prepares a fit to examples. It changes them: it normalises their inputs. Control are those of the validation split; if
// there are none, members are kept as they do best on the training examples.
func newFit(cfg *Config, training, control []Example) (*fit, error) {
	f := &fit{}
	f.net.Inputs = ensemble.Moments(training, belief.Inputs, func(e *Example) []float32 { return e.X })
	for _, part := range [][]Example{training, control} {
		for i := range part {
			f.net.Inputs.Apply(part[i].X)
		}
	}
	if len(control) == 0 {
		control = training
	}
	var err error
	if f.machine, err = newMachine[float32](cfg.Batch, cfg.Hidden); err != nil {
		return nil, err
	}
	var batch []*Example
	f.Fit = ensemble.New(ensemble.Problem[*belief.Member]{
		Name: "runtimes", Examples: len(training),
		Settings: ensemble.Settings{
			Seed: cfg.Seed, Members: cfg.Members, Epochs: cfg.Epochs, Patience: cfg.Patience, Rate: cfg.Rate, Decay: cfg.Decay,
		},
		New: func() *belief.Member {
			m := belief.NewMember(cfg.Hidden)
			return &m
		},
		Read: func(tensors []checkpoints.Tensor, prefix string) (*belief.Member, error) {
			m, err := belief.ReadMember(tensors, prefix)
			return &m, err
		},
		Batch: func(order []int) int {
			rows := 0
			for n, i := range order {
				if rows += len(training[i].Base); rows > cfg.Batch {
					return n
				}
			}
			return len(order)
		},
		Step: func(m *belief.Member, order []int, grad []float32) (float64, error) {
			batch = batch[:0]
			for _, i := range order {
				batch = append(batch, &training[i])
			}
			return f.machine.run(m, batch, grad)
		},
		Score: func(m *belief.Member) float64 { return meanLoss(m, control) },
	})
	return f, nil
}

// run makes the epochs that are left.
func (f *fit) run(ctx context.Context, opt ensemble.Options) error {
	if err := f.Run(ctx, opt); err != nil {
		return err
	}
	for _, m := range f.Done {
		f.net.Members = append(f.net.Members, *m)
	}
	return nil
}

// meanLoss is the mean loss of examples with normalised inputs, computed without Gorgonia.
func meanLoss(m *belief.Member, all []Example) float64 {
	var s belief.Scratch
	var z [belief.Hazards]float32
	sum := 0.0
	for i := range all {
		e := &all[i]
		m.Forward(&s, z[:len(e.Base)], e.X)
		sum += e.loss(z[:])
	}
	return sum / float64(len(all))
}

// loss returns the negative logarithm of the likelihood of what happened, if the network adds z to the logarithms of the odds.
func (e *Example) loss(z []float32) (sum float64) {
	for k, base := range e.Base {
		v := float64(z[k]) + float64(base)
		sum += softplus(v)
		if e.Ended && k == len(e.Base)-1 {
			sum -= v
		}
	}
	return sum
}

// softplus returns log(1 + e^x).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
