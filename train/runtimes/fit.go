package runtimes

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/adam"
	"github.com/clustergym/clustergym/internal/rng"
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

// fit is the state of a fit between two epochs.
type fit struct {
	cfg               *Config
	training, control []Example // with normalised inputs; control is the validation split
	machine           *machine[float32]
	grad              []float32

	net    belief.Network // its members are those that are done
	epoch  int            // of the member in progress
	member belief.Member  // in progress
	adam   adam.State
	best   belief.Member // the member in progress as it did best
	loss   float64       // its loss on validation
	since  int           // epochs since then
}

// Metrics is what an epoch reports: one line of metrics.jsonl.
type Metrics struct {
	Member     int     `json:"member"`
	Epoch      int     `json:"epoch"`      // of the member, from 1
	Training   float64 `json:"training"`   // mean loss of the examples during the epoch, nats
	Validation float64 `json:"validation"` // mean loss of the validation examples after it, nats
	Best       float64 `json:"best"`       // least such loss of the member so far; it begins as the loss of a History
}

// newFit prepares a fit to examples. It changes them: it normalises their inputs.
func newFit(cfg *Config, training, control []Example) (*fit, error) {
	f := &fit{cfg: cfg, training: training, control: control}
	f.net.Mean, f.net.Scale = moments(training)
	for _, part := range [][]Example{training, control} {
		for i := range part {
			f.net.Normalise(part[i].X)
		}
	}
	var err error
	if f.machine, err = newMachine[float32](cfg.Batch, cfg.Hidden); err != nil {
		return nil, err
	}
	f.begin()
	f.grad = make([]float32, len(f.adam.M))
	return f, nil
}

// moments returns mean and standard deviation of each input where it is known.
func moments(examples []Example) (mean, scale []float32) {
	mean, scale = make([]float32, belief.Inputs), make([]float32, belief.Inputs)
	for k := range belief.Inputs {
		n, sum, squares := 0.0, 0.0, 0.0
		for i := range examples {
			for at := k; at < len(examples[i].X); at += belief.Inputs {
				if v := float64(examples[i].X[at]); !math.IsNaN(v) {
					n++
					sum += v
					squares += v * v
				}
			}
		}
		n = max(n, 1)
		mean[k], scale[k] = float32(sum/n), float32(math.Sqrt(max(squares/n-sum/n*sum/n, 0))+1e-3)
	}
	return mean, scale
}

// begin prepares the next member. Its last layer is 0, so that it corrects nothing.
func (f *fit) begin() {
	f.member = belief.NewMember(f.cfg.Hidden)
	draw := rng.Stream(f.cfg.Seed, "runtimes", "weights", strconv.Itoa(len(f.net.Members)))
	for i := range 2 {
		size := math.Sqrt(2 / float64(len(f.member.W[i])/f.cfg.Hidden))
		for k := range f.member.W[i] {
			f.member.W[i][k] = float32(size * draw.NormFloat64())
		}
	}
	n := 0
	for _, part := range parts(&f.member) {
		n += len(part)
	}
	f.adam, f.epoch, f.since = adam.New(n), 0, 0
	f.keep(f.score(&f.member))
}

// keep remembers the member as the best so far.
func (f *fit) keep(loss float64) {
	f.best, f.loss, f.since = belief.NewMember(f.cfg.Hidden), loss, 0
	for i, part := range parts(&f.best) {
		copy(part, parts(&f.member)[i])
	}
}

func (f *fit) done() bool { return len(f.net.Members) == f.cfg.Members }

// next makes an epoch. Its order of examples is drawn from a stream of its own, so that a resumed fit draws the same.
func (f *fit) next(ctx context.Context) (*Metrics, error) {
	number := len(f.net.Members)
	draw := rng.Stream(f.cfg.Seed, "runtimes", "order", strconv.Itoa(number), strconv.Itoa(f.epoch))
	sum, err := f.pass(ctx, draw)
	if err != nil {
		return nil, err
	}
	f.epoch++
	f.since++
	m := &Metrics{Member: number + 1, Epoch: f.epoch, Training: sum / float64(len(f.training)), Validation: f.score(&f.member)}
	if m.Validation < f.loss {
		f.keep(m.Validation)
	}
	m.Best = f.loss
	if f.since >= f.cfg.Patience || f.epoch == f.cfg.Epochs {
		f.net.Members = append(f.net.Members, f.best)
		if !f.done() {
			f.begin()
		}
	}
	return m, nil
}

// pass steps through all examples in an order drawn at random and returns the sum of their losses.
func (f *fit) pass(ctx context.Context, draw *rand.Rand) (sum float64, err error) {
	order := draw.Perm(len(f.training))
	var batch []*Example
	for at := 0; at < len(order); {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		batch = batch[:0]
		for rows := 0; at < len(order); at++ {
			e := &f.training[order[at]]
			if rows += len(e.Base); rows > f.machine.rows {
				break
			}
			batch = append(batch, e)
		}
		loss, err := f.machine.run(&f.member, batch, f.grad)
		if err != nil {
			return 0, err
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return 0, fmt.Errorf("member %d, epoch %d: loss %v, want a finite number", len(f.net.Members)+1, f.epoch+1, loss)
		}
		sum += loss * float64(len(batch))
		f.adam.Next()
		w := 0
		for i, part := range parts(&f.member) {
			decay := f.cfg.Decay * float64(1-i%2) // of weights, not of biases
			f.adam.Step(part, f.grad[w:w+len(part)], w, 1, f.cfg.Rate, decay)
			w += len(part)
		}
	}
	return sum, nil
}

// score returns the mean loss of the validation examples, or of the training examples if there are none.
func (f *fit) score(m *belief.Member) float64 {
	all := f.control
	if len(all) == 0 {
		all = f.training
	}
	return meanLoss(m, all)
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
