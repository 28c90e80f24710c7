package cluster

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// drawSpec draws a small cluster: servers of 0 to 6 GPUs and now and then more than a word of bits, CPU and memory modelled
// or not, both pools.
func drawSpec(t *rapid.T) Spec {
	limit := rapid.OneOf(rapid.Just(int64(Unlimited)), rapid.Int64Range(0, 12))
	servers := make([]ServerSpec, rapid.IntRange(1, 5).Draw(t, "servers"))
	for i := range servers {
		servers[i] = ServerSpec{
			Name: fmt.Sprintf("s%d", i), GPUs: rapid.Int32Range(0, 6).Draw(t, "GPUs"),
			CPUMilli: limit.Draw(t, "CPU"), MemMiB: limit.Draw(t, "memory"),
		}
		switch rapid.IntRange(0, 9).Draw(t, "kind of server") {
		case 0:
			servers[i].GPUs = 67
		case 1, 2:
			servers[i].Pool = Inference
		}
	}
	return Spec{Servers: servers}
}

func drawAmount(t *rapid.T) Amount {
	a := Amount{GPUMilli: WholeGPU}
	if rapid.Bool().Draw(t, "share of a GPU") {
		a.GPUMilli = rapid.SampledFrom([]int32{1, 250, 333, 500, 999}).Draw(t, "GPU milli")
	}
	if rapid.Bool().Draw(t, "CPU and memory") {
		a.CPUMilli, a.MemMiB = rapid.Int32Range(0, 4).Draw(t, "CPU milli"), rapid.Int32Range(0, 4).Draw(t, "MiB")
	}
	return a
}

func drawJob(t *rapid.T, name string, submit time.Duration) *JobSpec {
	j := &JobSpec{
		Name: name, Submit: submit, Workers: rapid.Int32Range(1, 6).Draw(t, "workers"), Request: drawAmount(t),
		Estimate: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "estimate")),
	}
	if rapid.Bool().Draw(t, "elastic") {
		j.MinWorkers = rapid.Int32Range(1, j.Workers).Draw(t, "least")
		j.MaxWorkers = rapid.Int32Range(j.Workers, 9).Draw(t, "most")
	}
	return j
}

// drawPlacement draws a placement that is often feasible: pieces of what fits, in random order and number, and now and then
// something that no state allows.
func drawPlacement(t *rapid.T, s *State, id JobID) Placement {
	var p Placement
	spec := s.Spec(id)
	left := rapid.Int32Range(spec.Least(), spec.Most()).Draw(t, "gang")
	amount := spec.Request
	if rapid.IntRange(0, 3).Draw(t, "another amount") == 0 {
		amount = drawAmount(t)
	}
	order := rapid.Permutation(serverIDs(s)).Draw(t, "order")
	for _, v := range order {
		fits := min(s.Fits(v, id, amount), left)
		if fits == 0 {
			continue
		}
		n := rapid.Int32Range(1, fits).Draw(t, "piece")
		p = append(p, Piece{Server: v, Workers: n, Amount: amount})
		if left -= n; left == 0 {
			break
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "spoil") == 0 {
		p = append(p, Piece{
			Server:  ServerID(rapid.IntRange(-1, s.Servers()).Draw(t, "any server")),
			Workers: rapid.Int32Range(-1, 7).Draw(t, "any workers"),
			Amount:  Amount{rapid.Int32Range(-1, 1001).Draw(t, "any share"), rapid.Int32Range(-1, 5).Draw(t, "any CPU"), 0, 0},
		})
	}
	return p
}

func serverIDs(s *State) []ServerID {
	ids := make([]ServerID, s.Servers())
	for i := range ids {
		ids[i] = ServerID(i)
	}
	return ids
}

// ledger is what every server has left, recomputed from the placements alone.
type ledger struct {
	used     [][]int32
	cpu, mem []int64
	jobs     [][]JobID
}

func recount(s *State) ledger {
	n := s.Servers()
	l := ledger{make([][]int32, n), make([]int64, n), make([]int64, n), make([][]JobID, n)}
	for i := range l.used {
		v := s.Server(ServerID(i))
		l.used[i], l.cpu[i], l.mem[i] = make([]int32, v.GPUs), v.CPUMilli, v.MemMiB
	}
	for i := range s.Jobs() {
		id := JobID(i)
		gpus := s.GPUs(id)
		for _, p := range s.Placement(id) {
			for range p.Workers {
				l.used[p.Server][gpus[0]] += p.GPUMilli
				gpus = gpus[1:]
				l.cpu[p.Server] -= int64(p.CPUMilli)
				l.mem[p.Server] -= int64(p.MemMiB)
			}
			l.jobs[p.Server] = append(l.jobs[p.Server], id)
		}
	}
	return l
}

// takes counts the workers that a server could take, one by one.
func (l *ledger) takes(s *State, id ServerID, a Amount) int32 {
	n := int32(0)
	if v := s.Server(id); v.Pool == Inference && !s.OnLoan(id) {
		return 0
	}
	cpu, mem := l.cpu[id], l.mem[id]
	for _, u := range l.used[id] {
		if u+a.GPUMilli <= WholeGPU && cpu >= int64(a.CPUMilli) && mem >= int64(a.MemMiB) {
			n, cpu, mem = n+1, cpu-int64(a.CPUMilli), mem-int64(a.MemMiB)
		}
	}
	return n
}

func (l *ledger) idle(id ServerID) int32 {
	n := int32(0)
	for _, u := range l.used[id] {
		if u == 0 {
			n++
		}
	}
	return n
}

// allows is feasibility by plain loops. without is a job whose pieces do not count, -1 for none.
func allows(s *State, id JobID, p Placement, without JobID) bool {
	l := recount(s)
	if without >= 0 {
		gpus := s.GPUs(without)
		for _, q := range s.Placement(without) {
			for range q.Workers {
				l.used[q.Server][gpus[0]] -= q.GPUMilli
				gpus = gpus[1:]
				l.cpu[q.Server] += int64(q.CPUMilli)
				l.mem[q.Server] += int64(q.MemMiB)
			}
		}
	}
	gang, seen := int32(0), map[ServerID]bool{}
	for _, q := range p {
		if q.Server < 0 || int(q.Server) >= s.Servers() || seen[q.Server] {
			return false
		}
		if q.Workers < 1 || q.GPUMilli < 1 || q.GPUMilli > 1000 || q.CPUMilli < 0 || q.MemMiB < 0 {
			return false
		}
		if l.takes(s, q.Server, q.Amount) < q.Workers {
			return false
		}
		seen[q.Server] = true
		gang += q.Workers
	}
	return gang >= s.Spec(id).Least() && gang <= s.Spec(id).Most()
}

// conserve holds the state's counters and index to the ledger.
func conserve(t rapid.TB, s *State) {
	t.Helper()
	l := recount(s)
	index := newIndex(s.Servers(), int(s.MostGPUs()))
	for i := range s.servers {
		id, v := ServerID(i), &s.servers[i]
		for g, u := range l.used[i] {
			if u > WholeGPU || int32(v.used[g]) != u || (v.free[g/64]>>(g%64)&1 == 1) != (u == 0) {
				t.Fatalf("server %d GPU %d: %d in use, free bits %b; the placements hold %d", i, g, v.used[g], v.free, u)
			}
		}
		if v.freeCPU != l.cpu[i] || v.freeMem != l.mem[i] || v.freeCPU < 0 || v.freeMem < 0 {
			t.Fatalf("server %d: %d CPU, %d MiB free; the placements leave %d and %d", i, v.freeCPU, v.freeMem, l.cpu[i], l.mem[i])
		}
		if v.freeWhole != l.idle(id) {
			t.Fatalf("server %d: %d idle GPUs, the placements leave %d", i, v.freeWhole, l.idle(id))
		}
		if !slices.Equal(v.residents, l.jobs[i]) {
			t.Fatalf("server %d: residents %v, want %v", i, v.residents, l.jobs[i])
		}
		if v.spec.Pool == Training || v.onLoan {
			index.add(id, l.idle(id))
		} else if len(l.jobs[i]) > 0 {
			t.Fatalf("server %d is closed and runs %v", i, l.jobs[i])
		}
	}
	if !reflect.DeepEqual(index, s.index) {
		t.Fatalf("index %+v, want %+v", s.index, index)
	}
	whole(t, s)
}

// whole holds every gang to run entirely or not at all, and the lists of jobs to their phases.
func whole(t rapid.TB, s *State) {
	t.Helper()
	listed := 0
	for i := range s.jobs {
		j := &s.jobs[i]
		var list []JobID
		switch j.phase {
		case Pending:
			list = s.pending
		case Running:
			list = s.running
		}
		if list != nil {
			if listed++; list[j.at] != JobID(i) {
				t.Fatalf("job %d is not at %d of %v", i, j.at, list)
			}
		}
		gang := j.pieces.Workers()
		if j.phase != Running && (gang != 0 || len(j.gpus) != 0) {
			t.Fatalf("job %d is %v and holds %v, GPUs %v", i, j.phase, j.pieces, j.gpus)
		}
		if j.phase == Running && (gang < j.spec.Least() || gang > j.spec.Most() || len(j.gpus) != int(gang)) {
			t.Fatalf("job %d runs with %d workers on %d GPUs, want %d to %d", i, gang, len(j.gpus), j.spec.Least(), j.spec.Most())
		}
	}
	if listed != len(s.pending)+len(s.running) {
		t.Fatalf("pending %v and running %v list other than %d jobs", s.pending, s.running, listed)
	}
}

// picture is all of a state that anybody can see, storage not shared.
type picture struct {
	Now              time.Duration
	Servers          []server
	Index            index
	Jobs             []job
	Pending, Running []JobID
}

func portray(s *State) picture {
	p := picture{
		s.now, slices.Clone(s.servers), s.index, slices.Clone(s.jobs),
		append([]JobID{}, s.pending...), append([]JobID{}, s.running...),
	}
	for i := range p.Servers {
		v := &p.Servers[i]
		v.free, v.used, v.residents = slices.Clone(v.free), slices.Clone(v.used), append([]JobID{}, v.residents...)
	}
	p.Index.count, p.Index.some = slices.Clone(p.Index.count), slices.Clone(p.Index.some)
	p.Index.of = make([][]uint64, len(s.index.of))
	for i := range p.Index.of {
		p.Index.of[i] = slices.Clone(s.index.of[i])
	}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		j.pieces, j.gpus = append(Placement{}, j.pieces...), append([]int32{}, j.gpus...)
	}
	return p
}

// bestFit is BestFit by plain loops over all servers.
func bestFit(s *State, id JobID) (Placement, bool) {
	l, spec := recount(s), s.Spec(id)
	var p Placement
	used := map[ServerID]bool{}
	for left := spec.Workers; left > 0; {
		best, whole := ServerID(-1), false
		for _, v := range serverIDs(s) {
			fits := l.takes(s, v, spec.Request)
			if fits == 0 || used[v] {
				continue
			}
			switch all := fits >= left; {
			case best < 0, all && !whole, all && whole && l.idle(v) < l.idle(best), !all && !whole && l.idle(v) > l.idle(best):
				best, whole = v, all
			}
		}
		if best < 0 {
			return nil, false
		}
		used[best] = true
		n := min(left, l.takes(s, best, spec.Request))
		p, left = append(p, Piece{best, n, spec.Request}), left-n
	}
	return p, true
}
