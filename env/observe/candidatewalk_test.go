package observe_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// candidatesIn returns random feasible candidates.
func candidatesIn(s *cluster.State, draw *rand.Rand, n int) (list []candidates.Candidate) {
	tx := s.Txn()
	pick := func(ids []cluster.JobID) cluster.JobID {
		if len(ids) == 0 {
			return -1
		}
		return ids[draw.IntN(len(ids))]
	}
	for i := range n {
		o := candidates.Candidate{Kind: candidates.Kind(draw.IntN(16)), Job: -1}
		if i == 0 {
			o.Kind = candidates.Own
		} else if o.Kind == candidates.Own {
			o.Kind = candidates.Begin
		}
		if draw.IntN(3) == 0 {
			o.Wait = time.Duration(math.Exp(30 * draw.Float64()))
		}
		mark := tx.Mark()
		for range draw.IntN(4) {
			if o.Job < 0 || draw.IntN(2) == 0 {
				if o.Job = pick(s.Pending()); draw.IntN(3) == 0 || o.Job < 0 {
					o.Job = pick(s.Running())
				}
			}
			if o.Job < 0 {
				break
			}
			propose(tx, draw, o.Job)
		}
		for _, op := range tx.Ops()[mark:] {
			o.Ops = append(o.Ops, op.Proposal())
		}
		tx.Rollback(mark)
		list = append(list, o)
	}
	for i := range list {
		if len(list[i].Ops) == 0 && draw.IntN(2) == 0 {
			list[i].Job = list[0].Job
		}
	}
	return list
}

// propose carries out a random operation on a job, if the state allows it.
func propose(tx *cluster.Txn, draw *rand.Rand, id cluster.JobID) {
	s := tx.View()
	a, n := s.Spec(id).Request, s.Spec(id).Workers
	if draw.IntN(2) == 0 {
		a.CPUMilli = a.CPUMilli * int32(draw.IntN(4)) / 2
		n = s.Spec(id).Least()
	}
	if draw.IntN(2) == 0 {
		a.MemMiB = a.MemMiB * int32(draw.IntN(4)) / 2
	}
	if draw.IntN(2) == 0 {
		a.GPUMilli = min(a.GPUMilli, 550)
	}
	if s.Phase(id) == cluster.Pending {
		if p, ok := s.BestFitAlone(id, n, a, nil); ok {
			_ = tx.Place(id, p)
		} else if p, ok := s.BestFit(id, nil); ok {
			_ = tx.Place(id, p)
		}
		return
	}
	if p, ok := s.BestFitAlone(id, s.Placement(id).Workers(), a, nil); ok && draw.IntN(2) == 0 {
		_ = tx.Migrate(id, p)
		return
	}
	if p, ok := s.BestFitAlone(id, n, a, nil); ok && draw.IntN(2) == 0 {
		_ = tx.Resize(id, p)
		return
	}
	_ = tx.Preempt(id)
}

// inRange returns an error about the first number of an observation that is out of its bounds.
func inRange(spec *observe.Spec, o *observe.Observation) error {
	for _, x := range []struct {
		name     string
		rows     []float32
		features []observe.Feature
	}{
		{"server", o.Servers, spec.Server}, {"job", o.Jobs, spec.Job}, {"candidate", o.Candidates, spec.Candidate},
		{"global", o.Global, spec.Global},
	} {
		for i, v := range x.rows {
			if f := x.features[i%len(x.features)]; !(v >= float32(f.Min) && v <= float32(f.Max)) {
				return fmt.Errorf("%s %d: %s is %v, want %v to %v", x.name, i/len(x.features), f.Name, v, f.Min, f.Max)
			}
		}
	}
	return nil
}

// TestObservationsHold checks, for random states and candidates, that every number is within its bounds, that the state does not
// change, that the rows of servers, jobs and the cluster do not depend on candidates, and that candidates in another order give
// the same rows in that order.
func TestObservationsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawWorld(t)
		s, e := sc.build(t, identity(len(sc.servers))), drawEncoder(t)
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "candidates"), 1))
		s.Begin(nil)
		list := candidatesIn(s, draw, rapid.IntRange(0, 8).Draw(t, "number"))
		before := simtest.Portray(&s.View)
		spec, o := encode(t, e, s, list...)
		if after := simtest.Portray(&s.View); after != before {
			t.Fatalf("the state is\n%s, was\n%s", after, before)
		}
		must.Do(t, inRange(&spec, o))
		_, plain := encode(t, e, s)
		if !slices.Equal(o.Servers, plain.Servers) || !slices.Equal(o.Global, plain.Global) {
			t.Fatalf("servers %v and cluster %v, want %v and %v", o.Servers, o.Global, plain.Servers, plain.Global)
		}
		if waiting := min(len(s.Pending()), e.Window); len(plain.Ids) != waiting {
			t.Fatalf("%d jobs without candidates, want %d", len(plain.Ids), waiting)
		}
		checkJobs(t, e, s, list, &spec, o, plain)
		permuted(t, e, s, list, o)
	})
}

// checkJobs compares the rows of jobs with those of an observation without candidates.
func checkJobs(t *rapid.T, e *observe.Standard, s *cluster.State, list []candidates.Candidate, spec *observe.Spec,
	o, plain *observe.Observation,
) {
	about := map[cluster.JobID]bool{}
	for i := range list {
		if id := list[i].Job; id >= 0 {
			about[id] = true
			if o.Ids[o.Of[i]] != id {
				t.Fatalf("candidate %d is about row %d of %v, want job %d", i, o.Of[i], o.Ids, id)
			}
		} else if o.Of[i] != -1 {
			t.Fatalf("candidate %d is about row %d, want none", i, o.Of[i])
		}
	}
	width := len(spec.Job)
	for k, id := range o.Ids {
		at := slices.Index(plain.Ids, id)
		if about[id] != (k < len(about)) || at < 0 && !about[id] || slices.Index(o.Ids, id) != k {
			t.Fatalf("jobs %v, of which candidates are about %v, beside window %v", o.Ids, about, plain.Ids)
		}
		if at >= 0 && !slices.Equal(o.Jobs[k*width:(k+1)*width], plain.Jobs[at*width:(at+1)*width]) {
			t.Fatalf("job %d is %v, want %v", id, o.Jobs[k*width:(k+1)*width], plain.Jobs[at*width:(at+1)*width])
		}
	}
	if waiting := min(len(s.Pending()), e.Window); len(o.Ids) < waiting || len(o.Ids) > max(e.Window, len(about)) {
		t.Fatalf("%d jobs beside %d that wait, window %d and candidates about %d", len(o.Ids), waiting, e.Window, len(about))
	}
}

func permuted(t *rapid.T, e *observe.Standard, s *cluster.State, list []candidates.Candidate, a *observe.Observation) {
	order := rapid.Permutation(identity(len(list))).Draw(t, "order")
	moved := make([]candidates.Candidate, len(list))
	for i, to := range order {
		moved[to] = list[i]
	}
	spec, b := encode(t, e, s, moved...)
	width := len(spec.Candidate)
	for i, to := range order {
		if x, y := a.Candidates[i*width:(i+1)*width], b.Candidates[to*width:(to+1)*width]; !slices.Equal(x, y) {
			t.Fatalf("candidate %d, then %d: %v and %v", i, to, x, y)
		}
	}
}
