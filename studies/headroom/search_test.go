package headroom

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/policy"
	"pgregory.net/rapid"
)

func named(names ...string) []policy.Policy {
	var found []policy.Policy
	for _, name := range names {
		found = append(found, policy.Policy{Name: name, New: func() (cluster.Scheduler, error) { return all.New(name) }})
	}
	return found
}

// near reports whether a cost is so much time, in hours.
func near(cost float64, d time.Duration) bool { return math.Abs(cost-d.Hours()) < 1e-9 }

// TestSearchIsNeverWorseThanItsPolicies checks on random episodes that the search ends no worse than the best policy it began
// with, after every stage, not below the bound, and with the same result every time. It checks that the replayed decisions give
// the cost that the forks gave, by any objective.
func TestSearchIsNeverWorseThanItsPolicies(t *testing.T) {
	better, decisions, differs := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		e := drawEpisode(t)
		some := named("sjfskip", "srtf", "las", "sjfskip+menu", "srsf+menu", "sjfskip+loan")
		from := rapid.IntRange(0, len(some)-2).Draw(t, "from")
		some = some[from:]
		opts := searchOptions{Effort: 40, Wider: 10, Seed: rapid.Uint64().Draw(t, "seed")}
		by := objectives.Usual()
		if name := rapid.SampledFrom([]string{"", "keep-work", "small-first", "gangs"}).Draw(t, "objective"); name != "" {
			var err error
			if by, err = objectives.Open(name); err != nil {
				t.Fatal(err)
			}
			opts.Objective = by
		}
		f, err := search(t.Context(), &e, some, opts)
		if errors.Is(err, errNoBase) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		for _, p := range some {
			s, err := e.New()
			if err != nil {
				t.Fatal(err)
			}
			sched, _ := p.New()
			if err := s.Run(t.Context(), sched, opts.Seed); err != nil {
				t.Fatal(err)
			}
			if m, err := eval.Replay(s.Log(), by); err != nil {
				t.Fatal(err)
			} else if s.Outcome().Terminated {
				best = min(best, m.Total())
			}
		}
		if f.BaseCost > best*(1+1e-9) || f.OrderCost > f.BaseCost || f.Cost > f.OrderCost || f.Wider.Cost > f.OrderCost {
			t.Fatalf("the best policy has %v: %+v", best, f)
		}
		if b, err := newBounds(&e); opts.Objective == nil && (err != nil || f.Metrics.MeanJCT < b.MeanJCT-1e-6 || f.Metrics.Makespan < b.Makespan-1e-6) {
			t.Fatalf("found %+v, the bounds are %+v (%v)", f.Metrics, b, err)
		}
		if again, err := search(t.Context(), &e, some, opts); err != nil || !reflect.DeepEqual(again, f) {
			t.Fatalf("found %+v, then %+v (%v)", f, again, err)
		}
		if f.Cost < f.BaseCost {
			better++
		}
		decisions += f.Decisions
		if f.Wider.Cost != f.Cost {
			differs++
		}
	})
	t.Logf("better in %d, with %d decisions of its own; otherwise with more candidates in %d", better, decisions, differs)
	if better == 0 || decisions == 0 || differs == 0 {
		t.Error("the search never finds anything, or the same among more candidates")
	}
}

// TestSearchHoldsGPUsForAGangToCome plays an episode in which a long job takes a GPU that a short gang needs a second later. A
// search that knows this lets the long job wait.
func TestSearchHoldsGPUsForAGangToCome(t *testing.T) {
	job := func(name string, at, work time.Duration, workers int32) trace.Job {
		return trace.Job{
			JobSpec: cluster.JobSpec{
				Name: name, Submit: at, Workers: workers, Estimate: work, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
			},
			Work: work,
		}
	}
	e := sim.Episode{
		Config: sim.Config{Cluster: cluster.Uniform(1, 2)},
		Jobs:   []trace.Job{job("long", 0, time.Hour, 1), job("gang", time.Second, time.Minute, 2)},
	}
	f, err := search(t.Context(), &e, named("sjfskip"), searchOptions{Effort: 60, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	// The gang runs from 1 s to 61 s, the long job after it.
	if best := time.Minute + time.Hour + 61*time.Second; !near(f.BaseCost, 2*time.Hour+59*time.Second) || f.Cost > (best+time.Second).Hours() {
		t.Errorf("found %v after %v, want %v", f.Cost, f.BaseCost, best)
	}
}

// TestSearchPacks checks that the search starts two jobs with little interference on one GPU, although the policy never shares
// GPUs.
func TestSearchPacks(t *testing.T) {
	e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(1, 1), Physics: physics.Compose(physics.Sharing{Strength: 0.01})}}
	for _, name := range []string{"a", "b"} {
		e.Jobs = append(e.Jobs, trace.Job{
			JobSpec: cluster.JobSpec{
				Name: name, Workers: 1, Estimate: time.Hour, Request: cluster.Amount{GPUMilli: 500}, Model: "unheard of",
			},
			Work: time.Hour,
		})
	}
	e.Jobs[0].Request.GPUMilli, e.Jobs[1].Request.GPUMilli = cluster.WholeGPU, cluster.WholeGPU
	f, err := search(t.Context(), &e, named("sjfskip"), searchOptions{Effort: 60, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !near(f.BaseCost, 3*time.Hour) || f.Cost > 3+1e-9 {
		t.Errorf("found %v after %v", f.Cost, f.BaseCost)
	}
}

// TestSearchIsNoWiderThanThereAreCandidates checks that the wider search equals the usual one if jobs can start in only one way,
// so that there are no further candidates.
func TestSearchIsNoWiderThanThereAreCandidates(t *testing.T) {
	e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(1, 1)}}
	for i, work := range []time.Duration{time.Hour, time.Minute, time.Second} {
		e.Jobs = append(e.Jobs, trace.Job{
			JobSpec: cluster.JobSpec{
				Name: string(rune('a' + i)), Workers: 1, Estimate: work, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
				Submit: time.Duration(i) * time.Second,
			},
			Work: work,
		})
	}
	f, err := search(t.Context(), &e, named("fjf"), searchOptions{Effort: 60, Seed: 1, Wider: 10})
	if err != nil {
		t.Fatal(err)
	}
	if w := f.Wider; w.Cost != f.Cost || w.Decisions != f.Decisions || w.Played != f.Played || w.Metrics != f.Metrics || f.Cost == f.BaseCost {
		t.Errorf("found %+v, and with more candidates %+v", f, w)
	}
}

// TestSearchTellsTrueRunTimes checks that, in an episode without estimates, the search can begin with a policy that needs them,
// because it uses true run times.
func TestSearchTellsTrueRunTimes(t *testing.T) {
	e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(1, 1)}}
	for i, work := range []time.Duration{time.Hour, time.Minute, time.Second} {
		e.Jobs = append(e.Jobs, trace.Job{
			JobSpec: cluster.JobSpec{Name: string(rune('a' + i)), Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}},
			Work:    work,
		})
	}
	before := slices.Clone(e.Jobs)
	f, err := search(t.Context(), &e, named("fjf", "sjfskip"), searchOptions{Effort: 0})
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Second + 61*time.Second + 3661*time.Second; !f.Informed || f.Base != "sjfskip" || !near(f.Cost, want) || f.Played != 0 {
		t.Errorf("found %+v, want %v by sjfskip", f, want)
	}
	if !reflect.DeepEqual(before, e.Jobs) {
		t.Error("the episode has changed")
	}
}

func TestSearchCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(1, 1)}, Jobs: []trace.Job{{
		JobSpec: cluster.JobSpec{Name: "a", Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}}, Work: 1,
	}}}
	if _, err := search(ctx, &e, named("fjf"), searchOptions{Effort: 10}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if _, err := search(t.Context(), &e, named("fjf"), searchOptions{Effort: -1}); err == nil {
		t.Error("an effort of -1: want an error")
	}
	if _, err := search(t.Context(), &e, nil, searchOptions{}); !errors.Is(err, errNoBase) {
		t.Errorf("without a policy: %v", err)
	}
}
