package env_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// What items say of the head and of waste is what plain loops find once the job stands there.
func TestForesightAgainstPlainLoops(t *testing.T) {
	e := &env.StandardEncoder{Window: 12, Menu: halves}
	spec := e.Spec(12)
	ts := env.NewTimeStep(&spec)
	var shadow cluster.Shadow
	seen := struct{ delays, blocks, waste int }{}
	visit := func(s *cluster.State) {
		e.Encode(s, ts)
		head := headOf(t, &spec, ts)
		for row := range slices.Chunk(legalItems(&spec, ts), 3) {
			i, k, l := row[0], row[1], row[2]
			id, server := ts.Window[k], cluster.ServerID(i)
			amount, workers := spec.Menu[l].Of(s.Spec(id).Request), s.Spec(id).Workers
			if s.Fits(server, id, amount) < workers {
				continue
			}
			at := ts.Items[(i*spec.Items()+k*len(spec.Menu)+l)*len(spec.Item):]
			says := func(name string) float32 { return read(t, spec.Item, at, name) }
			tx, mark := s.Txn(), s.Txn().Mark()
			var wait, hole time.Duration
			if head >= 0 {
				wait, hole = shadow.Wait(s, head), firstHole(s, head)
			}
			if err := tx.Place(id, cluster.Placement{{Server: server, Workers: workers, Amount: amount}}); err != nil {
				t.Fatal(err)
			}
			if want := wasted(s, s.FreeGPUs(server)) / float32(s.Server(server).GPUs); says("waste") != want {
				t.Fatalf("at %v: job %d on server %d wastes %v, said %v", s.Now(), id, i, want, says("waste"))
			} else if want > 0 {
				seen.waste++
			}
			// The shadow passes over jobs without estimates, and takes shares for free GPUs.
			if head >= 0 && wait > 0 && amount.GPUMilli == cluster.WholeGPU && s.Spec(id).Estimate > 0 {
				later := shadow.Wait(s, head)
				if want := logTime(later - wait); says("delays") != want && later > 0 {
					t.Fatalf("at %v: job %d on server %d delays job %d by %v, said %v", s.Now(), id, i, head, want, says("delays"))
				} else if want > 0 {
					seen.delays++
				}
			}
			if head >= 0 && hole < math.MaxInt64 {
				want := logTime(firstHole(s, head) - hole)
				if says("blocks") != want {
					t.Fatalf("at %v: job %d on server %d blocks job %d by %v, said %v", s.Now(), id, i, head, want, says("blocks"))
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

// headOf is the first job of the window that cannot start, -1 if none.
func headOf(tb testing.TB, spec *env.Spec, ts *env.TimeStep) cluster.JobID {
	for k, id := range ts.Window {
		if id >= 0 && value(tb, spec, ts, "job", k, "startable") == 0 {
			return id
		}
	}
	return -1
}

// firstHole is how long it takes until a server could hold the job alone, by its GPUs.
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

// wasted is how many of the GPUs whole waiting jobs cannot fill.
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
