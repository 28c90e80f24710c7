package cluster

import (
	"reflect"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// conserve checks the state's counters, lists and index against the ledger, and the placements against every limit.
func conserve(t rapid.TB, s *State) {
	t.Helper()
	l := recount(s, -1)
	index := newIndex(s.Servers(), int(s.MostGPUs()))
	for i := range s.servers {
		id, v := ServerID(i), &s.servers[i]
		conserveGPUs(t, l, id)
		if v.freeCPU != l.cpu[i] || v.freeMem != l.mem[i] || v.freeCPU < 0 || v.freeMem < 0 {
			t.Fatalf("server %d: %d CPU, %d MiB free; the placements leave %d and %d", i, v.freeCPU, v.freeMem, l.cpu[i], l.mem[i])
		}
		if !slices.Equal(v.residents, l.jobs[i]) {
			t.Fatalf("server %d: residents %v, want %v", i, v.residents, l.jobs[i])
		}
		if s.Open(id) != l.open(id) {
			t.Fatalf("server %d: open %v, want %v", i, s.Open(id), l.open(id))
		}
		if l.open(id) {
			index.add(id, l.idle(id))
		} else if len(l.jobs[i]) > 0 {
			t.Fatalf("server %d is closed and runs %v", i, l.jobs[i])
		}
	}
	if !reflect.DeepEqual(index, s.index) || s.FreeTotal() != l.free() {
		t.Fatalf("%d free, index %+v, want %d, %+v", s.FreeTotal(), s.index, l.free(), index)
	}
	if got, want := s.Total(), l.total(); got != want {
		t.Fatalf("open servers have %+v, want %+v", got, want)
	}
	if owed, _ := s.Owed(); s.Lent() != l.lent() || owed != max(l.lent()-s.Offer(), 0) {
		t.Fatalf("%d lent, %d owed, want %d of %d offered", s.Lent(), owed, l.lent(), s.Offer())
	}
	for _, q := range s.tenants {
		if q.used != l.held[q.name] || q.used > q.limit {
			t.Fatalf("tenant %s uses %d of %d, the placements hold %d", q.name, q.used, q.limit, l.held[q.name])
		}
	}
	for rack := range int32(len(s.crossing)) {
		if got, want := s.Crossing(rack), l.crossing(rack); rack > 0 && !slices.Equal(got, want) {
			t.Fatalf("rack %d: jobs %v cross, want %v", rack, got, want)
		}
	}
	conserveGangs(t, s)
}

func conserveGPUs(t rapid.TB, l *ledger, id ServerID) {
	t.Helper()
	v := &l.s.servers[id]
	shared, working := int32(0), v.spec.GPUs
	for g, u := range l.used[id] {
		if u > WholeGPU || int32(v.used[g]) != u || (v.free[g/64]>>(g%64)&1 == 1) != (u == 0) {
			t.Fatalf("server %d GPU %d: %d in use, free bits %b; the placements hold %d", id, g, v.used[g], v.free, u)
		}
		n := l.sharers[id][g]
		if n > v.perGPU || l.s.Failed(id, int32(g)) && n > 0 {
			t.Fatalf("server %d GPU %d: %d workers share it, out of order %v", id, g, n, l.s.Failed(id, int32(g)))
		}
		if n > 1 {
			shared++
		}
		if l.s.Failed(id, int32(g)) {
			working--
			n = 1 // the worker has the GPU to itself
		}
		if int32(v.jobs[g]) != n {
			t.Fatalf("server %d GPU %d: %d jobs, the placements put %d", id, g, v.jobs[g], n)
		}
		if m := l.gpuMem[id][g]; v.gpuMem != nil && (v.gpuMem[g] != m || m > v.spec.GPUMemMiB) {
			t.Fatalf("server %d GPU %d: %d of %d MiB in use; the placements hold %d", id, g, v.gpuMem[g], v.spec.GPUMemMiB, m)
		}
	}
	if v.freeWhole != l.idle(id) || l.s.Shared(id) != shared || l.s.Working(id) != working {
		t.Fatalf("server %d: %d idle GPUs, %d shared, %d in order; want %d, %d and %d",
			id, v.freeWhole, l.s.Shared(id), l.s.Working(id), l.idle(id), shared, working)
	}
}

// conserveGangs checks that every gang runs entirely or not at all, with its groups on one server each and on acceptable GPUs,
// and that the lists of jobs match their phases.
func conserveGangs(t rapid.TB, s *State) {
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
		if j.phase != Running {
			if gang != 0 || len(j.gpus) != 0 {
				t.Fatalf("job %d is %v and holds %v, GPUs %v", i, j.phase, j.pieces, j.gpus)
			}
			continue
		}
		if gang < j.spec.Least() || gang > j.spec.Most() || len(j.gpus) != int(gang) {
			t.Fatalf("job %d runs with %d workers on %d GPUs, want %d to %d", i, gang, len(j.gpus), j.spec.Least(), j.spec.Most())
		}
		racks, on := map[int32]bool{}, []int32(nil)
		for _, p := range j.pieces {
			racks[s.Server(p.Server).Rack] = true
			if p.Workers%j.spec.Together() != 0 || !j.spec.Allows(s.Server(p.Server).GPUType) || p.GPUMemMiB < j.spec.Request.GPUMemMiB {
				t.Fatalf("job %d, %+v, holds %+v of %+v", i, *j.spec, p, *s.Server(p.Server))
			}
			on = append(on, s.GPUsOn(JobID(i), p.Server)...)
		}
		if n := typesOf(s, j.pieces); n > 1 && !j.spec.Mixed {
			t.Fatalf("job %d holds GPUs of %d types in %v", i, n, j.pieces)
		}
		if s.Crosses(j.pieces) != (len(racks) > 1) || !slices.Equal(on, j.gpus) {
			t.Fatalf("job %d crosses %v, in racks %v, on GPUs %v, want %v", i, s.Crosses(j.pieces), racks, on, j.gpus)
		}
	}
	if listed != len(s.pending)+len(s.running) {
		t.Fatalf("pending %v and running %v list other than %d jobs", s.pending, s.running, listed)
	}
}

// picture is a copy of everything in a state that callers can observe. It shares no memory with the state.
type picture struct {
	Now              time.Duration
	Servers          []server
	Index            index
	Jobs             []job
	Pending, Running []JobID
	Tenants          []tenant
	Lending          lending
	Crossing         [][]JobID
}

// own copies a list. The copy of an empty list is empty and never nil, so that pictures can be compared.
func own[T any](list []T) []T { return append([]T{}, list...) }

func portray(s *State) picture {
	p := picture{
		s.now, own(s.servers), s.index, own(s.jobs), own(s.pending), own(s.running), own(s.tenants), s.lending, own(s.crossing),
	}
	for i := range p.Servers {
		v := &p.Servers[i]
		v.free, v.used, v.jobs, v.residents = own(v.free), own(v.used), own(v.jobs), own(v.residents)
		v.gpuMem, v.failed = own(v.gpuMem), own(v.failed)
	}
	p.Index.count, p.Index.some = own(p.Index.count), own(p.Index.some)
	p.Index.of = own(s.index.of)
	for i := range p.Index.of {
		p.Index.of[i] = own(s.index.of[i])
	}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		j.pieces, j.gpus = own(j.pieces), own(j.gpus)
		if j.readings != nil {
			all := own(*j.readings)
			j.readings = &all
		}
	}
	for i := range p.Crossing {
		p.Crossing[i] = own(p.Crossing[i])
	}
	return p
}
