package observe_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// all is an objective of which every feature of costs shows something.
const all = `name: all
terms:
  - {cost: wait, over: 2h, price: 1/min, jobs: {gpus: -4}}
  - {cost: late, price: 1/h, deadline: {run_times: 2, plus: 3h}, miss: 20}
  - {cost: completion, power: 2, price: 1/h}
  - {cost: stop, price: 3}
  - {cost: lost_gpu_time, price: 6/h}
  - {cost: gpu_time, price: 1/h, prices: {0: 0.5, 7: 2, 22: 0.5}}
  - {cost: idle_gpu_time, price: 1/h}
  - {cost: unfair, price: 1/h}`

func objective(tb rapid.TB, text string) *objectives.Objective {
	return must.Get(objectives.Read(strings.NewReader(text)))(tb)
}

// TestCostsVary checks that, over random episodes, every feature of an objective varies within its range and none is a linear
// function of another, and that all others are as without one.
func TestCostsVary(t *testing.T) {
	plain := &observe.Standard{Window: 12}
	e := &observe.Standard{Window: 12, Objective: objective(t, all)}
	few, spec := plain.Spec(), e.Spec()
	jobs, global := newMoments("job", spec.Job), newMoments("global", spec.Global)
	var a, b, again observe.Observation
	for seed := range uint64(4) {
		draw := rand.New(rand.NewPCG(seed, 3))
		walk(t, seed, func(s *cluster.State) {
			list := candidatesIn(s, draw, 1+draw.IntN(8))
			see(t, plain, s, list, &a)
			see(t, e, s, list, &b)
			jobs.add(t, b.Jobs)
			global.add(t, b.Global)
			for i := range b.Ids {
				if n, m := len(few.Job), len(spec.Job); !slices.Equal(b.Jobs[i*m:i*m+n], a.Jobs[i*n:(i+1)*n]) {
					t.Fatalf("the row of job %d begins otherwise than without an objective", b.Ids[i])
				}
			}
			if !slices.Equal(b.Global[:len(few.Global)], a.Global) || !slices.Equal(b.Candidates, a.Candidates) ||
				!slices.Equal(b.Servers, a.Servers) {
				t.Fatal("rows are otherwise than without an objective")
			}
			if see(t, &observe.Standard{Window: 12, Objective: e.Objective}, s, list, &again); !same(&b, &again) {
				t.Fatal("an old encoder shows something else than a fresh one")
			}
		})
	}
	jobs.judge(t)
	global.judge(t)
}

// TestCostsHaveNoUnit checks that features do not depend on the unit in which an objective counts, and that a larger price of one
// term shows.
func TestCostsHaveNoUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawWorld(t)
		s := sc.build(t, identity(len(sc.servers)))
		s.Begin(nil)
		own, dear := objective(t, all), objective(t, all)
		for i := range dear.Terms {
			dear.Terms[i].Price.Amount *= 1024 // exact
			dear.Terms[i].Miss *= 1024
		}
		spec, a := encode(t, &observe.Standard{Window: 8, Objective: own}, s)
		if _, b := encode(t, &observe.Standard{Window: 8, Objective: dear}, s); !same(a, b) {
			t.Fatal("in another unit the observation is another")
		}
		own.Terms[2].Price.Amount /= 64 // of completion, not the largest
		_, b := encode(t, &observe.Standard{Window: 8, Objective: own}, s)
		for k, id := range a.Ids {
			x, y := value(t, &spec, a, "job", k, "wait_cost"), value(t, &spec, b, "job", k, "wait_cost")
			if y > x || y == x && x > 0 && x < 1 && s.Now() > s.Spec(id).Submit+time.Second {
				t.Fatalf("job %d: a minute costs %v, with a lower price %v", id, x, y)
			}
		}
	})
}

// TestCostsShow checks some features of a state with one job that waits before its limit.
func TestCostsShow(t *testing.T) {
	g := of(1)
	g.run(0, 8, 10*time.Hour)
	long, late := 0, g.wait(1, time.Hour)
	s := g.build(t)
	s.Begin(nil)
	text := `name: one
terms:
  - {cost: wait, over: 1000h, price: 1/h}
  - {cost: stop, price: 1}`
	spec, o := encode(t, &observe.Standard{Window: 8, Objective: objective(t, text)}, s,
		candidates.Candidate{Kind: candidates.Preempt, Job: cluster.JobID(long), Ops: []cluster.Proposal{stop(long)}})
	for _, c := range []struct {
		job  int
		name string
		want float32
	}{
		{late, "wait_cost", 0}, {late, "run_cost", 0}, {late, "wait_cost_after", 0.5}, {late, "stop_cost", 0},
		{late, "deadline", 1}, {late, "last_start", 1}, {late, "miss_cost", 0}, {long, "stop_cost", 0.5}, {long, "limit", 1},
	} {
		k := slices.Index(o.Ids, cluster.JobID(c.job))
		if got := value(t, &spec, o, "job", k, c.name); got-c.want > 1e-3 || c.want-got > 1e-3 {
			t.Errorf("%s of job %d is %v, want %v", c.name, c.job, got, c.want)
		}
	}
	k := slices.Index(o.Ids, cluster.JobID(late))
	if x, y := value(t, &spec, o, "job", k, "limit"), value(t, &spec, o, "job", k, "cost_change"); x != y || x <= 0 || x >= 1 {
		t.Errorf("limit %v, change %v, want the same within (0, 1)", x, y)
	}
}
