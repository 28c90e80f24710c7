package train

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
	"github.com/clustergym/clustergym/train/adam"
	"github.com/clustergym/clustergym/train/critic"
)

// The values of Config.Critic; empty means priorCritic.
const (
	priorCritic   = "prior"   // the exact cost if the prior plays on, from one fork of the simulator for each decision
	learnedCritic = "learned" // a network, see central
)

// learnsCritic reports whether PPO has a learned critic.
func (c *Config) learnsCritic() bool { return c.Critic == learnedCritic }

// central is PPO's learned critic. It estimates from the state of the whole cluster what the team will save from then on: the
// discounted cost that the prior has from the same time on, in its own episode on the same arrivals, less the team's. So it need
// not foresee arrivals, whose effect both costs share (Mao et al., Variance reduction for reinforcement learning in input-driven
// environments, ICLR 2019). It also sees the prior's cost at that time and later, which depends on the arrivals and not on what
// the team chooses.
type central struct {
	cfg     *Config
	shape   critic.Shape
	global  int // number of global features, the last ones in the row of a server
	workers int
	params  agents.Params
	adam    adam.State
	scale   critic.Scale
	machine *critic.Machine[float32]
	grad    []float32
}

const (
	criticWidth  = 32
	criticRate   = 2e-3 // Adam's learning rate
	criticDecay  = 30   // decay of the weights of observations, in units of the rate
	criticEpochs = 2    // number of times that an update of the critic draws Config.Choices of its decisions
	criticFirst  = 8    // the same for its first update
)

// newCentral returns the critic of a policy for clusters of at most the given number of servers; it is nil if cfg has no learned
// critic.
func newCentral(cfg *Config, p *agents.Policy, servers, workers int) (*central, error) {
	if !cfg.learnsCritic() {
		return nil, nil
	}
	global := len(p.Game().Encoder.Spec().Global)
	c := &central{cfg: cfg, global: global, workers: workers, shape: critic.Shape{
		Server: p.Shape.Server, Job: p.Shape.Job, Features: global + hindsights, Hindsight: hindsights, Width: criticWidth,
	}}
	c.params = critic.Init(c.shape, rng.Stream(cfg.Seed, "train", "critic"))
	n := c.params.Count()
	c.adam, c.grad = adam.New(n), make([]float32, n)
	var err error
	c.machine, err = critic.NewMachine[float32](c.shape, chunk, servers, max(cfg.Window, p.Candidates()))
	return c, err
}

func (c *central) close() {
	if c != nil {
		_ = c.machine.Close() // a machine contains nothing to lose
	}
}

// onward lists how long after a decision the critic sees the prior's cost, in units of the discount's time constant.
var onward = [...]float64{0, 0.125, 0.25, 0.5, 1, 2}

// hindsights is the number of features that hindsight returns.
const hindsights = 3 + len(onward)

// hindsight returns what the critic sees beside the state, in logarithms: the cost per hour of the team at the time t, how much
// less that is than the prior's, the prior's discounted cost from t on, and its cost per hour at and after t.
func hindsight(rate float64, prior *curve, t time.Duration) []float32 {
	list := []float64{rate, prior.rateAt(t) - rate, prior.from(t)}
	for _, x := range onward {
		list = append(list, prior.rateAt(t+time.Duration(x*min(float64(prior.memory), math.MaxInt64/8))))
	}
	features := make([]float32, hindsights)
	for i, x := range list {
		features[i] = float32(math.Asinh(x))
	}
	return features
}

// judge sets the values of all steps of the windows to the critic's estimates of their costs, and then fits the critic to what
// the windows have shown. The first time it fits the critic before that, too.
func (c *central) judge(windows []window, draw *rand.Rand, m *Metrics) error {
	var states []critic.State
	var saved []float64
	for w := range windows {
		v := &windows[w]
		for _, g := range v.group {
			for i, at := range g.steps {
				o := g.samples[i].Observation
				row := o.Server[:c.shape.Server]
				features := slices.Concat(row[len(row)-c.global:], hindsight(g.rates[i], v.prior, at.at))
				states = append(states, critic.State{Observation: o, Features: features})
				saved = append(saved, v.prior.from(at.at)-g.curve.from(at.at))
			}
		}
	}
	if len(states) == 0 {
		return nil
	}
	values := c.values(states)
	share := explained(saved, values)
	m.Explained = &share
	first := c.scale.Updates == 0
	loss, err := c.fit(states, saved, draw)
	if err != nil {
		return err
	}
	m.CriticLoss = &loss
	if first {
		values = c.values(states)
	}
	for w := range windows {
		v := &windows[w]
		for _, g := range v.group {
			for i := range g.steps {
				at := &g.steps[i]
				at.value, values = v.prior.from(at.at)-values[0], values[1:]
			}
		}
	}
	return nil
}

// values returns what the team will save from each state on, in job-hours, as estimated.
func (c *central) values(states []critic.State) []float64 {
	values := make([]float64, len(states))
	var wait sync.WaitGroup
	for w := range c.workers {
		wait.Go(func() {
			net := critic.NewNet(c.shape, c.params)
			for i := w; i < len(states); i += c.workers {
				values[i] = c.scale.Value(net.Value(&states[i]))
			}
		})
	}
	wait.Wait()
	return values
}

// fit makes an update of the critic and returns the mean loss of its last pass.
func (c *central) fit(states []critic.State, saved []float64, draw *rand.Rand) (loss float64, err error) {
	epochs := criticEpochs
	if c.scale.Updates == 0 {
		epochs = criticFirst
	}
	c.scale.Adapt(c.params, saved)
	part, want := make([]critic.State, 0, chunk), make([]float64, 0, chunk)
	for range epochs {
		order := draw.Perm(len(states))
		order = order[:min(len(order), c.cfg.Choices)]
		loss = 0
		for from := 0; from < len(order); from += chunk {
			part, want = part[:0], want[:0]
			for _, i := range order[from:min(from+chunk, len(order))] {
				part, want = append(part, states[i]), append(want, c.scale.Number(saved[i]))
			}
			x, err := c.machine.Run(c.params, part, want, c.grad)
			if err != nil {
				return 0, err
			}
			if _, err := descend(c.params, &c.adam, c.grad, c.cfg.MaxNorm, criticRate); err != nil {
				return 0, err
			}
			critic.Shrink(c.shape, c.params, 1-criticRate*criticDecay)
			loss += x * float64(len(part)) / float64(len(order))
		}
	}
	return loss, nil
}

// explained returns the fraction of the variance of what was to be estimated that the estimates explain: 1 for exact estimates, 0
// for constant ones, below 0 for worse ones.
func explained(want, got []float64) float64 {
	off := make([]float64, len(want))
	for i := range want {
		off[i] = want[i] - got[i]
	}
	all := stats.StdDev(want)
	if !(all > 0) {
		return 0
	}
	left := stats.StdDev(off) / all
	return 1 - left*left
}

// criticState is the part of a checkpoint's metadata that describes a learned critic.
type criticState struct {
	Steps int64        `json:"adam_steps"`
	Scale critic.Scale `json:"scale"`
}

// state returns the critic's metadata and tensors for a checkpoint, nothing without a critic.
func (c *central) state() (*criticState, []checkpoints.Tensor) {
	if c == nil {
		return nil, nil
	}
	tensors := c.params.Tensors()
	for _, t := range c.adam.Tensors() {
		t.Name = criticPrefix + t.Name
		tensors = append(tensors, t)
	}
	return &criticState{c.adam.Steps, c.scale}, tensors
}

// load restores the critic from a checkpoint.
func (c *central) load(st *criticState, tensors []checkpoints.Tensor) error {
	if c == nil {
		return nil
	}
	if st == nil {
		return errors.New("load critic: the checkpoint has none")
	}
	for _, t := range c.params.Tensors() {
		data, err := checkpoints.Get[float32](tensors, t.Name, t.Shape...)
		if err != nil {
			return fmt.Errorf("load critic: %w", err)
		}
		copy(t.Data.([]float32), data)
	}
	var moments []checkpoints.Tensor
	for _, t := range tensors {
		if name, ok := strings.CutPrefix(t.Name, criticPrefix); ok {
			t.Name = name
			moments = append(moments, t)
		}
	}
	if err := c.adam.Load(moments, st.Steps); err != nil {
		return fmt.Errorf("load critic: %w", err)
	}
	c.scale = st.Scale
	return c.params.Finite()
}

// criticPrefix begins the names of the critic's moments; those of its weights begin with it already.
const criticPrefix = "critic."
