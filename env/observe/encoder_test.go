package observe_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
	"pgregory.net/rapid"
)

// TestServersMayBeRelabelled checks that relabelling the servers permutes their rows and changes nothing else.
func TestServersMayBeRelabelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawWorld(t)
		e := drawEncoder(t)
		order := rapid.Permutation(identity(len(sc.servers))).Draw(t, "order")
		s := sc.build(t, identity(len(sc.servers)))
		s.Begin(nil)
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "candidates"), 1))
		list := candidatesIn(s, draw, rapid.IntRange(0, 6).Draw(t, "number"))
		spec, a := encode(t, e, s, list...)
		_, b := encode(t, e, sc.build(t, order), relabelled(list, order)...)
		if !slices.Equal(a.Ids, b.Ids) || !slices.Equal(a.Jobs, b.Jobs) || !slices.Equal(a.Global, b.Global) {
			t.Fatalf("ids %v and %v, jobs %v and %v, global %v and %v", a.Ids, b.Ids, a.Jobs, b.Jobs, a.Global, b.Global)
		}
		if !slices.Equal(a.Candidates, b.Candidates) || !slices.Equal(a.Of, b.Of) {
			t.Fatalf("candidates %v and %v", a.Candidates, b.Candidates)
		}
		n := len(spec.Server)
		for i, to := range order {
			if p, q := a.Servers[i*n:(i+1)*n], b.Servers[to*n:(to+1)*n]; !slices.Equal(p, q) {
				t.Fatalf("rows of server %d, then %d: %v and %v", i, to, p, q)
			}
		}
	})
}

// relabelled returns the same candidates after server i has become order[i].
func relabelled(list []candidates.Candidate, order []int) []candidates.Candidate {
	moved := slices.Clone(list)
	for i := range moved {
		moved[i].Ops = slices.Clone(moved[i].Ops)
		for k := range moved[i].Ops {
			op := &moved[i].Ops[k]
			op.Placement = slices.Clone(op.Placement)
			for n := range op.Placement {
				op.Placement[n].Server = cluster.ServerID(order[op.Placement[n].Server])
			}
		}
	}
	return moved
}

// TestWindowAgainstPlainSort checks that the window is what sorting all waiting jobs and cutting the lists gives.
func TestWindowAgainstPlainSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScene(t)
		s := sc.build(t, identity(len(sc.servers)))
		spec, o := encode(t, drawEncoder(t), s)
		var ready, held []cluster.JobID
		for id := range cluster.JobID(len(sc.jobs)) {
			switch {
			case s.Phase(id) != cluster.Pending:
			case room(s, id) >= int64(s.Spec(id).Workers):
				ready = append(ready, id)
			default:
				held = append(held, id)
			}
		}
		byOrder := func(a, b cluster.JobID) int {
			return cmp.Or(cmp.Compare(observe.Order(&s.View, a), observe.Order(&s.View, b)), cmp.Compare(a, b))
		}
		slices.SortFunc(ready, byOrder)
		slices.SortFunc(held, byOrder)
		for len(ready)+len(held) > spec.Window { // drop the last job of the list that is longer than its share
			if len(held) > 0 && (len(held) > spec.Window/4 || len(ready) == 0) {
				held = held[:len(held)-1]
			} else {
				ready = ready[:len(ready)-1]
			}
		}
		want := append(ready, held...)
		slices.SortFunc(want, byOrder)
		if !slices.Equal(o.Ids, want) {
			t.Fatalf("window %v, want %v", o.Ids, want)
		}
	})
}

// room returns how many workers of the job, as requested, the cluster can take.
func room(s *cluster.State, id cluster.JobID) int64 {
	total := int64(0)
	for i := range s.Servers() {
		total += int64(s.Fits(cluster.ServerID(i), id, s.Spec(id).Request))
	}
	return total
}

// TestRoomAgainstFits compares the features about room with plain loops over State.Fits.
func TestRoomAgainstFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScene(t)
		s := sc.build(t, identity(len(sc.servers)))
		spec, o := encode(t, drawEncoder(t), s)
		open := 0
		for i := range s.Servers() {
			if id := cluster.ServerID(i); s.Open(id) && s.Server(id).GPUs > 0 {
				open++
			}
		}
		for k, id := range o.Ids {
			row, alone := o.Jobs[k*len(spec.Job):(k+1)*len(spec.Job)], 0
			for i := range s.Servers() {
				if s.Fits(cluster.ServerID(i), id, s.Spec(id).Request) >= s.Spec(id).Workers {
					alone++
				}
			}
			if got, want := read(t, spec.Job, row, "startable") == 1, room(s, id) >= int64(s.Spec(id).Workers); got != want {
				t.Fatalf("job %d is startable: %v, want %v", id, got, want)
			}
			want := float32(0)
			if open > 0 {
				want = float32(float64(alone) / float64(open))
			}
			if got := read(t, spec.Job, row, "hosts"); got != want {
				t.Fatalf("hosts of job %d are %v, want %d of %d", id, got, alone, open)
			}
		}
	})
}

// TestWithoutEstimates checks that, without estimates, the window is in the order of submission and no feature predicts a time.
func TestWithoutEstimates(t *testing.T) {
	told := map[string][]string{
		"server": {"next_end", "last_end", "mean_end"}, "job": {"remaining", "estimated", "service", "behind_head"},
		"candidate": {"foreseen", "run_time", "gpu_time", "partner", "end", "age", "patience", "at_risk"},
		"global":    {"head_wait"},
	}
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScene(t)
		for i := range sc.jobs {
			sc.jobs[i].Estimate = 0
		}
		s := sc.build(t, identity(len(sc.servers)))
		e := drawEncoder(t)
		_, window := encode(t, e, s)
		last := time.Duration(-1)
		for _, id := range window.Ids {
			if s.Spec(id).Submit < last {
				t.Fatalf("window %v is not in order of submission", window.Ids)
			}
			last = s.Spec(id).Submit
		}
		var list []candidates.Candidate
		for _, id := range window.Ids {
			if p, ok := s.BestFit(id, nil); ok {
				list = append(list, candidates.Candidate{
					Kind: candidates.Begin, Job: id, Ops: []cluster.Proposal{{Kind: cluster.OpPlace, Job: id, Placement: p}},
				})
			}
		}
		spec, o := encode(t, e, s, list...)
		for _, x := range []struct {
			name     string
			rows     []float32
			features []observe.Feature
		}{
			{"server", o.Servers, spec.Server}, {"job", o.Jobs, spec.Job}, {"candidate", o.Candidates, spec.Candidate},
			{"global", o.Global, spec.Global},
		} {
			for i, v := range x.rows {
				if f := x.features[i%len(x.features)]; v != 0 && slices.Contains(told[x.name], f.Name) {
					t.Fatalf("%s %d: %s is %v, want 0", x.name, i/len(x.features), f.Name, v)
				}
			}
		}
	})
}
