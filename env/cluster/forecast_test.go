package cluster

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// foresee ends the running jobs one by one on a copy, and compares the forecasts with what is free then.
func (m *machine) foresee(t *rapid.T) {
	var s State
	m.s.CopyTo(&s)
	free, pooled := make([][]time.Duration, s.Servers()), s.FreeTotal()*WholeGPU
	for _, id := range serverIDs(&s) {
		free[id] = m.s.AppendFree(nil, id)
		if int(s.Server(id).GPUs) != len(free[id]) || !slices.IsSorted(free[id]) {
			t.Fatalf("server %d of %d GPUs has them free in %v", id, s.Server(id).GPUs, free[id])
		}
	}
	var shadow Shadow
	shadow.Look(&s.View)
	ends := slices.DeleteFunc(slices.Clone(s.Running()), func(id JobID) bool { return m.s.Left(id) == Never })
	slices.SortFunc(ends, func(a, b JobID) int { return cmp.Compare(m.s.Left(a), m.s.Left(b)) })
	for n, at := 0, time.Duration(0); ; {
		for ; n < len(ends) && m.s.Left(ends[n]) == at; n++ {
			milli := s.Placement(ends[n]).GPUMilli()
			if got := shadow.Until(pooled + milli); got > at {
				t.Fatalf("%d thousandths of GPUs are free in %v, want in %v", pooled+milli, got, at)
			}
			pooled += milli
			s.Finish(ends[n])
		}
		for _, id := range serverIDs(&s) {
			got := int32(len(slices.DeleteFunc(slices.Clone(free[id]), func(d time.Duration) bool { return d > at })))
			if want := s.FreeGPUs(id); got != want {
				t.Fatalf("in %v server %d has %d GPUs free, want %d: %v", at, id, got, want, free[id])
			}
		}
		if n == len(ends) {
			break
		}
		at = m.s.Left(ends[n])
	}
	if got := shadow.Until(pooled + 1); got != Never {
		t.Fatalf("%d thousandths of GPUs are free in %v, want never", pooled+1, got)
	}
}

// TestLeft checks that a job without an estimate, or one too slow to represent its end, never ends, and that a job that outlives
// its estimate has 0 left.
func TestLeft(t *testing.T) {
	s := must.Get(NewState(Uniform(1, 4), 4))(t)
	for i, c := range []struct {
		estimate time.Duration
		rate     float64
		want     time.Duration
	}{{time.Hour, 1, time.Hour}, {time.Hour, 0.5, 2 * time.Hour}, {time.Hour, 1e-300, Never}, {0, 1, Never}} {
		id, spec := JobID(i), &JobSpec{Workers: 1, Request: wholeGPU, Estimate: c.estimate}
		s.Submit(id, spec)
		tx := s.Txn()
		must.Do(t, tx.Place(id, Placement{{0, 1, wholeGPU}}))
		s.SetProgress(id, 0, 0, c.rate)
		if got := s.Left(id); got != c.want {
			t.Errorf("job %d with an estimate of %v at rate %v runs for %v more, want %v", i, c.estimate, c.rate, got, c.want)
		}
	}
	s.Advance(90 * time.Minute)
	if got := s.Left(0); got != 30*time.Minute {
		t.Errorf("a job that has outlived its estimate by half runs for %v more, want 30m, the other half", got)
	}
}
