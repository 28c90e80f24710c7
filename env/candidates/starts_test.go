package candidates_test

import (
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"pgregory.net/rapid"
)

// spread calls f for every way to place n workers on the servers from the given one on.
func spread(s *cluster.State, at cluster.Placement, from, n int32, f func(cluster.Placement)) {
	if n == 0 {
		f(at)
		return
	}
	for i := from; int(i) < s.Servers(); i++ {
		for k := int32(1); k <= min(n, s.FreeGPUs(cluster.ServerID(i))); k++ {
			p := cluster.Piece{Server: cluster.ServerID(i), Workers: k, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}
			spread(s, append(slices.Clip(at), p), i+1, n-k, f)
		}
	}
}

// what describes a placement: the number of workers, the GPU type, and whether it is within one rack.
type what struct {
	workers int32
	kind    int
	near    bool
}

func describe(s *cluster.State, p cluster.Placement) what {
	return what{p.Workers(), s.TypeOf(p[0].Server), !s.Crosses(p)}
}

// TestABoardFindsWhatASearchFinds compares a board with an exhaustive search over all placements with which a job could start.
// For each GPU type the board must have one on no more servers than the best, one within a rack if there is any, and the fewest
// and the most workers with which an elastic job could start.
func TestABoardFindsWhatASearchFinds(t *testing.T) {
	found := map[string]int{}
	simtest.Many(t, 400, func(t *rapid.T) {
		var spec cluster.Spec
		for range rapid.IntRange(1, 5).Draw(t, "servers") {
			spec.Servers = append(spec.Servers, cluster.ServerSpec{
				Name: "s", GPUs: rapid.Int32Range(1, 3).Draw(t, "gpus"), CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited,
				GPUType: rapid.SampledFrom([]string{"V100", "T4"}).Draw(t, "type"), Rack: rapid.Int32Range(0, 2).Draw(t, "rack"),
			})
			spec.Servers[len(spec.Servers)-1].Name += string(rune('0' + len(spec.Servers)))
		}
		jobs := make([]cluster.JobSpec, rapid.IntRange(1, 5).Draw(t, "jobs"))
		for i := range jobs {
			j := &jobs[i]
			j.Workers, j.Mixed = rapid.Int32Range(1, 5).Draw(t, "workers"), rapid.Bool().Draw(t, "mixed")
			if rapid.Bool().Draw(t, "elastic") {
				j.MinWorkers = rapid.Int32Range(1, j.Workers).Draw(t, "least")
				j.MaxWorkers = rapid.Int32Range(j.Workers, 7).Draw(t, "most")
			}
		}
		s := state(t, spec, jobs...)
		running := rapid.IntRange(0, 2).Draw(t, "running")
		tx := s.Begin(nil)
		for id := range cluster.JobID(min(running, len(jobs)-1)) {
			if p, ok := s.BestFit(id, nil); ok {
				_ = tx.Place(id, p)
			}
		}
		tx.End()
		tx, list := board(t, s, nil)
		defer tx.End()
		for _, id := range slices.Sorted(slices.Values(s.Pending())) {
			spec := s.Spec(id)
			var shown []cluster.Placement
			for i := range list {
				if c := &list[i]; i > 0 && c.Job == id && len(c.Ops) == 1 && c.Ops[0].Kind == cluster.OpPlace {
					shown = append(shown, c.Ops[0].Placement)
				}
			}
			has := func(does func(p cluster.Placement) bool) bool { return slices.ContainsFunc(shown, does) }
			for n := spec.Least(); n <= spec.Most(); n++ {
				spread(s, nil, 0, n, func(p cluster.Placement) {
					mark := tx.Mark()
					if tx.Place(id, p) != nil {
						return
					}
					tx.Rollback(mark)
					want := describe(s, p)
					fail := func(what string) {
						t.Fatalf("job %d could start at %v, and no candidate is %s: %v", id, p, what, shown)
					}
					oneType := func(q cluster.Placement) bool {
						return !slices.ContainsFunc(q, func(v cluster.Piece) bool { return s.TypeOf(v.Server) != want.kind })
					}
					found["sizes"]++
					if !has(func(q cluster.Placement) bool { return q.Workers() <= want.workers }) ||
						!has(func(q cluster.Placement) bool { return q.Workers() >= want.workers }) {
						fail("as small, or none as large")
					}
					if want.workers != spec.Workers {
						return
					}
					if oneType(p) {
						found["types"]++
						if !has(func(q cluster.Placement) bool {
							return q.Workers() == want.workers && oneType(q) && len(q) <= len(p)
						}) {
							fail("of that type on as few servers")
						}
					}
					if want.near && len(p) > 1 {
						found["racks"]++
						if !has(func(q cluster.Placement) bool { return q.Workers() == want.workers && !s.Crosses(q) }) {
							fail("in one rack")
						}
					}
				})
			}
		}
	})
	for _, name := range []string{"sizes", "types", "racks"} {
		if found[name] < 200 {
			t.Errorf("looked at %d %s, want 200 or more", found[name], name)
		}
	}
}

// upTo is a profile by which a job gains speed from workers up to this number, and from CPU up to four cores.
type upTo int32

func (u upTo) Speed(s *cluster.View, id cluster.JobID) float64 {
	p := s.Placement(id)
	cores := float64(min(p[0].CPUMilli, 4000)) / 4000
	return float64(min(p.Workers(), int32(u))) / float64(min(s.Spec(id).Workers, int32(u))) * (0.1 + 0.9*cores)
}

func (upTo) Coupled(*cluster.View, cluster.Placement, []cluster.JobID) []cluster.JobID { return nil }

// TestABoardKnowsTheKneeOfWorkers checks that a board has candidates that start an elastic job at the knee of its speed, with the
// fewest workers and on all idle GPUs.
func TestABoardKnowsTheKneeOfWorkers(t *testing.T) {
	for _, c := range []struct {
		name    string
		profile cluster.Profile
		gpus    int // of the cluster
		want    []int32
	}{
		{"knee", upTo(5), 16, []int32{1, 2, 4, 5, 12}},
		{"all of it", physics.Ideal(), 16, []int32{1, 2, 4, 12}},
		{"all that is idle", upTo(100), 7, []int32{1, 2, 4, 7}},
		{"idle and knee", upTo(3), 7, []int32{1, 2, 3, 4, 7}},
		{"what was asked for does not fit", upTo(3), 1, []int32{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := state(t, cluster.Uniform(1, c.gpus), cluster.JobSpec{Workers: 2, MinWorkers: 1, MaxWorkers: 12})
			s.SetProfile(c.profile)
			tx, list := board(t, s, nil)
			defer tx.End()
			var got []int32
			for i := range list[1:] {
				got = append(got, list[1+i].Ops[0].Placement.Workers())
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, c.want) {
				t.Errorf("candidates with %v workers, want %v", got, c.want)
			}
		})
	}
}

// TestABoardKnowsAmounts checks that a board has candidates that start a job with the CPU at the knee of its speed and with
// shares of GPUs.
func TestABoardKnowsAmounts(t *testing.T) {
	spec := cluster.Uniform(1, 4)
	spec.Servers[0].CPUMilli = 15_000
	s := state(t, spec, cluster.JobSpec{Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 2000}})
	s.SetProfile(upTo(8))
	tx, list := board(t, s, nil)
	defer tx.End()
	cpus, shares := map[int32]bool{}, map[int32]bool{}
	for i := range list {
		for _, op := range list[i].Ops {
			cpus[op.Placement[0].CPUMilli], shares[op.Placement[0].GPUMilli] = true, true
		}
	}
	// At 17 of the 64 steps of the CPU that a worker can have, the speed is 95 % of the best; CPU may cause half of the allowed
	// loss.
	for _, want := range []int32{1000, 2000, 3985, 4000} {
		if !cpus[want] {
			t.Errorf("candidates with CPU of %v, want one with %d", cpus, want)
		}
	}
	for _, want := range []int32{250, 500, 1000} {
		if !shares[want] {
			t.Errorf("candidates with shares of %v, want one with %d", shares, want)
		}
	}
}
