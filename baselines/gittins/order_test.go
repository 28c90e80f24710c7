package gittins

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// TestOrderFollowsAnEpisode checks that an order learns the GPU-time of jobs that end, and that Alarm gives the time at which a
// running job reaches the next rank.
func TestOrderFollowsAnEpisode(t *testing.T) {
	s := must.Get(cluster.NewState(cluster.Uniform(1, 4), 3))(t)
	o := New(Config{Bound: 100 * time.Second, Queues: true, Unit: 10 * time.Second, Growth: 2, Least: 1, Window: 10})
	for id := range cluster.JobID(3) {
		s.Submit(id, &cluster.JobSpec{Workers: 2, Request: cluster.Amount{GPUMilli: 500}})
		tx := s.Begin(nil)
		if id < 2 {
			must.Do(t, tx.Place(id, cluster.Placement{{Server: 0, Workers: 2, Amount: cluster.Amount{GPUMilli: 1000}}}))
		}
		tx.End()
	}
	key := func(id cluster.JobID, want time.Duration) {
		t.Helper()
		if got, err := o.Key(&s.View, id); err != nil || got != want {
			t.Errorf("%v: rank %v of job %d (%v), want %v", s.Now(), got, id, err, want)
		}
	}
	alarm := func(id cluster.JobID, want time.Duration, rings bool) {
		t.Helper()
		if at, ok := o.Alarm(&s.View, id); ok != rings || ok && at != want {
			t.Errorf("%v: alarm of job %d at %v (%v), want %v (%v)", s.Now(), id, at, ok, want, rings)
		}
	}
	key(0, 0)
	alarm(0, 50*time.Second, true) // 2 GPUs reach the bound of 100 GPU-seconds
	s.Advance(30 * time.Second)
	s.Finish(0)
	o.Note(&s.View, cluster.Event{Kind: cluster.Finished, Job: 0})
	key(2, 60*time.Second) // has never run; jobs take 60 GPU-seconds
	key(1, 20*time.Second) // has attained 60 GPU-seconds; the last point below that is 40
	alarm(1, 40*time.Second, true)
	s.Advance(40 * time.Second)
	key(1, last) // no job is known to take longer
	alarm(1, 50*time.Second, true)
	s.Advance(50 * time.Second)
	key(1, span+last)
	alarm(1, 0, false)
	o.Reset(1)
	key(2, 0)
	key(1, 1)
}
