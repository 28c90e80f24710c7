// Package demand trains the network that foresees the usage of an inference pool, and compares it with the other predictors
// on days that none of them was fitted to. The network itself, and what it is used for, belong to env/inference, which runs
// it without Gorgonia.
package demand

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/rng"
)

// Config is all that fixes a training's result, together with its series: the same of both give the same weights, byte for
// byte, on one platform.
type Config struct {
	Hidden     int     // width of both layers
	Epochs     int     // at most
	Batch      int     // samples a step; what is left of an epoch is dropped, others each time
	Rate       float64 // Adam's step in the first epoch, falling linearly to a tenth in the last
	Patience   int     // epochs in a row that may fail to improve on the best
	Validation float64 // share of each series, at its end, that chooses among the epochs' weights
	Seed       uint64
}

// DefaultConfig returns the settings of the released weights. Lyra's paper names no width, rate or number of epochs.
func DefaultConfig() Config {
	return Config{Hidden: 24, Epochs: 60, Batch: 64, Rate: 3e-3, Patience: 12, Validation: 0.2, Seed: 1}
}

// Validate reports the first setting out of range.
func (c *Config) Validate() error {
	for _, f := range []struct {
		key      string
		n        int
		low, top int
	}{
		{"hidden", c.Hidden, 1, 256}, {"epochs", c.Epochs, 1, 1e6}, {"batch", c.Batch, 1, 4096}, {"patience", c.Patience, 1, 1e6},
	} {
		if f.n < f.low || f.n > f.top {
			return fmt.Errorf("check demand training: %s is %d, want %d to %d", f.key, f.n, f.low, f.top)
		}
	}
	if !(c.Rate > 0 && c.Rate <= 1) {
		return fmt.Errorf("check demand training: rate is %g, want above 0 and at most 1", c.Rate)
	}
	if !(c.Validation > 0 && c.Validation < 1) {
		return fmt.Errorf("check demand training: validation is %g, want a share above 0 and below 1", c.Validation)
	}
	return nil
}

// Epoch is what an epoch came to. Errors are mean squared ones of usage, in shares of the pool.
type Epoch struct {
	Epoch      int     `json:"epoch"`      // from 1; 0 is before training
	Train      float64 `json:"train"`      // while the weights moved; 0 before training
	Validation float64 `json:"validation"` // of the weights at its end
}

// Report is what a training came to.
type Report struct {
	Samples    int   `json:"samples"`    // learned from
	Validation int   `json:"validation"` // samples that chose the epoch
	Epochs     int   `json:"epochs"`     // finished
	Start      Epoch `json:"start"`      // before training, when the network predicts the last value
	Best       Epoch `json:"best"`       // whose weights the network has; that of 0 if none was better
	Stopped    bool  `json:"stopped"`    // by the context
}

// Train fits a network to series of usage, fractions of a pool in equal steps, by Adam on the mean squared error one step
// ahead. It keeps the weights of the epoch that does best on the series' ends, which it does not learn from, and ends when
// Patience runs out. Samples that touch filled values are left out.
//
// progress, if not nil, is told every epoch when it ends. When ctx ends, the epoch in progress is finished, and Train
// returns the best so far with Report.Stopped and no error.
func Train(
	ctx context.Context, series []inference.Series, cfg Config, progress func(Epoch),
) (*inference.LSTM, Report, error) {
	if err := cfg.Validate(); err != nil {
		return nil, Report{}, err
	}
	learn, judge, err := split(series, cfg.Validation)
	if err != nil {
		return nil, Report{}, fmt.Errorf("train demand: %w", err)
	}
	n := inference.NewLSTM(cfg.Hidden, rng.Stream(cfg.Seed, "train demand", "weights"))
	if n.Scale, err = scaleOf(learn); err != nil {
		return nil, Report{}, fmt.Errorf("train demand: %w", err)
	}
	cfg.Batch = min(cfg.Batch, len(learn))
	m, err := newMachine(cfg.Hidden, cfg.Batch)
	if err != nil {
		return nil, Report{}, err
	}
	defer func() { _ = m.close() }() // nothing is lost with a machine
	r := Report{Samples: len(learn), Validation: len(judge), Start: Epoch{Validation: meanSquare(n, judge)}}
	r.Best = r.Start
	best, a := clone(n), newAdam(size(n))
	for epoch := 1; epoch <= cfg.Epochs && epoch-r.Best.Epoch <= cfg.Patience; epoch++ {
		if ctx.Err() != nil {
			r.Stopped = true
			break
		}
		e := Epoch{Epoch: epoch}
		if e.Train, err = a.epoch(m, n, learn, &cfg, epoch); err != nil {
			return nil, r, fmt.Errorf("train demand: epoch %d: %w", epoch, err)
		}
		if e.Validation = meanSquare(n, judge); e.Validation < r.Best.Validation {
			r.Best, best = e, clone(n)
		}
		r.Epochs = epoch
		if progress != nil {
			progress(e)
		}
	}
	return best, r, nil
}

// epoch takes a step for every full batch of the samples in an order drawn anew, and returns the mean squared error on the
// way.
func (a *adam) epoch(m *machine, n *inference.LSTM, samples []sample, cfg *Config, epoch int) (float64, error) {
	order := rng.Stream(cfg.Seed, "train demand", "order", strconv.Itoa(epoch)).Perm(len(samples))
	rate := cfg.Rate * (1 - 0.9*float64(epoch-1)/float64(max(cfg.Epochs-1, 1)))
	batch, grad := make([]sample, cfg.Batch), make([]float64, size(n))
	sum, batches := 0.0, len(samples)/cfg.Batch
	for b := range batches {
		for i := range batch {
			batch[i] = samples[order[b*cfg.Batch+i]]
		}
		loss, err := m.run(n, batch, grad)
		if err != nil {
			return 0, err
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return 0, fmt.Errorf("mean squared error of batch %d is %g, want a finite number: try a lower rate", b, loss)
		}
		a.step(n, grad, rate)
		sum += loss / float64(batches)
	}
	return sum * n.Scale[2] * n.Scale[2], nil
}

// clone copies a network.
func clone(n *inference.LSTM) *inference.LSTM {
	tensors := n.Params()
	for i := range tensors {
		tensors[i].Data = append([]float64(nil), tensors[i].Data.([]float64)...)
	}
	c, err := inference.LSTMOf(tensors)
	if err != nil {
		panic("demand: copy network: " + err.Error())
	}
	return c
}
