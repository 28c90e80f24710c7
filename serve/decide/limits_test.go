package decide_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/serve/decide"
)

// drawState draws a cluster of a few servers of four GPUs, with running and waiting jobs.
func drawState(t *rapid.T) *cluster.State {
	jobs := rapid.IntRange(3, 10).Draw(t, "jobs")
	servers := rapid.IntRange(1, 3).Draw(t, "servers")
	spec := cluster.Uniform(servers, 4)
	spec.Quotas = []cluster.Quota{{Tenant: "few", GPUs: 3}}
	s := must.Get(cluster.NewState(spec, jobs))(t)
	s.Advance(time.Hour)
	for i := range jobs {
		id := cluster.JobID(i)
		spec := &cluster.JobSpec{
			Name: fmt.Sprint(i), Workers: rapid.Int32Range(1, 6).Draw(t, "workers"), Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
			Estimate: time.Duration(rapid.IntRange(0, 3).Draw(t, "hours")) * time.Hour,
			Tenant:   rapid.SampledFrom([]string{"", "", "few"}).Draw(t, "tenant"),
		}
		if rapid.Bool().Draw(t, "elastic") {
			spec.MinWorkers, spec.MaxWorkers = rapid.Int32Range(1, spec.Workers).Draw(t, "least"), 12
		}
		if some := cluster.NewServerSet(servers); rapid.IntRange(0, 2).Draw(t, "picks servers") == 0 {
			for v := range servers {
				if rapid.Bool().Draw(t, "server") {
					some.Add(cluster.ServerID(v))
				}
			}
			spec.Where = some
		}
		s.Submit(id, spec)
		if p, fits := s.BestFit(id, nil); fits && rapid.Bool().Draw(t, "runs") {
			tx := s.Begin(nil)
			must.Do(t, tx.Place(id, p))
			tx.End()
		}
	}
	return s
}

func anywhere(t *rapid.T, servers int) (p cluster.Placement) {
	for v := range servers {
		if n := rapid.Int32Range(0, 4).Draw(t, "workers there"); n > 0 {
			p = append(p, cluster.Piece{Server: cluster.ServerID(v), Workers: n, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}})
		}
	}
	return p
}

// proposals draws proposals of a policy that are feasible one after the other.
func proposals(t *rapid.T, s *cluster.State) (all []cluster.Proposal) {
	var trial cluster.State
	s.CopyTo(&trial)
	tx := trial.Begin(nil)
	for range rapid.IntRange(3, 15).Draw(t, "proposals") {
		id := cluster.JobID(rapid.IntRange(0, s.Jobs()-1).Draw(t, "job"))
		p := cluster.Proposal{Job: id, Kind: rapid.SampledFrom([]cluster.OpKind{
			cluster.OpPlace, cluster.OpPlace, cluster.OpPreempt, cluster.OpResize, cluster.OpMigrate,
		}).Draw(t, "operation")}
		if trial.Phase(id) == cluster.Pending && rapid.Bool().Draw(t, "by best fit") {
			p.Kind = cluster.OpPlace
			p.Placement, _ = trial.BestFit(id, nil)
		} else if p.Kind != cluster.OpPreempt {
			p.Placement = anywhere(t, trial.Servers())
		}
		if tx.Do(&p) == nil {
			all = append(all, p)
		}
	}
	return all
}

// start returns when a waiting job could start if running jobs end as estimated and nothing else starts. It simulates the ends of
// the jobs.
func start(s *cluster.State, id cluster.JobID) (at time.Duration, told bool) {
	var trial cluster.State
	s.CopyTo(&trial)
	least := int64(s.Spec(id).Least())
	ends := slices.DeleteFunc(slices.Clone(s.Running()), func(r cluster.JobID) bool { return s.Spec(r).Estimate == 0 })
	slices.SortFunc(ends, func(a, b cluster.JobID) int { return cmp.Compare(s.ExpectedFinish(a), s.ExpectedFinish(b)) })
	for _, r := range ends {
		if room(&trial, id) >= least {
			return at, true
		}
		at = max(s.ExpectedFinish(r)-s.Now(), 0)
		trial.Finish(r)
	}
	return at, room(&trial, id) >= least
}

func room(s *cluster.State, id cluster.JobID) int64 {
	return s.Room(id, s.Spec(id).Request, make([]int32, s.Servers()))
}

// TestLimits checks for any proposals that no more jobs stop than allowed, that protected jobs keep their workers, that starving
// jobs that hold others back do not wait longer, that a proposal is held for a starving job only if the two jobs share a server
// or a quota, and that every proposal is either carried out or held.
func TestLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		all := proposals(t, s)
		protected, patient := map[cluster.JobID]bool{}, map[cluster.JobID]bool{}
		l := decide.Limits{
			Stops: rapid.IntRange(0, 3).Draw(t, "stops"), Protected: func(id cluster.JobID) bool { return protected[id] },
			Holds: func(id cluster.JobID) bool { return !patient[id] },
		}
		for _, id := range s.Running() {
			protected[id] = rapid.Bool().Draw(t, "protected")
		}
		for _, id := range s.Pending() {
			if rapid.IntRange(0, 2).Draw(t, "starves") == 0 {
				l.Starving = append(l.Starving, id)
				patient[id] = rapid.IntRange(0, 3).Draw(t, "patient") == 0
			}
		}
		slices.Sort(l.Starving)
		before := map[cluster.JobID]cluster.Placement{}
		for _, id := range s.Running() {
			before[id] = slices.Clone(s.Placement(id))
		}
		tx := s.Begin(nil)
		holding, kept := l.Rescue(tx)
		for i, id := range l.Starving {
			isKept := slices.ContainsFunc(kept, func(h decide.Held) bool { return h.Job == id && slices.Contains(holding, h.For) })
			if s.Phase(id) == cluster.Pending && room(s, id) >= int64(s.Spec(id).Least()) && !isKept {
				t.Fatalf("job %d starves, fits and was not started, though it is held for none", id)
			}
			if slices.Contains(holding, id) && (patient[id] || slices.Contains(l.Starving[:i], id)) {
				t.Fatalf("job %d holds others back", id)
			}
		}
		type outlook struct {
			wait time.Duration
			told bool
			room int64
		}
		was := map[cluster.JobID]outlook{}
		for _, id := range holding {
			wait, told := start(s, id)
			was[id] = outlook{wait, told, room(s, id)}
		}
		rescued := len(tx.Ops())
		allowed := l.Stops
		held := l.Apply(tx, all, holding)
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
		for id, o := range was {
			if s.Phase(id) != cluster.Pending {
				continue
			}
			switch wait, told := start(s, id); {
			case o.told && (!told || wait > o.wait):
				t.Fatalf("job %d starves and waits for %v, told %t; want at most %v", id, wait, told, o.wait)
			case !o.told && !told && stopped == 0 && room(s, id) < o.room:
				t.Fatalf("job %d starves and has room for %d workers, want %d", id, room(s, id), o.room)
			}
		}
		for _, h := range held {
			if h.Reason == decide.HeldStarving && !meet(s, h.For, h.Job) {
				t.Fatalf("%+v is held for job %d, which it takes nothing from", h.Proposal, h.For)
			}
		}
		tx.End()
	})
}

// meet reports whether there is a server that both jobs may use, or a quota that both share.
func meet(s *cluster.State, a, b cluster.JobID) bool {
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.MayUse(a, id) && s.MayUse(b, id) {
			return true
		}
	}
	return s.Quota(a) >= 0 && s.Spec(a).Tenant == s.Spec(b).Tenant
}

// TestStarvingJobsHoldTheirOwnServers checks that a starving job holds back only starts that take GPUs of servers that it may
// use; that two starving jobs with different servers each do so on theirs; and that a starving job that waits for its quota holds
// back only jobs of its own tenant.
func TestStarvingJobsHoldTheirOwnServers(t *testing.T) {
	spec := cluster.Uniform(3, 4)
	spec.Quotas = []cluster.Quota{{Tenant: "few", GPUs: 4}}
	s := must.Get(cluster.NewState(spec, 7))(t)
	only := func(ids ...cluster.ServerID) *cluster.ServerSet {
		set := cluster.NewServerSet(3)
		for _, id := range ids {
			set.Add(id)
		}
		return set
	}
	whole := cluster.Amount{GPUMilli: cluster.WholeGPU}
	at := func(id cluster.ServerID, n int32) cluster.Placement {
		return cluster.Placement{{Server: id, Workers: n, Amount: whole}}
	}
	submit := func(id cluster.JobID, workers int32, where *cluster.ServerSet, tenant string) {
		s.Submit(id, &cluster.JobSpec{Name: fmt.Sprint(id), Workers: workers, Request: whole, Where: where, Tenant: tenant})
	}
	submit(0, 2, nil, "")
	submit(1, 2, nil, "few")
	tx := s.Begin(nil)
	must.Do(t, errors.Join(tx.Place(0, at(0, 2)), tx.Place(1, at(1, 2))))
	tx.End()
	submit(2, 4, only(0), "") // starves on server 0
	submit(3, 4, only(1), "") // starves on server 1
	submit(4, 3, nil, "few")  // starves because of its quota
	submit(5, 1, nil, "")
	submit(6, 1, nil, "few")
	for _, c := range []struct {
		name     string
		starving []cluster.JobID
		job      cluster.JobID
		on       cluster.ServerID
		heldFor  cluster.JobID // 0 for none
	}{
		{"on its server", []cluster.JobID{2}, 5, 0, 2},
		{"on another one", []cluster.JobID{2}, 5, 2, 0},
		{"on that of the second in the queue", []cluster.JobID{2, 3}, 5, 1, 3},
		{"one that waits for its quota", []cluster.JobID{4}, 5, 0, 0},
		{"its own tenant's", []cluster.JobID{4}, 6, 2, 4},
	} {
		tx := s.Begin(nil)
		l := decide.Limits{Starving: c.starving}
		holding, _ := l.Rescue(tx)
		held := l.Apply(tx, []cluster.Proposal{{Kind: cluster.OpPlace, Job: c.job, Placement: at(c.on, 1)}}, holding)
		if (len(held) > 0) != (c.heldFor > 0) || len(held) > 0 && (held[0].Reason != decide.HeldStarving || held[0].For != c.heldFor) {
			t.Errorf("%s: held %+v, want for job %d", c.name, held, c.heldFor)
		}
		tx.Rollback(0)
		tx.End()
	}
	tx = s.Begin(nil)
	l := decide.Limits{Starving: []cluster.JobID{2}, Holds: func(cluster.JobID) bool { return false }}
	if holding, _ := l.Rescue(tx); len(holding) > 0 {
		t.Errorf("%v hold others back, who may not", holding)
	}
	tx.End()
}

// TestLimitsHoldWhatFollows checks that a proposal that depends on a held proposal is held too, and that the others are carried
// out.
func TestLimitsHoldWhatFollows(t *testing.T) {
	s := read(t)
	tx := s.Begin(nil)
	onA := cluster.Placement{{Server: 0, Workers: 4, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}},
		{Server: 1, Workers: 4, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}
	all := []cluster.Proposal{{Kind: cluster.OpPreempt, Job: 0}, {Kind: cluster.OpPlace, Job: 2, Placement: onA},
		{Kind: cluster.OpPlace, Job: 1, Placement: cluster.Placement{{Server: 1, Workers: 2, Amount: onA[0].Amount}}}}
	held := new(decide.Limits).Apply(tx, all, nil)
	if len(held) != 2 || held[0].Reason != decide.HeldStops || held[1].Reason != decide.HeldNoRoom || s.Phase(1) != cluster.Running {
		t.Errorf("held %+v, job 1 is %v; want the stop held, and the start that needs its room, and job 1 running", held, s.Phase(1))
	}
	// A starving job that needs all GPUs holds back short jobs, unless they end before it could start.
	tx.Rollback(0)
	l := decide.Limits{Starving: []cluster.JobID{2}}
	holding, _ := l.Rescue(tx)
	if !slices.Equal(holding, []cluster.JobID{2}) {
		t.Fatalf("jobs %v wait, want job 2", holding)
	}
	if held := l.Apply(tx, all[2:], holding); len(held) != 0 {
		t.Errorf("held %+v, want none: 60 s end before the 500 s of the job that runs", held)
	}
	tx.Rollback(0)
	long := *s.Spec(1)
	long.Estimate = time.Hour
	s.Revise(1, &long)
	if held := l.Apply(tx, all[2:], holding); len(held) != 1 || held[0].Reason != decide.HeldStarving {
		t.Errorf("held %+v, want the start of an hour", held)
	}
	tx.End()
}

// TestLimitsStartElsewhere checks that a start in the place of a job whose stop was held moves to another server with room.
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
		held := (&decide.Limits{Stops: c.stops}).Apply(tx, all, nil)
		if p := s.Placement(1); len(held) != c.held || len(p) != 1 || p[0].Server != c.want {
			t.Errorf("%s: held %+v, the job is on %v; want it on server %d", c.name, held, p, c.want)
		}
		tx.Rollback(0)
		tx.End()
	}
}
