package observe_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/internal/must"
)

// steady is a profile by which every job runs as fast as its estimate assumes.
type steady struct{}

func (steady) Speed(*cluster.View, cluster.JobID) float64 { return 1 }

func (steady) Coupled(_ *cluster.View, _ cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	return dst
}

// hosted returns candidates that place one of the jobs on one server each, as requested and with half of each amount.
func hosted(s *cluster.State, ids []cluster.JobID) (list []candidates.Candidate) {
	tx := s.Txn()
	for _, id := range ids {
		if s.Phase(id) != cluster.Pending {
			continue
		}
		spec := s.Spec(id)
		half := spec.Request
		half.GPUMilli, half.CPUMilli, half.MemMiB = half.GPUMilli/2, half.CPUMilli/2, half.MemMiB/2
		for i := range s.Servers() {
			for _, a := range []cluster.Amount{spec.Request, half} {
				at := cluster.Placement{{Server: cluster.ServerID(i), Workers: spec.Workers, Amount: a}}
				mark := tx.Mark()
				if s.Fits(cluster.ServerID(i), id, a) < spec.Workers || tx.Place(id, at) != nil {
					continue
				}
				tx.Rollback(mark)
				list = append(list, candidates.Candidate{
					Kind: candidates.Begin, Job: id, Ops: []cluster.Proposal{{Kind: cluster.OpPlace, Job: id, Placement: at}},
				})
			}
		}
	}
	return list
}

// TestForesightAgainstPlainLoops compares the features of candidates about the head (the first job that cannot start) and about
// waste with what plain loops find after the job is placed.
func TestForesightAgainstPlainLoops(t *testing.T) {
	e, o := &observe.Standard{Window: 12}, &observe.Observation{}
	spec := e.Spec()
	seen := struct{ delays, blocks, waste int }{}
	visit := func(s *cluster.State) {
		known := s.Profile()
		s.SetProfile(steady{})
		defer s.SetProfile(known)
		see(t, e, s, nil, o)
		head := headOf(t, &spec, o)
		list := hosted(s, o.Ids)
		see(t, e, s, list, o)
		for i := range list {
			id, at := list[i].Job, list[i].Ops[0].Placement[0]
			says := func(name string) float32 { return value(t, &spec, o, "candidate", i, name) }
			if id == head {
				if says("delays") != 0 || says("blocks") != 0 {
					t.Fatalf("at %v: job %d delays itself by %v and %v", s.Now(), id, says("delays"), says("blocks"))
				}
				continue
			}
			tx := s.Txn()
			var wait, hole time.Duration
			if head >= 0 {
				wait, hole = shadowWait(s, head), firstHole(s, head)
			}
			mark := tx.Mark()
			must.Do(t, list[i].Apply(tx))
			if want := wasted(s, s.FreeGPUs(at.Server)) / float32(s.Server(at.Server).GPUs); says("waste") != want {
				t.Fatalf("at %v: job %d on %+v wastes %v, said %v", s.Now(), id, at, want, says("waste"))
			} else if want > 0 {
				seen.waste++
			}
			// The shadow ignores jobs without estimates and counts free shares as free GPUs.
			if head >= 0 && wait > 0 && at.GPUMilli == cluster.WholeGPU && s.Spec(id).Estimate > 0 {
				later := shadowWait(s, head)
				if want := logTime(later - wait); says("delays") != want && later > 0 {
					t.Fatalf("at %v: job %d on %+v delays job %d by %v, said %v", s.Now(), id, at, head, want, says("delays"))
				} else if want > 0 {
					seen.delays++
				}
			}
			if head >= 0 && hole < math.MaxInt64 {
				want := logTime(firstHole(s, head) - hole)
				if says("blocks") != want {
					t.Fatalf("at %v: job %d on %+v blocks job %d by %v, said %v", s.Now(), id, at, head, want, says("blocks"))
				} else if want > 0 {
					seen.blocks++
				}
			}
			tx.Rollback(mark)
		}
	}
	for seed := range uint64(8) {
		walk(t, seed, visit)
	}
	if seen.delays < 20 || seen.blocks < 20 || seen.waste < 20 {
		t.Errorf("%+v: too few to tell", seen)
	}
}

// TestSpeedsComeTrue checks that the features of speed and harm match the speeds of all running jobs afterwards, not only of
// those that the profile returns as coupled.
func TestSpeedsComeTrue(t *testing.T) {
	e, o := &observe.Standard{Window: 12}, &observe.Observation{}
	spec := e.Spec()
	placed, harmed, relieved := 0, 0, 0
	visit := func(draw *rand.Rand) func(*cluster.State) {
		return func(s *cluster.State) {
			tx, model := s.Txn(), s.Profile()
			list := candidatesIn(s, draw, 6)
			see(t, e, s, list, o)
			for i := range list {
				c := &list[i]
				says := func(name string) float32 { return value(t, &spec, o, "candidate", i, name) }
				before := map[cluster.JobID]float64{}
				for _, id := range s.Running() {
					before[id] = model.Speed(&s.View, id)
				}
				mark := tx.Mark()
				must.Do(t, c.Apply(tx))
				worst, gains := 0.0, false
				for id, speed := range before {
					moves := slices.ContainsFunc(c.Ops, func(p cluster.Proposal) bool { return p.Job == id })
					if moves || s.Phase(id) != cluster.Running {
						continue
					}
					after := model.Speed(&s.View, id)
					worst, gains = max(worst, 1-after/speed), gains || after > speed*1.001
				}
				if math.Abs(worst-float64(says("harm"))) > 1e-5 {
					t.Fatalf("at %v: candidate %+v harms by %v, said %v", s.Now(), c, worst, says("harm"))
				}
				if gains != (says("relief") > 0) && says("relief") > 0.01 {
					t.Fatalf("at %v: candidate %+v relieves: %v, said %v", s.Now(), c, gains, says("relief"))
				}
				if c.Job >= 0 && s.Phase(c.Job) == cluster.Running {
					want := min(max(math.Log2(model.Speed(&s.View, c.Job)/best(s, c.Job))/3, -1), 1)
					if math.Abs(want-float64(says("speed"))) > 1e-5 {
						t.Fatalf("at %v: the speed of candidate %+v is %v, said %v", s.Now(), c, want, says("speed"))
					}
					placed++
				}
				if worst > 0 {
					harmed++
				}
				if gains {
					relieved++
				}
				tx.Rollback(mark)
			}
		}
	}
	for seed := range uint64(4) {
		walk(t, seed, visit(rand.New(rand.NewPCG(seed, 5))))
	}
	if placed < 100 || harmed < 100 || relieved < 100 {
		t.Errorf("%d placed, %d that harm and %d that relieve: too few to tell", placed, harmed, relieved)
	}
}

// headOf returns the first job of the window that cannot start, -1 if there is none.
func headOf(tb testing.TB, spec *observe.Spec, o *observe.Observation) cluster.JobID {
	for k, id := range o.Ids {
		if value(tb, spec, o, "job", k, "startable") == 0 {
			return id
		}
	}
	return -1
}

// best returns the speed of a job as requested on the fastest GPU type that it accepts.
func best(s *cluster.State, id cluster.JobID) float64 {
	f, most := profile.Lookup(s.Spec(id).Model), 0.0
	for _, name := range s.Types() {
		if s.Spec(id).Allows(name) {
			speed := 1.0
			if f != nil {
				speed, _ = f.GPUSpeed(name)
			}
			most = max(most, speed)
		}
	}
	return most
}

// firstHole returns the time until one server has enough free GPUs for the whole job.
func firstHole(s *cluster.State, id cluster.JobID) time.Duration {
	first := time.Duration(math.MaxInt64)
	for i := range s.Servers() {
		v := cluster.ServerID(i)
		n := s.Server(v).GPUs
		if !s.Open(v) || n < s.Spec(id).Workers || !s.Spec(id).Allows(s.Server(v).GPUType) {
			continue
		}
		var free []time.Duration
		for g := range n {
			at := time.Duration(0)
			if s.Failed(v, g) {
				at = math.MaxInt64
			}
			for _, r := range s.Residents(v) {
				if slices.Contains(s.GPUsOn(r, v), g) {
					end := max(s.ExpectedFinish(r)-s.Now(), 0)
					if s.Spec(r).Estimate == 0 {
						end = math.MaxInt64
					}
					at = max(at, end)
				}
			}
			free = append(free, at)
		}
		slices.Sort(free)
		first = min(first, free[s.Spec(id).Workers-1])
	}
	return first
}

// wasted returns how many of the GPUs waiting jobs cannot fill with whole gangs.
func wasted(s *cluster.State, gpus int32) float32 {
	reach := make([]bool, gpus+1)
	reach[0] = true
	for _, id := range s.Pending() {
		for sum := gpus; sum >= s.Spec(id).Workers; sum-- {
			reach[sum] = reach[sum] || reach[sum-s.Spec(id).Workers]
		}
	}
	for n := gpus; ; n-- {
		if reach[n] {
			return float32(gpus - n)
		}
	}
}
