package asrpt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// instance is a random problem for the guarantee of New: whole GPUs of any type, exact or bounded predictions.
type instance struct {
	cfg   sim.Config
	jobs  []trace.Job
	gpus  int32
	most  int32   // g_max
	rho   float64 // 1 if nothing communicates
	delta float64 // predictions are within [work/delta, work·delta]
}

func drawInstance(rng *rand.Rand, delta float64, network physics.Model) instance {
	servers, size := 1+rng.IntN(4), 1+rng.IntN(4)
	in := instance{
		cfg:  sim.Config{Cluster: cluster.Uniform(servers, size), Physics: network},
		gpus: int32(servers * size), rho: 1, delta: delta,
	}
	state, err := cluster.NewState(in.cfg.Cluster, 0)
	if err != nil {
		panic(err)
	}
	largest, latest, longest := 1+rng.IntN(int(in.gpus)), rng.IntN(40), 2+rng.IntN(60)
	for i := range 1 + rng.IntN(12) {
		j := whole(time.Duration(rng.IntN(latest+1))*time.Second, time.Duration(1+rng.IntN(longest))*time.Second,
			int32(1+rng.IntN(largest)))
		j.Name = fmt.Sprint(i)
		if network != nil {
			j.Model = models[rng.IntN(len(models))]
			if j.Workers%2 == 0 && rng.IntN(2) == 0 {
				j.Stages = 2
			}
			best, worst := extremes(&state.View, &j.JobSpec, j.Workers)
			in.rho = max(in.rho, worst/best)
		}
		if delta > 1 {
			j.Estimate = time.Duration(float64(j.Work) * math.Pow(delta, 2*rng.Float64()-1))
		}
		in.most = max(in.most, j.Workers)
		in.jobs = append(in.jobs, j)
	}
	return in
}

// virtual returns the completions on the virtual machine, with the durations that the function returns.
func (in *instance) virtual(duration func(*trace.Job) time.Duration) []time.Duration {
	var m machine
	for at := time.Duration(0); at <= 40*time.Second; at += time.Second {
		m.advance(at)
		for i := range in.jobs {
			if j := &in.jobs[i]; j.Submit == at {
				work := math.Round(duration(j).Seconds() * float64(j.Workers) / float64(in.gpus) * 1e9)
				m.jobs = append(m.jobs, virtualJob{time.Duration(work), at, cluster.JobID(i)})
			}
		}
	}
	m.advance(math.MaxInt64)
	v := make([]time.Duration, len(in.jobs))
	for _, c := range m.done {
		v[c.Job] = c.At
	}
	return v
}

// rounds is an upper bound on the sum of roundings to nanoseconds.
const rounds = time.Microsecond

// TestGuarantee checks the guarantee on random instances: each job's start, and the sum of completions against a lower bound on
// that of the best schedule, which is the larger of Σ V and Σ (submission + α_min of all iterations). With predictions that are
// wrong by a factor of at most δ, the sum is at most [δ·(1 + ρ·δ·G/(G-g_max+1)) + ρ] times that bound.
func TestGuarantee(t *testing.T) {
	network := must.Get(physics.Parse(network))(t)
	for _, c := range []struct {
		name      string
		physics   physics.Model
		delta     float64
		instances int
	}{
		{"without communication", nil, 1, 20_000},
		{"with communication", network, 1, 20_000},
		{"without communication, predictions half to double", nil, 2, 8_000},
		{"with communication, predictions a quarter to four times", network, 4, 8_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, uint64(c.instances)))
			config := Default()
			config.Predictor, config.Tau = told{1}, 0
			p := New("a-srpt", config)
			worstStart, worstSum, most := 0.0, 0.0, 1.0
			for n := range c.instances {
				in := drawInstance(rng, c.delta, c.physics)
				start, sum := in.check(t, run(t, in.cfg, in.jobs, p, 1))
				if t.Failed() {
					t.Fatalf("in instance %d: %+v", n, in)
				}
				worstStart, worstSum, most = max(worstStart, start), max(worstSum, sum), max(most, in.rho)
			}
			t.Logf("%d instances, ρ up to %.3g: starts of up to %.3f of the bound, sums of up to %.3f",
				c.instances, most, worstStart, worstSum)
		})
	}
}

// check returns the largest start and the sum of completions, each divided by its bound.
func (in *instance) check(t *testing.T, l *sim.Log) (worst, share float64) {
	predicted := in.virtual(func(j *trace.Job) time.Duration { return j.Estimate })
	exact := in.virtual(func(j *trace.Job) time.Duration { return j.Work })
	stretch := float64(in.gpus) / float64(in.gpus-in.most+1)
	var sum, sumPredicted, sumExact, alone time.Duration
	for i := range in.jobs {
		sumPredicted += predicted[i]
		sumExact += exact[i]
		alone += in.jobs[i].Submit + in.jobs[i].Work
	}
	ended := 0
	for i := range l.Records {
		switch r := &l.Records[i]; r.Kind {
		case sim.Start:
			v := predicted[r.Job]
			if r.At+rounds < v {
				t.Errorf("job %d starts at %v, before its virtual completion at %v", r.Job, r.At, v)
			}
			bound := float64(v) * (1 + in.rho*in.delta*stretch)
			if float64(r.At) > bound+float64(rounds) {
				t.Errorf("job %d starts at %v, bound %v", r.Job, r.At, time.Duration(bound))
			}
			worst = max(worst, float64(r.At)/bound)
		case sim.Finish:
			sum += r.At
			ended++
		}
	}
	bound := (in.delta*(1+in.rho*in.delta*stretch) + in.rho) * float64(max(sumExact, alone))
	if float64(sum) > bound+float64(rounds) || ended < len(in.jobs) {
		t.Errorf("completions of %d jobs add up to %v, bound %v", ended, sum, time.Duration(bound))
	}
	if float64(sumPredicted) > in.delta*float64(sumExact)+float64(rounds) {
		t.Errorf("virtual completions add up to %v by predictions, exactly to %v", sumPredicted, sumExact)
	}
	return worst, float64(sum) / bound
}
