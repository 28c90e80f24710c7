package decide_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/decide"
)

// crowd draws a cluster of a few servers of four GPUs with running and waiting jobs.
func crowd(t *rapid.T) *cluster.State {
	jobs := rapid.IntRange(1, 8).Draw(t, "jobs")
	s, err := cluster.NewState(cluster.Uniform(rapid.IntRange(1, 3).Draw(t, "servers"), 4), jobs)
	if err != nil {
		t.Fatal(err)
	}
	s.Advance(time.Hour)
	for i := range jobs {
		id := cluster.JobID(i)
		spec := &cluster.JobSpec{
			Name: fmt.Sprint(i), Workers: rapid.Int32Range(1, 6).Draw(t, "workers"), Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
			Estimate: time.Duration(rapid.IntRange(0, 3).Draw(t, "hours")) * time.Hour, MinWorkers: 1, MaxWorkers: 12,
		}
		s.Submit(id, spec)
		if p, fits := s.BestFit(id, nil); fits && rapid.Bool().Draw(t, "runs") {
			tx := s.Begin(nil)
			if err := tx.Place(id, p); err != nil {
				t.Fatal(err)
			}
			tx.End()
		}
	}
	return s
}

// proposals draws what a policy might propose, feasible one after the other.
func proposals(t *rapid.T, s *cluster.State) (all []cluster.Proposal) {
	var trial cluster.State
	s.CopyTo(&trial)
	tx := trial.Begin(nil)
	for range rapid.IntRange(0, 12).Draw(t, "proposals") {
		id := cluster.JobID(rapid.IntRange(0, s.Jobs()-1).Draw(t, "job"))
		p := cluster.Proposal{Job: id, Kind: rapid.SampledFrom([]cluster.OpKind{
			cluster.OpPlace, cluster.OpPlace, cluster.OpPreempt, cluster.OpResize, cluster.OpMigrate,
		}).Draw(t, "operation")}
		for v := range trial.Servers() {
			if n := rapid.Int32Range(0, 4).Draw(t, "workers there"); n > 0 {
				p.Placement = append(p.Placement, cluster.Piece{
					Server: cluster.ServerID(v), Workers: n, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU},
				})
			}
		}
		if p.Kind == cluster.OpPreempt {
			p.Placement = nil
		}
		if tx.Do(&p) == nil {
			all = append(all, p)
		}
	}
	return all
}

// Whatever is proposed, no more jobs stop than may, protected jobs keep their workers, the first starving job that does not fit
// need not wait for longer, and every proposal is either carried out or held.
func TestLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := crowd(t)
		all := proposals(t, s)
		protected := map[cluster.JobID]bool{}
		l := decide.Limits{Stops: rapid.IntRange(0, 3).Draw(t, "stops"), Protected: func(id cluster.JobID) bool { return protected[id] }}
		for _, id := range s.Running() {
			protected[id] = rapid.Bool().Draw(t, "protected")
		}
		for _, id := range s.Pending() {
			if rapid.IntRange(0, 2).Draw(t, "starves") == 0 {
				l.Starving = append(l.Starving, id)
			}
		}
		slices.Sort(l.Starving)
		before := map[cluster.JobID]cluster.Placement{}
		for _, id := range s.Running() {
			before[id] = slices.Clone(s.Placement(id))
		}
		tx := s.Begin(nil)
		starving, waits := l.Rescue(tx)
		for _, id := range l.Starving {
			if waits && id == starving {
				break
			}
			if s.Phase(id) != cluster.Running {
				t.Fatalf("job %d starves and was not started before job %d", id, starving)
			}
		}
		var shadow cluster.Shadow
		rescued, wait := len(tx.Ops()), time.Duration(0)
		if waits {
			wait = shadow.Wait(s, starving)
		}
		free := s.FreeTotal()
		allowed := l.Stops
		held := l.Apply(tx, all, starving, waits)
		if done := len(tx.Ops()) - rescued; done+len(held) != len(all) {
			t.Fatalf("%d done and %d held of %d", done, len(held), len(all))
		}
		stopped := 0
		for _, o := range tx.Ops()[rescued:] {
			if was := o.Before(); was != nil && !decide.Within(was, o.Placement()) && (o.Kind != cluster.OpResize || !decide.Within(o.Placement(), was)) {
				stopped++
			}
		}
		if stopped > allowed || l.Stops > allowed-stopped {
			t.Fatalf("%d jobs stopped and %d more may be, want at most %d", stopped, l.Stops, allowed)
		}
		for id, was := range before {
			if protected[id] && !decide.Within(was, s.Placement(id)) {
				t.Fatalf("protected job %d went from %v to %v", id, was, s.Placement(id))
			}
		}
		if waits && s.Phase(starving) == cluster.Pending {
			after := shadow.Wait(s, starving)
			if wait > 0 && after > wait {
				t.Fatalf("job %d starves and waits for %v, want at most %v", starving, after, wait)
			}
			if stops := stopped > 0; wait == 0 && !stops && s.FreeTotal() < free {
				t.Fatalf("%d GPUs are free, want the %d that job %d may need", s.FreeTotal(), free, starving)
			}
		}
		tx.End()
	})
}

// A proposal that lives by another one, which was held, is held as well, and the rest is done.
func TestLimitsHoldWhatFollows(t *testing.T) {
	s := read(t)
	tx := s.Begin(nil)
	onA := cluster.Placement{{Server: 0, Workers: 4, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}},
		{Server: 1, Workers: 4, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}
	all := []cluster.Proposal{{Kind: cluster.OpPreempt, Job: 0}, {Kind: cluster.OpPlace, Job: 2, Placement: onA},
		{Kind: cluster.OpPlace, Job: 1, Placement: cluster.Placement{{Server: 1, Workers: 2, Amount: onA[0].Amount}}}}
	held := new(decide.Limits).Apply(tx, all, 0, false)
	if len(held) != 2 || held[0].Reason != decide.HeldStops || held[1].Reason != decide.HeldNoRoom || s.Phase(1) != cluster.Running {
		t.Errorf("held %+v, job 1 is %v; want the stop held, and the start that needs its room, and job 1 running", held, s.Phase(1))
	}
	// A starving job that needs all GPUs keeps short jobs out, unless they end before it could start.
	tx.Rollback(0)
	l := decide.Limits{Starving: []cluster.JobID{2}}
	starving, waits := l.Rescue(tx)
	if !waits || starving != 2 {
		t.Fatalf("job %d waits: %t, want job 2", starving, waits)
	}
	if held := l.Apply(tx, all[2:], starving, waits); len(held) != 0 {
		t.Errorf("held %+v, want none: 60 s end before the 500 s of the job that runs", held)
	}
	tx.Rollback(0)
	long := *s.Spec(1)
	long.Estimate = time.Hour
	s.Revise(1, &long)
	if held := l.Apply(tx, all[2:], starving, waits); len(held) != 1 || held[0].Reason != decide.HeldStarving {
		t.Errorf("held %+v, want the start of an hour", held)
	}
	tx.End()
}

// A start that was proposed in the place of a job whose stop was held goes where there is room.
func TestLimitsStartElsewhere(t *testing.T) {
	s := read(t)
	three := *s.Spec(1)
	three.Workers = 3
	s.Revise(1, &three)
	onA := cluster.Placement{{Server: 0, Workers: 3, Amount: three.Request}}
	all := []cluster.Proposal{{Kind: cluster.OpPreempt, Job: 0}, {Kind: cluster.OpPlace, Job: 1, Placement: onA}}
	for _, c := range []struct {
		name  string
		stops int
		want  cluster.ServerID
		held  int
	}{{"stopped", 1, 0, 0}, {"held", 0, 1, 1}} {
		tx := s.Begin(nil)
		held := (&decide.Limits{Stops: c.stops}).Apply(tx, all, 0, false)
		if p := s.Placement(1); len(held) != c.held || len(p) != 1 || p[0].Server != c.want {
			t.Errorf("%s: held %+v, the job is on %v; want it on server %d", c.name, held, p, c.want)
		}
		tx.Rollback(0)
		tx.End()
	}
}
