package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestFuturesMayBe checks that a drawn future is possible, whatever was seen: running jobs continue, arriving jobs are like
// those seen and come within the given time, and the simulator accepts it.
func TestFuturesMayBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "jobs")
		s := must.Get(cluster.NewState(cluster.Uniform(2, 4), n))(t)
		var p past
		names := map[string]bool{}
		for i := range n {
			s.Advance(s.Now() + simtest.Seconds(t, "after", 0, 20))
			id := cluster.JobID(i)
			spec := &cluster.JobSpec{
				Name: fmt.Sprint(i), User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), Submit: s.Now(),
				Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: simtest.Seconds(t, "estimate", 0, 30),
			}
			names[spec.Name] = true
			s.Submit(id, spec)
			p.note(&s.View, cluster.Event{Kind: cluster.Arrived, Job: id})
			tx := s.Begin(nil)
			if at, fits := s.BestFit(id, nil); fits {
				must.Do(t, tx.Place(id, at))
			}
			tx.End()
			if running := s.Running(); len(running) > 0 && rapid.Bool().Draw(t, "ends") {
				id := running[0]
				s.Finish(id)
				p.note(&s.View, cluster.Event{Kind: cluster.Finished, Job: id})
			}
		}
		ahead, seed := simtest.Seconds(t, "ahead", 0, 300), rapid.Uint64().Draw(t, "seed")
		f := p.draw(&s.View, ahead, rand.New(rand.NewPCG(seed, 1)))
		for _, ids := range [][]cluster.JobID{s.Running(), s.Pending()} {
			for _, id := range ids {
				if work, done := f.Work(id), s.Progress(id); work <= done {
					t.Fatalf("job %d takes %v in all, want more than the %v that it has done", id, work, done)
				}
			}
		}
		if len(f.Future) > 0 && len(p.came) < least {
			t.Fatalf("%d jobs to come after %d that came", len(f.Future), len(p.came))
		}
		for _, j := range f.Future {
			if j.Submit < s.Now() || j.Submit > s.Now()+ahead || !names[j.Name] {
				t.Fatalf("job %+v to come within %v of %v", j, ahead, s.Now())
			}
		}
		must.Do(t, new(sim.Sim).Resume(&sim.Config{}, &s.View, f))
	})
}

// TestArrivalsKeepTheirRate checks that drawn jobs arrive at the rate of those seen.
func TestArrivalsKeepTheirRate(t *testing.T) {
	s := must.Get(cluster.NewState(cluster.Uniform(1, 1), 300))(t)
	var p past
	for i := range 300 {
		s.Advance(time.Duration(i/3) * time.Minute) // three at a time
		s.Submit(cluster.JobID(i), &cluster.JobSpec{Name: fmt.Sprint(i), Workers: 1, Estimate: time.Minute})
		p.note(&s.View, cluster.Event{Kind: cluster.Arrived, Job: cluster.JobID(i)})
	}
	total := 0
	for seed := range uint64(50) {
		total += len(p.arrivals(&s.View, s.Now()+20*time.Minute, rand.New(rand.NewPCG(seed, 1))))
	}
	if mean := float64(total) / 50; mean < 55 || mean > 65 {
		t.Errorf("%v jobs in 20 minutes on average, want about 60", mean)
	}
}

func TestSpread(t *testing.T) {
	if mean, se := spread([]float64{1, 3}); mean != 2 || se != 1 {
		t.Errorf("mean %v, standard error %v, want 2 and 1", mean, se)
	}
	if mean, se := spread([]float64{5}); mean != 5 || se != 0 {
		t.Errorf("mean %v, standard error %v, want 5 and 0", mean, se)
	}
}
