package asrpt

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/comm"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// on returns a cluster of servers of 4 GPUs with the given numbers of free GPUs, and a pending job, whose id is the last.
func on(t rapid.TB, free []int32, spec cluster.JobSpec) (tx *cluster.Txn, id cluster.JobID) {
	t.Helper()
	s := must.Get(cluster.NewState(cluster.Uniform(len(free), 4), len(free)+1))(t)
	spec.Request.GPUMilli = cluster.WholeGPU
	id = cluster.JobID(len(free))
	for i, n := range free {
		if n == 4 {
			continue
		}
		filler := spec
		filler.Workers, filler.Stages = 4-n, 0
		s.Submit(cluster.JobID(i), &filler)
		piece := cluster.Piece{Server: cluster.ServerID(i), Workers: 4 - n, Amount: spec.Request}
		var gpus []int32
		for g := range 4 - n {
			gpus = append(gpus, g)
		}
		must.Do(t, s.Restore(cluster.JobID(i), cluster.Placement{piece}, gpus))
	}
	s.Submit(id, &spec)
	return s.Begin(nil), id
}

// TestHeavyEdge checks an example: two stages of two replicas, 20 MB between each pair, rings of 200 and 20 MB. Links are the
// defaults.
func TestHeavyEdge(t *testing.T) {
	const mb = 1e6
	turned := comm.Job{Stages: []comm.Stage{
		{Replicas: 2, Compute: 0.08, Params: 10 * mb, Activations: 40 * mb},
		{Replicas: 2, Compute: 0.10, Params: 100 * mb},
	}}
	example := comm.Job{Stages: []comm.Stage{
		{Replicas: 2, Compute: 0.10, Params: 100 * mb, Activations: 40 * mb},
		{Replicas: 2, Compute: 0.08, Params: 10 * mb},
	}}
	for _, c := range []struct {
		name  string
		job   comm.Job
		free  []int32
		want  []int32 // server, workers of each piece
		alpha float64
		cut   float64
	}{
		{"on one server", example, []int32{4, 4}, []int32{0, 4}, 0.1112, 0},
		{"a stage on each server", example, []int32{2, 2}, []int32{0, 2, 1, 2}, 0.236, 80 * mb},
		{"the last stage first, whose edges are heavier, so its server last", turned, []int32{2, 2}, []int32{1, 2, 0, 2},
			0.236, 80 * mb},
		{"three and one", example, []int32{3, 1}, []int32{0, 3, 1, 1}, 0.240, 60 * mb},
		{"the fullest that does", example, []int32{1, 3, 2, 1}, []int32{1, 3, 0, 1}, 0.240, 60 * mb},
		{"no room", example, []int32{1, 1, 0, 1}, nil, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tx, id := on(t, c.free, cluster.JobSpec{Model: "example", Workers: 4, Stages: 2})
			s, job := tx.View(), c.job
			h := newHeavyEdge()
			key := patternOf(s, s.Spec(id), 4)
			best, _ := comm.Best(job, 4, links)
			worst, _ := comm.Worst(job, 4, links)
			if math.Abs(best-0.1112) > 1e-9 || math.Abs(worst-0.548) > 1e-9 {
				t.Errorf("α from %v to %v, want 0.1112 to 0.548", best, worst)
			}
			h.beliefs.known[key] = &alphas{job, best, worst}
			ok, err := h.Place(tx, id)
			if err != nil || ok != (c.want != nil) {
				t.Fatalf("placed %v, %v", ok, err)
			}
			if !ok {
				if len(tx.Ops()) > 0 {
					t.Errorf("refused with operations %v", tx.Ops())
				}
				return
			}
			var got, workers []int32
			for _, p := range s.Placement(id) {
				got = append(got, int32(p.Server), p.Workers)
				workers = append(workers, p.Workers)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("servers and workers %v, want %v", got, c.want)
			}
			x := must.Get(comm.Ranks(nil, job, workers))(t)
			if cut := comm.Cut(job, x); math.Abs(cut-c.cut) > 1 {
				t.Errorf("cut %v, want %v", cut, c.cut)
			}
			if alpha := h.beliefs.slowdown(s, s.Spec(id), s.Placement(id)) * best; math.Abs(alpha-c.alpha) > 1e-9 {
				t.Errorf("α %v, want %v", alpha, c.alpha)
			}
		})
	}
}

// TestHeavyEdgeUsesFewServers checks that the placer uses the servers of BestFit, and never more than necessary.
func TestHeavyEdgeUsesFewServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.SliceOfN(rapid.Int32Range(0, 4), 1, 6).Draw(t, "free")
		spec := cluster.JobSpec{Model: "bert-large", Stages: rapid.Int32Range(1, 3).Draw(t, "stages")}
		spec.Workers = spec.Stages * rapid.Int32Range(1, 5).Draw(t, "replicas")
		byRoom := slices.Sorted(slices.Values(free))
		need, sum := 0, int32(0)
		for need < len(free) && sum < spec.Workers {
			need++
			sum += byRoom[len(byRoom)-need]
		}
		tx, id := on(t, free, spec)
		s := tx.View()
		best, fits := s.BestFit(id, nil)
		ok, err := NewHeavyEdge().Place(tx, id)
		if err != nil || ok != fits {
			t.Fatalf("placed %v, %v, on %v", ok, err, best)
		}
		if !ok {
			return
		}
		p := slices.Clone(s.Placement(id))
		if len(p) > need || p.Workers() != spec.Workers {
			t.Fatalf("%d workers on %v, want on %d servers", spec.Workers, p, need)
		}
		by := func(a, b cluster.Piece) int { return int(a.Server - b.Server) }
		slices.SortFunc(p, by)
		slices.SortFunc(best, by)
		if !slices.Equal(p, best) {
			t.Fatalf("pieces %v, want those of %v", p, best)
		}
	})
}

func drawGraph(rng *rand.Rand) (job comm.Job, workers, gpus []int32) {
	job.Tensor = 1 + rng.Int32N(2)
	for range 1 + rng.IntN(5) {
		job.Stages = append(job.Stages, comm.Stage{
			Replicas: 1 + rng.Int32N(4), Compute: 0.1, Params: float64(rng.IntN(4)) * 1e8, Activations: float64(rng.IntN(4)) * 1e8,
		})
	}
	for left := int32(job.GPUs()) / job.Tensor; left > 0; {
		n := min(left, 1+rng.Int32N(4))
		if len(workers) == 4 {
			n = left
		}
		workers, gpus = append(workers, n*job.Tensor), append(gpus, max(8, n*job.Tensor))
		left -= n
	}
	return job, workers, gpus
}

// permute calls do with every order of n elements.
func permute(n int, do func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var from func(int)
	from = func(k int) {
		if k == n {
			do(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			from(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	from(0)
}

// TestOrderSaysHeavyEdges checks that the order of pieces expresses the mapping by heavy edges whenever any order does. For the
// other cases it checks that the order is no slower than that in which the servers were chosen, and on average close to the
// fastest of all orders.
func TestOrderSaysHeavyEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var a arranger
	const instances = 2000
	exactly, chosen, fastest := 0, 0.0, 0.0
	for range instances {
		job, workers, gpus := drawGraph(rng)
		a.workers, a.gpus = workers, gpus
		exact := a.order(job, links)
		n := len(workers)
		heavy := must.Get(comm.HeavyEdge(nil, job, workers))(t)
		says := func(order []int) (same bool, alpha float64) {
			w, g := make([]int32, n), make([]int32, n)
			for rank, m := range order {
				w[rank], g[rank] = workers[m], gpus[m]
			}
			x := must.Get(comm.Ranks(nil, job, w))(t)
			same = true
			for s := range job.Stages {
				for rank, m := range order {
					same = same && x[s*n+rank] == heavy[s*n+m]
				}
			}
			return same, comm.Alpha(job, x, links, g, nil)
		}
		any, least, asChosen := false, math.Inf(1), 0.0
		permute(n, func(order []int) {
			same, alpha := says(order)
			any = any || same
			least = min(least, alpha)
			if slices.IsSorted(order) {
				asChosen = alpha
			}
		})
		if !slices.Equal(slices.Sorted(slices.Values(a.best)), []int{0, 1, 2, 3, 4}[:n]) {
			t.Fatalf("order %v of %d pieces", a.best, n)
		}
		same, alpha := says(a.best)
		if exact != any || same != exact {
			t.Fatalf("%+v on %v: order %v says %v, exact %v, some order does %v", job, workers, a.best, same, exact, any)
		}
		if exact {
			exactly++
			continue
		}
		if alpha > asChosen {
			t.Fatalf("%+v on %v: order %v takes %v, as chosen %v", job, workers, a.best, alpha, asChosen)
		}
		chosen, fastest = chosen+alpha, fastest+least
	}
	t.Logf("%d of %d exactly; of the others %.3f of the time of the fastest order", exactly, instances, chosen/fastest)
	if chosen > 1.1*fastest {
		t.Errorf("iterations of %v in all where no order is exact, of the fastest orders %v", chosen, fastest)
	}
}

// TestBeliefsAreTheNetwork checks that the scheduler's model of communication agrees with the network of the physics, wherever
// jobs run.
func TestBeliefsAreTheNetwork(t *testing.T) {
	model := must.Get(physics.Parse(network))(t)
	b := newBeliefs()
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.SliceOfN(rapid.Int32Range(0, 4), 1, 6).Draw(t, "free")
		spec := cluster.JobSpec{
			Model:  rapid.SampledFrom(models).Draw(t, "model"),
			Stages: rapid.Int32Range(0, 2).Draw(t, "stages"), Tensor: rapid.Int32Range(0, 2).Draw(t, "tensor"),
		}
		spec.Workers = max(spec.Stages, 1) * max(spec.Tensor, 1) * rapid.Int32Range(1, 3).Draw(t, "replicas")
		filler := spec
		filler.Tensor = 0
		tx, id := on(t, free, filler)
		s := tx.View()
		*s.Spec(id) = spec
		spec.Request.GPUMilli = cluster.WholeGPU
		*s.Spec(id) = spec
		if ok, err := (&placement.BestFit{}).Place(tx, id); err != nil || !ok {
			t.Skip()
		}
		got, want := 1/b.slowdown(s, &spec, s.Placement(id)), model.Speed(s, id)
		if math.Abs(got-want) > 1e-9 && !(got > 1 && want == 1) {
			t.Fatalf("speed %v, want %v", got, want)
		}
	})
}
