package index_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/index"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// read returns the objective with the given terms.
func read(t rapid.TB, terms ...string) *objectives.Objective {
	t.Helper()
	o := must.Get(objectives.Read(strings.NewReader("name: test\nterms:\n  - " + strings.Join(terms, "\n  - "))))(t)
	return o
}

// queue returns an episode in which jobs of one GPU wait for a machine of one GPU.
func queue(minutes []int) *sim.Episode {
	e := &sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(1, 1)}}
	e.Config.Cluster.NoPreemption = true
	for i, m := range minutes {
		work := time.Duration(m) * time.Minute
		e.Jobs = append(e.Jobs, trace.Job{Work: work, JobSpec: cluster.JobSpec{
			Name: fmt.Sprint(i), Tenant: fmt.Sprint("t", i), Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: work,
		}})
	}
	return e
}

// order plays an episode by the rule and returns the jobs in the order of their starts.
func order(t rapid.TB, e *sim.Episode, o *objectives.Objective) (ids []cluster.JobID) {
	t.Helper()
	log := simtest.Play(t, e, index.New("index", o, index.Defaults(), &placement.BestFit{}), 1)
	for i := range log.Records {
		if r := &log.Records[i]; r.Kind == sim.Start {
			ids = append(ids, r.Job)
		}
	}
	return ids
}

// drawMinutes draws run times that differ.
func drawMinutes(t *rapid.T) []int {
	return rapid.SliceOfNDistinct(rapid.IntRange(1, 500), 2, 7, rapid.ID[int]).Draw(t, "minutes")
}

// TestLinearCostsAreCMu checks that with weights on completion times, one machine and no preemption, jobs start in the order of
// weight over run time, which is optimal (Smith, Naval Research Logistics Quarterly 1956).
func TestLinearCostsAreCMu(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := drawMinutes(t)
		var terms []string
		var weights []float64
		for i := range minutes {
			w := rapid.Float64Range(0.1, 10).Draw(t, "weight")
			weights = append(weights, w)
			terms = append(terms, fmt.Sprintf("{cost: completion, price: %v/h, jobs: {tenants: t%d}}", w, i))
		}
		got := order(t, queue(minutes), read(t, terms...))
		want := make([]cluster.JobID, len(minutes))
		for i := range want {
			want[i] = cluster.JobID(i)
		}
		slices.SortFunc(want, func(a, b cluster.JobID) int {
			return cmp.Compare(weights[b]/float64(minutes[b]), weights[a]/float64(minutes[a]))
		})
		if !slices.Equal(got, want) {
			t.Fatalf("run times %v, weights %v: order %v, want %v", minutes, weights, got, want)
		}
	})
}

// TestDeadlinesAreApparentTardinessCost checks the first choice of the rule under deadlines against the index of Vepsalainen and
// Morton, exp(-slack / (k mean run time)) / run time.
func TestDeadlinesAreApparentTardinessCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := drawMinutes(t)
		e := queue(minutes)
		mean := 0.0
		for i := range e.Jobs {
			mean += e.Jobs[i].Work.Hours() / float64(len(e.Jobs))
			e.Jobs[i].Deadline = time.Duration(rapid.IntRange(1, 2000).Draw(t, "deadline")) * time.Minute
		}
		got := order(t, e, read(t, "{cost: late, price: 1/h}"))
		best, highest := cluster.JobID(-1), 0.0
		for i := range e.Jobs {
			slack := max(e.Jobs[i].Deadline-e.Jobs[i].Work, 0).Hours()
			if x := math.Exp(-slack/(index.Ahead*mean)) / e.Jobs[i].Work.Hours(); x > highest*(1+1e-9) {
				best, highest = cluster.JobID(i), x
			}
		}
		if got[0] != best {
			t.Fatalf("run times %v: job %d starts first, want %d", minutes, got[0], best)
		}
	})
}

// TestMonotoneInPrice checks that a job whose price rises does not start later.
func TestMonotoneInPrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := drawMinutes(t)
		term := rapid.SampledFrom([]string{
			"{cost: completion, price: %v/h, power: 2, jobs: {tenants: t%d}}", "{cost: wait, price: %v/min, over: 1h, jobs: {tenants: t%d}}",
			"{cost: late, deadline: {run_times: 2, plus: 1h}, price: %v/h, miss: 1, jobs: {tenants: t%d}}",
		}).Draw(t, "term")
		at := func(price float64) int {
			var terms []string
			for i := range minutes {
				terms = append(terms, fmt.Sprintf(term, map[bool]float64{true: price, false: 1}[i == 0], i))
			}
			return slices.Index(order(t, queue(minutes), read(t, terms...)), 0)
		}
		cheap := rapid.Float64Range(0.1, 10).Draw(t, "price")
		if low, high := at(cheap), at(cheap*rapid.Float64Range(1, 10).Draw(t, "factor")); high > low {
			t.Fatalf("%s, run times %v: the job starts as number %d, at a higher price as number %d", term, minutes, low, high)
		}
	})
}

// TestRandomEpisodesEnd checks that the rule ends random episodes under every objective of the library, and never stops a job
// twice at an instant.
func TestRandomEpisodesEnd(t *testing.T) {
	for _, name := range objectives.Names() {
		o := must.Get(objectives.Open(name))(t)
		t.Run(name, func(t *testing.T) {
			simtest.Many(t, 30, func(t *rapid.T) {
				e := simtest.Draw(t)
				log := simtest.Play(t, e, index.New("index", o, index.Defaults(), &placement.BestFit{}), 1)
				plain := simtest.Play(t, e, index.New("index", o, index.Options{}, &placement.BestFit{}), 1)
				if !log.Outcome.Terminated && plain.Outcome.Terminated {
					t.Fatalf("outcome %+v", log.Outcome)
				}
				last := map[cluster.JobID]time.Duration{}
				for i := range log.Records {
					if r := &log.Records[i]; r.Kind == sim.Preempt {
						if at, again := last[r.Job]; again && at == r.At {
							t.Fatalf("job %d is stopped twice at %v", r.Job, r.At)
						}
						last[r.Job] = r.At
					}
				}
			})
		})
	}
}

// BenchmarkDecision times a decision on 1,000 servers of 8 GPUs with 5,000 jobs, of which most run.
func BenchmarkDecision(b *testing.B) {
	for _, name := range []string{"completion", "small-first", "deadlines", "fair"} {
		b.Run(name, func(b *testing.B) {
			o := must.Get(objectives.Open(name))(b)
			const jobs = 5000
			s := must.Get(cluster.NewState(cluster.Uniform(1000, 8), jobs))(b)
			for i := range jobs {
				work := time.Duration(1+(i*7919)%5000) * time.Minute
				s.Submit(cluster.JobID(i), &cluster.JobSpec{
					Name: fmt.Sprint(i), Tenant: fmt.Sprint(i % 20), Workers: []int32{1, 1, 2, 4}[i%4],
					Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: work,
				})
			}
			p := index.New("index", o, index.Defaults(), &placement.BestFit{})
			must.Do(b, p.Reset(1))
			decide := func() {
				tx := s.Begin(nil)
				must.Do(b, p.Schedule(tx))
				tx.End()
			}
			decide()
			b.ReportMetric(float64(len(s.Pending())), "waiting")
			for now := time.Minute; b.Loop(); now += time.Second {
				s.Advance(now)
				decide()
			}
		})
	}
}
