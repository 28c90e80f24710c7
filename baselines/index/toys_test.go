package index_test

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/index"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
)

// toyJob is a job of workers with one GPU each.
type toyJob struct {
	at, minutes, gpus int
}

// toy returns an episode on one server.
func toy(gpus int, jobs ...toyJob) *sim.Episode {
	e := &sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(1, gpus)}}
	for _, j := range jobs {
		work := time.Duration(j.minutes) * time.Minute
		e.Jobs = append(e.Jobs, trace.Job{Work: work, JobSpec: cluster.JobSpec{
			Name: string(rune('a' + len(e.Jobs))), Submit: time.Duration(j.at) * time.Minute, Workers: int32(j.gpus),
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: work,
		}})
	}
	return e
}

// firstStarts plays the rule and returns the minute of each job's first start, and how often each was stopped.
func firstStarts(t *testing.T, e *sim.Episode, opts index.Options, terms ...string) (starts, stops []int) {
	t.Helper()
	log := simtest.Play(t, e, index.New("index", read(t, terms...), opts, &placement.BestFit{}), 1)
	starts, stops = make([]int, len(e.Jobs)), make([]int, len(e.Jobs))
	for i := range starts {
		starts[i] = -1
	}
	for i := range log.Records {
		switch r := &log.Records[i]; {
		case r.Kind == sim.Start && starts[r.Job] < 0:
			starts[r.Job] = int(r.At.Minutes())
		case r.Kind == sim.Preempt:
			stops[r.Job]++
		}
	}
	return starts, stops
}

// TestHoldsForAGang checks that a long job does not take a GPU that a costly gang needs soon, that one does that ends before, and
// that nothing is held with the option off.
func TestHoldsForAGang(t *testing.T) {
	e := toy(2, toyJob{0, 60, 1}, toyJob{1, 60, 2}, toyJob{2, 600, 1}, toyJob{3, 30, 1})
	e.Config.Cluster.NoPreemption = true
	terms := []string{"{cost: wait, price: 1/h, jobs: {gpus: 1}}", "{cost: wait, price: 100/h, jobs: {gpus: 2}}"}
	if starts, _ := firstStarts(t, e, index.Defaults(), terms...); starts[1] != 60 || starts[2] != 120 || starts[3] != 3 {
		t.Errorf("starts %v, want the gang at 60, the long job after it at 120 and the short one at 3", starts)
	}
	off := index.Defaults()
	off.Holds = 0
	if starts, _ := firstStarts(t, e, off, terms...); starts[2] != 2 || starts[1] <= 600 {
		t.Errorf("starts %v with nothing held, want the long job at 2 and the gang after it", starts)
	}
}

// TestStopsForAQueue checks that a long job makes room for a queue of short ones although another GPU becomes free soon, so that
// the first of the queue alone would gain little.
func TestStopsForAQueue(t *testing.T) {
	jobs := []toyJob{{0, 2000, 1}, {0, 40, 1}}
	for range 10 {
		jobs = append(jobs, toyJob{35, 30, 1})
	}
	e := toy(2, jobs...)
	starts, stops := firstStarts(t, e, index.Defaults(), "{cost: completion, price: 1/h}")
	if starts[2] != 35 || stops[0] != 1 {
		t.Errorf("starts %v, stops %v: want a short job in place of the long one at 35", starts, stops)
	}
}
