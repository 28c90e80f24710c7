package asrpt

import (
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/must"
)

// TestDurations checks that each job is predicted once, before any job that ends later is observed, and that observations are in
// the job's own iterations.
func TestDurations(t *testing.T) {
	s := must.Get(cluster.NewState(cluster.Uniform(1, 4), 3))(t)
	p := &learning{}
	d := NewDurations(p)
	d.Reset(1)
	specs := named(whole(0, 0, 2), whole(0, 0, 2), whole(0, 0, 1))
	specs[2].Request.GPUMilli = 250
	for i := range specs {
		specs[i].Model = "resnet50-64"
		s.Submit(cluster.JobID(i), &specs[i].JobSpec)
	}
	unit := physics.IterationSeconds(&specs[0].JobSpec)
	is := func(what string, got time.Duration, iterations, seconds, gpus float64) {
		t.Helper()
		if want := iterations * seconds * gpus; math.Abs(got.Seconds()-want) > 1e-9 {
			t.Errorf("%s: %v, want %v s", what, got, want)
		}
	}
	is("of a job", d.Predicted(&s.View, 0), 20, unit, 1)
	is("of a job like it", d.Predicted(&s.View, 1), 20, unit, 1)
	tx := s.Begin(nil)
	must.Do(t, tx.Place(0, cluster.Placement{{Server: 0, Workers: 2, Amount: specs[0].Request}}))
	tx.End()
	s.Advance(time.Duration(80 * unit * float64(time.Second)))
	s.Finish(0)
	d.Note(&s.View, cluster.Event{Kind: cluster.Respeed, Job: 0})
	d.Note(&s.View, cluster.Event{Kind: cluster.Finished, Job: 0})
	if math.Abs(p.sum-80) > 1e-6 || p.seen != 1 {
		t.Errorf("observed %v iterations of %v jobs, want 80 of 1", p.sum, p.seen)
	}
	is("of a job predicted before", d.Predicted(&s.View, 1), 20, unit, 1)
	is("of a job predicted after", d.Predicted(&s.View, 2), p.sum, physics.IterationSeconds(&specs[2].JobSpec), 1)
	d.Reset(1)
	if p.seen != 0 {
		t.Errorf("after Reset %v observed, want none", p.seen)
	}
}

// TestDurationsStayInRange checks that infinite, undefined and negative predictions give times within range.
func TestDurationsStayInRange(t *testing.T) {
	for _, seconds := range []float64{math.Inf(1), math.NaN(), 1e300, 0, -1} {
		if d := duration(seconds); d < 1 || d > 1<<60 {
			t.Errorf("%v s is %v", seconds, d)
		}
	}
}
