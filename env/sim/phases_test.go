package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// lone returns an episode with one job of the given work alone on a cluster, whose speed changes every 10 minutes of its work.
func lone(work time.Duration, seed uint64) sim.Episode {
	return sim.Episode{
		Config: sim.Config{
			Cluster: cluster.Uniform(1, 1), Phases: sim.Phases{Every: 10 * time.Minute, Slowest: 0.2, Seed: seed},
			Readings: sim.Readings{Interval: time.Minute},
		},
		Jobs: []trace.Job{{Work: work, JobSpec: cluster.JobSpec{
			Name: "a", Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: work,
		}}},
	}
}

// starter starts every job that fits. It records the rates of the jobs that it finds running, every minute.
type starter struct{ seen []float64 }

func (*starter) Name() string       { return "starter" }
func (*starter) Reset(uint64) error { return nil }
func (s *starter) Schedule(tx *cluster.Txn) error {
	for _, id := range tx.View().Running() {
		s.seen = append(s.seen, tx.View().Rate(id))
	}
	for _, id := range slices.Clone(tx.View().Pending()) {
		_ = tx.Place(id, cluster.Placement{{Workers: 1, Amount: tx.View().Spec(id).Request}}) // a job that does not fit waits
	}
	tx.WakeAt(tx.Now() + time.Minute)
	return nil
}

// TestPhasesAddUp checks that a job takes the sum, over its phases, of the phase's work divided by a factor that is the same
// whenever the job runs, and that each phase is measured.
func TestPhasesAddUp(t *testing.T) {
	many(t, 300, func(t *rapid.T) {
		work := time.Minute + drawTime(t, "work", 9000)
		e := lone(work, rapid.Uint64().Draw(t, "seed"))
		s := must.Get(e.New())(t)
		var own starter
		must.Do(t, s.Run(t.Context(), &own, 1))
		factors, took := map[float64]bool{}, s.State().Now()
		var order []float64
		for _, f := range own.seen {
			if f < 0.2 || f > 1 {
				t.Fatalf("a factor of %v", f)
			}
			if !factors[f] {
				order = append(order, f)
			}
			factors[f] = true
		}
		want, phase := 0.0, 0
		for left := work; left > 0 && phase < len(order); left, phase = left-10*time.Minute, phase+1 {
			want += min(left, 10*time.Minute).Seconds() / order[phase]
		}
		if phases := int((work + 10*time.Minute - 1) / (10 * time.Minute)); phase < phases-1 {
			t.Fatalf("%d phases of %v, want about %d", phase, work, phases)
		} else if phase == phases && (took.Seconds() < want-1 || took.Seconds() > want+1) {
			t.Fatalf("it took %v, want %v s with the factors %v", took, want, order)
		}
	})
}

// TestPhasesCauseNoDecision checks that without wake-ups a scheduler is called at the same instants for a lone job, and that the
// log with phases is replayed, byte for byte.
func TestPhasesCauseNoDecision(t *testing.T) {
	e := lone(3*time.Hour, 7)
	for _, hidden := range []bool{false, true} {
		e.Config.Hidden.Speeds = hidden
		s := must.Get(e.New())(t)
		calls := 0
		for tx, ok := s.Next(); ok; tx, ok = s.Next() {
			if calls++; calls == 1 {
				must.Do(t, tx.Place(0, cluster.Placement{{Workers: 1, Amount: e.Jobs[0].Request}}))
			}
			changed := slices.ContainsFunc(tx.Events(), func(v cluster.Event) bool { return v.Kind == cluster.Respeed })
			if calls == 2 && changed == hidden {
				t.Errorf("hidden speeds %v: the events at the end are %v", hidden, tx.Events())
			}
			s.Commit()
		}
		if calls != 2 {
			t.Errorf("%d decisions, want one at the beginning and one at the end", calls)
		}
		if n := strings.Count(written(t, s.Log()), `"kind":"measure"`); n < 15 {
			t.Errorf("%d readings of 18 phases", n)
		}
		again := must.Get(sim.Replay(s.Log()))(t)
		if a, b := written(t, s.Log()), written(t, again); a != b {
			t.Errorf("replayed otherwise:\n%s", differ(a, b))
		}
	}
}

// TestLostWorkReturnsToItsPhase checks that a job that begins anew passes through the same phases again.
func TestLostWorkReturnsToItsPhase(t *testing.T) {
	e := lone(time.Hour, 3)
	e.Config.Restart.FromScratch = true
	e.Config.Outages = []sim.Outage{{From: 100 * time.Minute, To: 101 * time.Minute, GPU: -1}}
	var own starter
	s := must.Get(e.New())(t)
	must.Do(t, s.Run(t.Context(), &own, 1))
	order := slices.Compact(slices.Clone(own.seen))
	again := slices.Index(order[1:], order[0]) + 1
	if again < 2 || len(order) != again+6 || !slices.Equal(order[:again-1], order[again:2*again-1]) {
		t.Errorf("the rates were %v, want those of the first phases again after the failure", order)
	}
}
