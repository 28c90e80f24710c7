package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// TestWakeAt checks that the simulator keeps the earliest requested wake-up until it happens, whatever later ones the scheduler
// requests.
func TestWakeAt(t *testing.T) {
	w := &waker{}
	jobs := []trace.Job{
		{JobSpec: cluster.JobSpec{Name: "a", Workers: 1, Request: cluster.Amount{GPUMilli: 1000}}, Work: 1},
		{JobSpec: cluster.JobSpec{Name: "b", Workers: 1, Request: cluster.Amount{GPUMilli: 1000}, Submit: 50}, Work: 1},
	}
	play(t, sim.Config{Cluster: cluster.Uniform(1, 1)}, jobs, w, 0)
	if want := []time.Duration{0, 50, 100}; !slices.Equal(w.at, want) {
		t.Errorf("decisions at %v, want %v", w.at, want)
	}
}

// waker requests wake-ups at its first two decisions and never places anything.
type waker struct{ at []time.Duration }

func (*waker) Name() string       { return "waker" }
func (*waker) Reset(uint64) error { return nil }

func (w *waker) Schedule(tx *cluster.Txn) error {
	w.at = append(w.at, tx.Now())
	if n := time.Duration(len(w.at)); n <= 2 {
		tx.WakeAt(300 * n)
		tx.WakeAt(100 * n)
		tx.WakeAt(tx.Now())
	}
	return nil
}
