package env_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/backlog"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/stats"
)

// goals are the rewards of this package, each with the cost of an episode by the completion times of its jobs.
var goals = []struct {
	name string
	cost func(jobs []trace.Job, hours []float64) float64 // hours from submission to finish
}{
	{"flow", func(_ []trace.Job, hours []float64) (sum float64) {
		for _, h := range hours {
			sum += h
		}
		return sum
	}},
	{"makespan", func(jobs []trace.Job, hours []float64) (last float64) {
		for i, h := range hours {
			last = max(last, jobs[i].Submit.Hours()+h)
		}
		return last
	}},
	{"p99:power=2.5", func(_ []trace.Job, hours []float64) (sum float64) {
		for _, h := range hours {
			sum += math.Pow(h, 2.5)
		}
		return sum
	}},
	{"tenants:a=4:ben=0.5", func(jobs []trace.Job, hours []float64) (sum float64) {
		for i, h := range hours {
			sum += owed(&jobs[i]) * h
		}
		return sum
	}},
}

// owed returns the weight of a job by the reward "tenants:a=4:ben=0.5".
func owed(j *trace.Job) float64 {
	return cmp.Or(map[string]float64{"a": 4, "ben": 0.5}[cmp.Or(j.Tenant, j.User)], 1)
}

func owned(n int, seed uint64) []trace.Job {
	r := rand.New(rand.NewPCG(seed, 1))
	jobs := make([]trace.Job, n)
	for i := range jobs {
		j := &jobs[i]
		j.Name, j.Submit, j.Workers = string(rune('A'+i)), time.Duration(r.IntN(300))*time.Minute, int32(1+r.IntN(4))
		j.Request.GPUMilli, j.Work = cluster.WholeGPU, time.Duration(1+r.IntN(90))*time.Minute
		j.Estimate = j.Work
		j.Tenant, j.User = []string{"", "a", "b"}[r.IntN(3)], []string{"a", "ben"}[r.IntN(2)]
	}
	jobs[0].Submit = 0
	return jobs
}

// byHand returns the reward of a backlog under "tenants:a=4:ben=0.5".
func byHand(jobs []trace.Job, left []backlog.Job) (reward float64) {
	for i := range left {
		left[i].Weight = owed(&jobs[left[i].ID])
	}
	backlog.Play(left)
	for i := range left {
		reward -= left[i].Weight * left[i].End
	}
	return reward
}

// TestObjectives checks for every reward that an episode sums to minus its cost, that the reward so far and the estimate of the
// backlog add up to the same if one machine plays by shortest remaining time and no job is still to come, and that a surrogate's
// figure is the 99th percentile of completion times without warm jobs.
func TestObjectives(t *testing.T) {
	for _, o := range goals {
		for seed := range uint64(5) {
			r, err := env.NamedReward(o.name)
			if err != nil || r.Name() != o.name {
				t.Fatalf("%s: %v, error %v", o.name, r, err)
			}
			jobs := owned(12, seed)
			single := seed%2 == 0
			if single {
				for i := range jobs {
					jobs[i].Workers = 4 // jobs run one after another
				}
			}
			s := must.Get(sim.New(sim.Config{Cluster: cluster.Uniform(1, 4), Warm: 2}, jobs))(t)
			total, foreseen, weighted := 0.0, math.NaN(), 0.0
			last := slices.MaxFunc(jobs, func(a, b trace.Job) int { return int(a.Submit - b.Submit) }).Submit
			s.Watch(func(from, to time.Duration) {
				v := &s.State().View
				if from >= last && math.IsNaN(foreseen) {
					at := from + (to-from)/3
					so, left := total+r.Score(v, from, at), s.Backlog(at, nil)
					foreseen = so + r.(env.BacklogReward).ScoreBacklog(v, at, slices.Clone(left))
					weighted = so + byHand(jobs, left)
				}
				total += r.Score(v, from, to)
			})
			p := must.Get(all.New("srtf"))(t)
			must.Do(t, s.Run(context.Background(), p, 1))
			hours := make([]float64, len(jobs))
			for _, rec := range s.Log().Records {
				if rec.Kind == sim.Finish {
					hours[rec.Job] = (rec.At - jobs[rec.Job].Submit).Hours()
				}
			}
			if want := -o.cost(jobs, hours); math.Abs(total-want) > 1e-6*math.Abs(want) {
				t.Errorf("%s, seed %d: %v, want %v", o.name, seed, total, want)
			}
			want := total
			if strings.HasPrefix(o.name, "tenants") { // the machine serves jobs in another order than the episode
				want = weighted
			}
			if single && math.Abs(foreseen-want) > 1e-6*math.Abs(want) {
				t.Errorf("%s, seed %d: %v with the estimate, want %v", o.name, seed, foreseen, want)
			}
			if f, ok := r.(env.Surrogate); ok != (o.name[0] == 'p') {
				t.Errorf("%s: surrogate %v", o.name, ok)
			} else if ok && f.Figure(s.Log()) != stats.Quantile(hours[2:], 0.99) {
				t.Errorf("%s, seed %d: figure %v of %v", o.name, seed, f.Figure(s.Log()), hours[2:])
			}
		}
	}
}

// TestOptionsOfRewards checks names with options, and errors that name what is wrong.
func TestOptionsOfRewards(t *testing.T) {
	for name, want := range map[string]string{
		"": "flow", "p99": "p99:power=5", "p99:power=4": "p99:power=4", "tenants": "tenants", "tenants:x=y=2": "tenants:x=y=2",
	} {
		if r, err := env.NamedReward(name); err != nil || r.Name() != want {
			t.Errorf("%q: %v, error %v, want %s", name, r, err, want)
		}
	}
	for name, want := range map[string]string{
		"speed": "not part of this program", "flow:power=2": "none", "p99:": "power=1", "p99:power=0.5": "power=1 to 8",
		"p99:power=9": "power=1 to 8", "p99:base=2": "power=1", "tenants:": "TENANT=WEIGHT", "tenants:a": "TENANT=WEIGHT",
		"tenants:=2": "TENANT=WEIGHT", "tenants:a=0": "above 0", "tenants:a=nan": "above 0", "tenants:a=1:a=2": "twice",
	} {
		if _, err := env.NamedReward(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", name, err, want)
		}
	}
}
