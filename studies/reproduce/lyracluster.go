package reproduce

import (
	"fmt"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/rng"
)

// A fungible job that moves to T4 GPUs takes two of them for each V100, with half the batch on each (Lyra, §2.1; the doubling is
// inferred). A rigid gang here has a fixed number of workers, so the unit is a pair of T4 GPUs: a server of 8 T4 counts as 4
// GPUs, each as fast as two T4 GPUs. Three such servers have the compute of one V100 server (§7.5).
const (
	homeType   = "V100"
	loanType   = "T4"
	perServer  = 8 // number of GPUs, in both clusters
	pairOf     = 2 // number of T4 GPUs
	pairSpeed  = pairOf / 3.0
	demandStep = 5 * time.Minute
)

// pairs is a physics model. Jobs on pairs of T4 GPUs run at the given speed; a gang on both types runs at the fraction mixed of
// the mean speed of its workers.
type pairs struct{ speed, mixed float64 }

func (p pairs) Name() string { return fmt.Sprintf("t4-pairs(%g,%g)", p.speed, p.mixed) }

func (p pairs) Factor(s *cluster.View, job cluster.JobID) float64 {
	sum, workers, home := 0.0, int32(0), int32(0)
	for _, piece := range s.Placement(job) {
		workers += piece.Workers
		if s.Server(piece.Server).GPUType == loanType {
			sum += p.speed * float64(piece.Workers)
		} else {
			home += piece.Workers
			sum += float64(piece.Workers)
		}
	}
	switch home {
	case workers:
		return 1
	case 0:
		return p.speed
	}
	return p.mixed * sum / float64(workers)
}

func (pairs) Coupled(_ *cluster.View, _ cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return dst
}

// lyraCycle returns inference usage over a day as in Lyra's Fig. 1: a trough of 42 %, four hours of 95 % at night, 65 % on
// average. The jitter between two samples is what the headroom is for.
func lyraCycle() inference.Cycle {
	c := inference.Cycle{
		Mean: 1, Spread: .02, Memory: 2 * time.Hour, Jitter: .015,
		Hourly: [24]float64{
			.66, .58, .50, .45, .43, .43, .45, .50, .56, .61, .65, .68, .70, .68, .65, .64, .64, .66, .72, .84, .91, .92, .91, .84,
		},
	}
	for i := range c.Weekday {
		c.Weekday[i] = 1
	}
	return c
}

// lyraDemand returns what the inference pool needs and offers over the given days.
func lyraDemand(servers, days int, p Predictor, seed uint64) ([]sim.Demand, error) {
	draw := func(n int, name string) (inference.Series, error) {
		s, err := lyraCycle().Generate(n*int(24*time.Hour/demandStep), demandStep, rng.Derive(seed, "reproduce", name))
		for i, v := range s.Values {
			s.Values[i] = math.Min(v, 1)
		}
		return s, err
	}
	usage, err := draw(days, "demand")
	if err != nil {
		return nil, err
	}
	past, err := draw(14, "demand before") // the series to which predictors are fitted
	if err != nil {
		return nil, err
	}
	predictor, err := p.New(past, usage)
	if err != nil {
		return nil, fmt.Errorf("predictor %s: %w", p.Name, err)
	}
	points, err := inference.Plan(usage, predictor, inference.Pool{Servers: servers, Headroom: inference.DefaultHeadroom})
	if err != nil {
		return nil, err
	}
	demand := make([]sim.Demand, len(points))
	for i, p := range points {
		demand[i] = sim.Demand{At: p.At, Need: p.Need, Offer: p.Offer}
	}
	return demand, nil
}

// Predictor makes the predictor of usage for the inference pool. New gets the usage of the days before, and the usage to come,
// which only an oracle may read.
type Predictor struct {
	Name string
	New  func(past, usage inference.Series) (inference.Predictor, error)
}

// Predictors returns the predictors that need only usage; the first is the default.
func Predictors() []Predictor {
	return []Predictor{
		{"ar", func(past, _ inference.Series) (inference.Predictor, error) {
			m, err := inference.FitAR(past, inference.AROrder)
			if err != nil {
				return nil, err
			}
			return inference.NewAutoregressive(m), nil
		}},
		{"last", func(_, _ inference.Series) (inference.Predictor, error) { return inference.NewLastValue(), nil }},
		{"oracle", func(_, usage inference.Series) (inference.Predictor, error) {
			return inference.NewOracle(usage.Values), nil
		}},
	}
}

// lyraEpisode builds the episode of a variant at a scale.
func lyraEpisode(v variant, scale Scale, p Predictor, seed uint64) (sim.Episode, error) {
	size := scale.of
	spec := cluster.Uniform(size(lyraTraining), perServer)
	for i := range spec.Servers {
		spec.Servers[i].GPUType = homeType
	}
	for i := range size(lyraInference) {
		spec.Servers = append(spec.Servers, cluster.ServerSpec{
			Name: fmt.Sprintf("inference-%d", i), GPUs: perServer / pairOf, GPUType: loanType, Pool: cluster.Inference,
			CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited,
		})
	}
	jobs, err := lyraWorkload(v, float64(scale), size(LyraJobs), size(lyraTraining)*perServer, seed)
	if err != nil {
		return sim.Episode{}, err
	}
	demand, err := lyraDemand(size(lyraInference), 3*lyraDays, p, seed)
	if err != nil {
		return sim.Episode{}, err
	}
	loaned := pairs{pairSpeed, lyraMixedSpeed}
	if v.ideal {
		loaned.mixed = 1
	}
	if v.even {
		loaned.speed = 1
	}
	parts := []physics.Part{loaned}
	if v.gain > 0 {
		parts = append(parts, physics.Diminishing{Gain: v.gain})
	}
	return sim.Episode{Jobs: jobs, Config: sim.Config{
		Cluster: spec, Physics: physics.Compose(parts...), Demand: demand, Grace: demandStep,
		Restart: sim.Restart{Preempt: lyraRestart, FromScratch: !v.checkpoint},
	}}, nil
}
