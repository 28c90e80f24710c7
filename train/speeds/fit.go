package speeds

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
	Clusters int     `yaml:"clusters"` // clusters drawn for each scenario, on which training windows are played
	Held     int     `yaml:"held"`     // further clusters drawn for each scenario, on which validation windows are played
	Within   float64 `yaml:"within"`   // by which factor, less 1, speeds on a cluster differ at most from those of the catalogue
	Windows  int     `yaml:"windows"`  // windows played on each cluster
	Examples int     `yaml:"examples"` // most examples of each cluster
	Members  int     `yaml:"members"`  // networks whose answers are averaged
	Hidden   int     `yaml:"hidden"`   // units of each hidden layer
	Epochs   int     `yaml:"epochs"`   // most passes over the examples for each member
	Patience int     `yaml:"patience"` // passes without progress on the held clusters after which a member is done
	Batch    int     `yaml:"batch"`    // examples of a step
	Rate     float64 `yaml:"rate"`     // of Adam
	Decay    float64 `yaml:"decay"`    // of weights, for each step and unit of Rate
}

// DefaultConfig returns the usual settings.
func DefaultConfig() Config {
	return Config{
		Seed: 1, Clusters: 16, Held: 4, Within: 0.5, Windows: 6, Examples: 1500, Members: 2, Hidden: 32, Epochs: 30, Patience: 5,
		Batch: 512, Rate: 1e-3, Decay: 10,
	}
}

// Validate returns an error that names the first setting out of range.
func (c *Config) Validate() error {
	for _, s := range []struct {
		name           string
		got, low, high float64
	}{
		{"clusters", float64(c.Clusters), 1, 1000}, {"held", float64(c.Held), 1, 1000}, {"within", c.Within, 0.01, 1},
		{"windows", float64(c.Windows), 1, 1000}, {"examples", float64(c.Examples), 3, 1e6},
		{"members", float64(c.Members), 1, 16}, {"hidden", float64(c.Hidden), 1, 1024}, {"epochs", float64(c.Epochs), 1, 10000},
		{"patience", float64(c.Patience), 1, 10000}, {"batch", float64(c.Batch), 1, 1 << 16}, {"rate", c.Rate, 1e-9, 1},
		{"decay", c.Decay, 0, 100},
	} {
		if !(s.got >= s.low && s.got <= s.high) {
			return fmt.Errorf("setting speeds.%s: %v, want %v to %v", s.name, s.got, s.low, s.high)
		}
	}
	return nil
}

// fit is a fit in progress.
type fit struct {
	*ensemble.Fit[*belief.SpeedMember]
	net     belief.SpeedNetwork // without members until run has returned
	machine *machine[float32]
}

// newFit prepares a fit to examples. It changes them: it normalises their inputs. Control are examples that members are not
// fitted to.
func newFit(cfg *Config, training, control []Example) (*fit, error) {
	f := &fit{}
	for _, part := range []struct {
		s      *belief.Scaling
		width  int
		inputs func(*Example) []float32
	}{
		{&f.net.Context, belief.SpeedContext, func(e *Example) []float32 { return e.Context }},
		{&f.net.Point, belief.SpeedPoint, func(e *Example) []float32 { return e.Points }},
	} {
		*part.s = ensemble.Moments(training, part.width, part.inputs)
		for _, all := range [][]Example{training, control} {
			for i := range all {
				part.s.Apply(part.inputs(&all[i]))
			}
		}
	}
	var err error
	if f.machine, err = newMachine[float32](cfg.Batch, cfg.Hidden); err != nil {
		return nil, err
	}
	var batch []*Example
	f.Fit = ensemble.New(ensemble.Problem[*belief.SpeedMember]{
		Name: "speeds", Examples: len(training),
		Settings: ensemble.Settings{
			Seed: cfg.Seed, Members: cfg.Members, Epochs: cfg.Epochs, Patience: cfg.Patience, Rate: cfg.Rate, Decay: cfg.Decay,
		},
		New: func() *belief.SpeedMember {
			m := belief.NewSpeedMember(cfg.Hidden)
			return &m
		},
		Read: func(tensors []checkpoints.Tensor, prefix string) (*belief.SpeedMember, error) {
			m, err := belief.ReadSpeedMember(tensors, prefix)
			return &m, err
		},
		Batch: func(order []int) int { return min(len(order), cfg.Batch) },
		Step: func(m *belief.SpeedMember, order []int, grad []float32) (float64, error) {
			batch = batch[:0]
			for _, i := range order {
				batch = append(batch, &training[i])
			}
			return f.machine.run(m, batch, grad)
		},
		Score: func(m *belief.SpeedMember) float64 { return meanLoss(m, control) },
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
func meanLoss(m *belief.SpeedMember, all []Example) float64 {
	var s belief.Scratch
	sum := 0.0
	for i := range all {
		sum += all[i].loss(all[i].answer(m, &s))
	}
	return sum / float64(len(all))
}

// answer returns what a member answers to normalised inputs: by how many standard deviations the mean is off, and the logarithm
// of the factor of the standard deviation.
func (e *Example) answer(m *belief.SpeedMember, s *belief.Scratch) (shift, widen float64) {
	var z [belief.SpeedAnswer]float32
	m.Forward(s, z[:], e.Context, e.Points)
	for k, v := range e.Shift {
		shift += float64(z[k] * v)
	}
	for k, v := range e.Share {
		widen += float64(z[belief.SpeedShifts+k] * v)
	}
	return shift, widen
}

// The loss has two parts. That of Student's distribution with so many degrees of freedom forgives a few large misses; its
// interval of 80 % is as wide as that of a normal distribution with a standard deviation of ratio times its scale. The square of
// the miss of the logarithm, with the weight squares, does not forgive them: few speeds are far off, but decisions by them are
// dear.
const (
	freedom = 4.0
	ratio   = 1.5332 / 1.2816
	squares = 4.0
)

// loss returns the loss of an example under an answer.
func (e *Example) loss(shift, widen float64) float64 {
	off := e.Miss - shift
	r := off * ratio * math.Exp(-widen)
	return widen + (freedom+1)/2*math.Log1p(r*r/freedom) + squares*off*off*e.SD*e.SD
}
