package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/rng"
)

// Inference describes the inference pool: servers beside the cluster that serve inference requests and lend to training what they
// do not need. If Servers is 0 there is no pool and the other keys have no effect.
type Inference struct {
	Servers         int    `yaml:"servers"`
	GPUsPerServer   int    `yaml:"gpus_per_server"`
	CPUsPerServer   int    `yaml:"cpus_per_server,omitempty"`
	MemGiBPerServer int    `yaml:"mem_gib_per_server,omitempty"`
	GPUType         string `yaml:"gpu_type,omitempty"`
	GPUMemGiB       int    `yaml:"gpu_mem_gib,omitempty"`
	// Demand is "generated", or a file of ServeGen's request rates, which is searched for like a trace.
	Demand    string    `yaml:"demand"`
	Predictor Predictor `yaml:"predictor"`
}

// generated selects demand drawn from inference.DefaultCycle.
const generated = "generated"

// Predictor selects how the inference scheduler predicts its demand.
type Predictor string

// The predictors.
const (
	lastValue      Predictor = "last"     // the current value
	seasonal       Predictor = "seasonal" // the value of the same time on the previous day
	autoregressive Predictor = "ar"       // linear in the last hour, fitted to the first half of the series
	oracleDemand   Predictor = "oracle"   // the true next value
)

const (
	demandStep = 5 * time.Minute // as in Lyra (EuroSys 2023, §6)
	peak       = 0.95            // fraction of the pool in use at the peak of the demand
	demandDays = 14              // days of generated demand
	// unserved is the fraction of demand that may go unserved on the first half of a series, for which margins are calibrated. It
	// is half of the fraction allowed overall, because the second half of a series differs.
	unserved = 0.0005
	day      = 24 * time.Hour
)

func defaultInference() Inference {
	return Inference{
		Demand: generated, Predictor: autoregressive,
	}
}

func (f *Inference) validate() error {
	if f.Servers == 0 {
		return nil
	}
	var p problems
	f.group().validate(&p, "inference")
	p.want(f.Demand != "", "inference.demand is empty, want a file or %q", generated)
	all := []Predictor{lastValue, seasonal, autoregressive, oracleDemand}
	p.want(slices.Contains(all, f.Predictor), "inference.predictor %q, want one of %q", f.Predictor, all)
	return p.err()
}

func (f *Inference) group() *Group {
	return &Group{f.Servers, f.GPUsPerServer, f.CPUsPerServer, f.MemGiBPerServer, f.GPUType, f.GPUMemGiB}
}

// extend adds the pool's servers to spec.
func (f *Inference) extend(spec *cluster.Spec, perRack int) {
	f.group().extend(spec, cluster.Inference, len(spec.Servers), perRack)
}

// grace returns how long schedulers have to return servers that the pool no longer offers.
func (f *Inference) grace() time.Duration {
	if f.Servers == 0 {
		return 0
	}
	return demandStep
}

// cycle contains the inference scheduler's decisions over a series of demand, one per step. The series repeats.
type cycle []inference.Point

// planInference runs the inference scheduler over the whole series of demand twice and keeps the decisions of the second run, so
// that the predictor starts the cycle with the samples of its end.
func (s *Scenario) planInference() (cycle, error) {
	f := &s.Inference
	if f.Servers == 0 {
		return nil, nil
	}
	rates, err := s.rates()
	if err != nil {
		return nil, err
	}
	usage, err := rates.Usage(1, peak)
	if err != nil {
		return nil, fmt.Errorf("inference.demand %q: %w", f.Demand, err)
	}
	twice := inference.Series{Step: usage.Step, Values: slices.Concat(usage.Values, usage.Values)}
	predictor, margin, err := s.predictor(usage, twice.Values)
	if err != nil {
		return nil, fmt.Errorf("inference.predictor %q: %w", f.Predictor, err)
	}
	pool := inference.Pool{Servers: f.Servers, Headroom: inference.DefaultHeadroom, Margin: margin}
	points, err := inference.Plan(twice, predictor, pool)
	if err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	return points[len(usage.Values):], nil
}

// rates returns the request rates in the steps of the inference scheduler.
func (s *Scenario) rates() (inference.Series, error) {
	f := &s.Inference
	if f.Demand == generated {
		return inference.DefaultCycle().Generate(demandDays*int(day/demandStep), demandStep, s.Workload.Seed)
	}
	path, err := s.find("traces", "inference.demand", f.Demand)
	if err != nil {
		return inference.Series{}, err
	}
	series, err := inference.ReadServeGen(path)
	if err != nil {
		return series, err
	}
	return series.Resample(demandStep, rng.Stream(s.Workload.Seed, "scenario", "resample"))
}

// predictor returns the predictor and the margin that it needs. Both are fitted to the first half of the series. told is the
// series that the caller will pass to the predictor.
func (s *Scenario) predictor(usage inference.Series, told []float64) (inference.Predictor, float64, error) {
	f := &s.Inference
	first := usage.Slice(0, len(usage.Values)/2)
	var p inference.Predictor
	switch f.Predictor {
	case oracleDemand:
		return inference.NewOracle(told), 0, nil
	case autoregressive:
		model, err := inference.FitAR(first, inference.AROrder)
		if err != nil {
			return nil, 0, err
		}
		p = inference.NewAutoregressive(model)
	case seasonal:
		p = inference.NewSeasonal(usage.Step)
	default:
		p = inference.NewLastValue()
	}
	margin, err := inference.Calibrate(first, p, inference.DefaultHeadroom, unserved, min(int(day/usage.Step), len(first.Values)/2))
	return p, margin, err
}

// from returns the demand of an episode, starting at a random step of the cycle.
func (c cycle) from(draw *rand.Rand, until time.Duration) []sim.Demand {
	if len(c) == 0 {
		return nil
	}
	phase := draw.IntN(len(c))
	demand := make([]sim.Demand, 1+int(until/demandStep))
	for k := range demand {
		p := c[(phase+k)%len(c)]
		demand[k] = sim.Demand{At: time.Duration(k) * demandStep, Need: p.Need, Offer: p.Offer}
	}
	return demand
}
