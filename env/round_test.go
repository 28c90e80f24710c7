package env_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

// Every gang whose first claims are enough runs whole on claimants, every other job waits and holds nothing, and the agents
// whose claims are not used are refused. The reference works on sets of claims, job by job.
func TestRoundAgainstPlainRule(t *testing.T) {
	seen := struct{ started, incomplete, surplus bool }{}
	property := func(t *rapid.T) {
		sc := drawScene(t)
		s := sc.build(t, identity(len(sc.servers)))
		spec, ts := encode(drawEncoder(t), s)
		joint := make([]env.Action, spec.Agents)
		crowd := rapid.IntRange(0, spec.Window-1).Draw(t, "crowd") // a job that many claim
		for i := range joint {
			var legal []env.Action
			for a, ok := range ts.Legal(&spec, i) {
				if ok {
					legal = append(legal, env.Action(a))
				}
			}
			joint[i] = rapid.SampledFrom(legal).Draw(t, "action")
			if a := env.Action(1 + crowd*len(spec.Menu)); rapid.Bool().Draw(t, "join") && ts.Legal(&spec, i)[a] {
				joint[i] = a
			}
		}

		type claim struct {
			agent, free, fits int32
			amount            cluster.Amount
		}
		wantStarted := 0
		var wantRefused []int32
		claimed := map[cluster.JobID][]claim{}
		for i, a := range joint {
			if a != env.NoOp {
				k, l := spec.Unpack(a)
				id, server := ts.Window[k], cluster.ServerID(i)
				amount := spec.Menu[l].Of(s.Spec(id).Request)
				claimed[id] = append(claimed[id], claim{int32(i), s.FreeGPUs(server), s.Fits(server, id, amount), amount})
			}
		}
		want := map[cluster.JobID]bool{}
		for id, c := range claimed {
			slices.SortFunc(c, func(a, b claim) int { return cmp.Or(cmp.Compare(b.free, a.free), cmp.Compare(a.agent, b.agent)) })
			workers := int(s.Spec(id).Workers)
			used, total := c[:min(len(c), workers)], 0
			for _, x := range used {
				total += int(x.fits)
			}
			if total >= workers {
				want[id] = true
				wantStarted++
				seen.started = true
				seen.surplus = seen.surplus || len(c) > len(used)
				c = c[len(used):]
			} else {
				seen.incomplete = true
			}
			for _, x := range c {
				wantRefused = append(wantRefused, x.agent)
			}
		}

		tx := s.Begin(nil)
		started, refused := env.NewRound(spec).Apply(tx, ts.Window, joint)
		got := slices.Sorted(slices.Values(refused))
		slices.Sort(wantRefused)
		if started != wantStarted || !slices.Equal(got, wantRefused) {
			t.Fatalf("joint %v: %d started and %v refused, want %d and %v", joint, started, got, wantStarted, wantRefused)
		}
		if len(tx.Ops()) != started {
			t.Fatalf("%d operations for %d starts", len(tx.Ops()), started)
		}
		for id := range claimed {
			p := s.Placement(id)
			if !want[id] {
				if s.Phase(id) != cluster.Pending || len(p) > 0 {
					t.Fatalf("job %d was refused but is %v on %v", id, s.Phase(id), p)
				}
				continue
			}
			if s.Phase(id) != cluster.Running || p.Workers() != s.Spec(id).Workers {
				t.Fatalf("job %d is %v with %d of %d workers", id, s.Phase(id), p.Workers(), s.Spec(id).Workers)
			}
			for _, q := range p {
				if !slices.ContainsFunc(claimed[id], func(c claim) bool { return c.agent == int32(q.Server) && c.amount == q.Amount }) {
					t.Fatalf("job %d runs on server %d, which did not claim it so", id, q.Server)
				}
			}
		}
	}
	all := func() bool { return seen.started && seen.incomplete && seen.surplus }
	for n := 0; n == 0 || n < 20 && !all(); n++ { // few draws may miss a case
		rapid.Check(t, property)
	}
	if !all() {
		t.Errorf("the test has not seen every case: %+v", seen)
	}
}

func TestRoundConflicts(t *testing.T) {
	whole := cluster.Amount{GPUMilli: cluster.WholeGPU}
	for _, c := range []struct {
		name    string
		gpus    []int32
		workers []int32 // of the jobs in the window
		joint   []env.Action
		started int
		refused []int32
		on      [][]int32 // workers by server of every job, nil: it waits
	}{
		{"nobody claims", []int32{2, 2}, []int32{2}, []env.Action{0, 0}, 0, nil, [][]int32{nil}},
		{"one claims all", []int32{2, 2}, []int32{2}, []env.Action{0, 1}, 1, nil, [][]int32{{0, 2}}},
		{"two claim one worker: the lower wins", []int32{2, 2}, []int32{1}, []env.Action{1, 1}, 1, []int32{1}, [][]int32{{1, 0}}},
		{"but the roomier server comes first", []int32{1, 2}, []int32{1}, []env.Action{1, 1}, 1, []int32{0}, [][]int32{{0, 1}}},
		{"two share a pair", []int32{2, 2}, []int32{2}, []env.Action{1, 1}, 1, nil, [][]int32{{1, 1}}},
		{"a gang that stays incomplete", []int32{2, 2}, []int32{4}, []env.Action{1, 0}, 0, []int32{0}, [][]int32{nil}},
		{"two gangs block each other", []int32{1, 1}, []int32{2, 2}, []env.Action{1, 2}, 0, []int32{0, 1}, [][]int32{nil, nil}},
		{"one starts, the other not", []int32{2, 2}, []int32{4, 2}, []env.Action{1, 2}, 1, []int32{0}, [][]int32{nil, {0, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var spec cluster.Spec
			for _, g := range c.gpus {
				spec.Servers = append(spec.Servers, cluster.ServerSpec{GPUs: g, CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited})
			}
			s, err := cluster.NewState(spec, len(c.workers))
			if err != nil {
				t.Fatal(err)
			}
			var window []cluster.JobID
			for i, n := range c.workers {
				s.Submit(cluster.JobID(i), &cluster.JobSpec{Workers: n, Request: whole})
				window = append(window, cluster.JobID(i))
			}
			shape := (&env.StandardEncoder{Window: len(window)}).Spec(len(c.gpus))
			started, refused := env.NewRound(shape).Apply(s.Begin(nil), window, c.joint)
			if started != c.started || !slices.Equal(refused, c.refused) {
				t.Errorf("%d started and %v refused, want %d and %v", started, refused, c.started, c.refused)
			}
			for id, want := range c.on {
				var got []int32
				if s.Phase(cluster.JobID(id)) == cluster.Running {
					got = make([]int32, len(c.gpus))
				}
				for _, p := range s.Placement(cluster.JobID(id)) {
					got[p.Server] = p.Workers
				}
				if !slices.Equal(got, want) {
					t.Errorf("job %d has workers %v, want %v", id, got, want)
				}
			}
		})
	}
}
