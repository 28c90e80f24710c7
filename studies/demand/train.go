// Package demand trains the network that predicts the usage of an inference pool, and compares it with the other predictors on
// days to which none of them was fitted. The network itself and its use are in env/inference, which runs it without Gorgonia.
package demand

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/rng"
)

// Config contains all that, together with the series, determines the result of a training. On one platform equal configurations
// and series give equal weights, byte for byte.
type Config struct {
	Hidden     int     // width of both layers
	Epochs     int     // largest number of epochs
	Batch      int     // number of samples per step; each epoch drops the remainder, other samples each time
	Rate       float64 // Adam's step size in the first epoch; it falls linearly to a tenth in the last
	Patience   int     // the training ends after that many epochs in a row without a better one
	Validation float64 // fraction of each series, at its end, that chooses the epoch
	Seed       uint64
}

// DefaultConfig returns the settings of the released weights. Lyra's paper gives no width, rate or number of epochs.
func DefaultConfig() Config {
	return Config{Hidden: 24, Epochs: 60, Batch: 64, Rate: 3e-3, Patience: 12, Validation: 0.2, Seed: 1}
}

// Validate returns an error about the first setting out of range.
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

// Epoch is the result of an epoch. Errors are mean squared errors of usage, in fractions of the pool.
type Epoch struct {
	Epoch      int     `json:"epoch"`      // from 1; 0 is before training
	Train      float64 `json:"train"`      // while the weights changed; 0 before training
	Validation float64 `json:"validation"` // of the weights at its end
}

// Report is the result of a training.
type Report struct {
	Samples    int   `json:"samples"`    // number of training samples
	Validation int   `json:"validation"` // number of validation samples
	Epochs     int   `json:"epochs"`     // number of epochs finished
	Start      Epoch `json:"start"`      // before training, when the network predicts the last value
	Best       Epoch `json:"best"`       // the epoch whose weights the network has; epoch 0 if none was better
	Stopped    bool  `json:"stopped"`    // true if the context ended the training
}

// Train fits a network to series of usage, fractions of a pool in equal steps, by Adam on the mean squared error one step ahead.
// It validates each epoch on the ends of the series, which it does not train on, keeps the weights of the best epoch, and ends
// when Patience runs out. It leaves out samples with filled values.
//
// Train calls progress, if not nil, at the end of every epoch. When ctx ends, Train finishes the present epoch and returns the
// best weights so far with Report.Stopped and no error.
func Train(
	ctx context.Context, series []inference.Series, cfg Config, progress func(Epoch),
) (*LSTM, Report, error) {
	if err := cfg.Validate(); err != nil {
		return nil, Report{}, err
	}
	learn, judge, err := split(series, cfg.Validation)
	if err != nil {
		return nil, Report{}, fmt.Errorf("train demand: %w", err)
	}
	n := NewLSTM(cfg.Hidden, rng.Stream(cfg.Seed, "train demand", "weights"))
	if n.Scale, err = scaleOf(learn); err != nil {
		return nil, Report{}, fmt.Errorf("train demand: %w", err)
	}
	cfg.Batch = min(cfg.Batch, len(learn))
	m, err := newMachine(cfg.Hidden, cfg.Batch)
	if err != nil {
		return nil, Report{}, err
	}
	defer func() { _ = m.close() }() // a machine contains nothing to save
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

// epoch makes a step for every full batch of the samples, in a newly drawn order, and returns the mean squared error over the
// batches.
func (a *adam) epoch(m *machine, n *LSTM, samples []sample, cfg *Config, epoch int) (float64, error) {
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
func clone(n *LSTM) *LSTM {
	tensors := n.Params()
	for i := range tensors {
		tensors[i].Data = append([]float64(nil), tensors[i].Data.([]float64)...)
	}
	c, err := LSTMOf(tensors)
	if err != nil {
		panic("demand: copy network: " + err.Error())
	}
	return c
}
