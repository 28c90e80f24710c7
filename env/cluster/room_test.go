package cluster

import (
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// look calls what schedulers may ask about room, and compares the answers with plain loops and with each other.
func (m *machine) look(t *rapid.T) {
	m.foresee(t)
	s, l := m.s, recount(m.s, -1)
	for _, id := range s.pending {
		m.lookAt(t, l, id)
	}
	for _, id := range s.running {
		spec := s.Spec(id)
		for _, v := range serverIDs(s) {
			if got, want := s.Fits(v, id, spec.Request), l.takes(v, spec, spec.Request); got != want {
				t.Fatalf("server %d takes %d more workers of %+v, want %d", v, got, *spec, want)
			}
		}
	}
	for i, a := range s.pending {
		for _, b := range s.pending[:i] {
			if s.Shape(a) != s.Shape(b) {
				continue
			}
			p, fits := s.BestFit(a, nil)
			if q, alike := s.BestFit(b, nil); fits != alike || !slices.Equal(p, q) {
				t.Fatalf("of one shape, job %d goes on %v (%v) and job %d on %v (%v)", a, p, fits, b, q, alike)
			}
		}
	}
}

func (m *machine) lookAt(t *rapid.T, l *ledger, id JobID) {
	s, spec := m.s, m.s.Spec(id)
	amount := spec.Request
	if rapid.Bool().Draw(t, "another amount") {
		amount = drawAmount(t)
	}
	got := make([]int32, s.Servers())
	total := s.Room(id, amount, got)
	if want, sum := room(s, id, amount); !slices.Equal(got, want) || total != sum {
		t.Fatalf("%+v has room for %d, %v; want %d, %v", *spec, total, got, sum, want)
	}
	for _, v := range serverIDs(s) {
		if fits, want := s.Fits(v, id, amount), l.takes(v, spec, amount); fits != want {
			t.Fatalf("server %d takes %d workers of %+v, want %d", v, fits, *spec, want)
		}
		if got, want := s.SameType(id, v, 0), spec.Mixed || s.Server(v).GPUType == s.Server(0).GPUType; got != want {
			t.Fatalf("%+v on servers 0 and %d: same type %v, want %v", *spec, v, got, want)
		}
		name := s.Server(v).GPUType
		if at := s.TypeOf(v); s.Types()[at] != name || (s.TypesFor(id)>>at&1 == 1) != spec.Allows(name) {
			t.Fatalf("%+v on server %d: type %d of %q will do: %b", *spec, v, at, s.Types(), s.TypesFor(id))
		}
	}
	if milli, bound := s.QuotaLeft(id); bound {
		if left, is := l.left(spec.Tenant); milli != left || !is {
			t.Fatalf("tenant %s has %d left, want %d", spec.Tenant, milli, left)
		}
	} else if _, is := l.left(spec.Tenant); is || s.Quota(id) != -1 {
		t.Fatalf("tenant %q has no quota", spec.Tenant)
	}
	// A gang fits as requested if and only if all servers together, or those of one type, have room for it.
	_, fits := s.BestFit(id, nil)
	if total := s.Room(id, spec.Request, got); fits != (total >= int64(spec.Workers)) {
		t.Fatalf("%+v fits: %v, and there is room for %d", *spec, fits, total)
	}
	if s.Countable(s.Shape(id)) && fits != (s.FreeTotal() >= int64(spec.Workers)) {
		t.Fatalf("%+v fits: %v, with %d GPUs free", *spec, fits, s.FreeTotal())
	}
}

// TestCapacityIsRoomOfEmptyCluster checks that Spec.Capacity equals the Room of an empty cluster in which every server is lent.
func TestCapacityIsRoomOfEmptyCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		s := must.Get(NewState(spec, 4))(t)
		for i := range spec.Servers {
			if spec.Servers[i].Pool == Inference {
				s.lend(ServerID(i), true)
			}
		}
		rooms, fits := spec.Rooms(), make([]int32, s.Servers())
		for id := range JobID(s.Jobs()) {
			j := drawJob(t, "j", 0)
			s.Submit(id, j)
			n, total := spec.Capacity(j), s.Room(id, j.Request, fits)
			if (n >= int64(j.Workers)) != (total >= int64(j.Workers)) || j.Together() == 1 && n != total {
				t.Fatalf("capacity %d for %+v, room %d", n, *j, total)
			}
			if again := rooms(j); again != n {
				t.Fatalf("capacity %d for %+v, remembered as %d", n, *j, again)
			}
		}
	})
}

// TestRoom checks Room and BestFit on a cluster with 2 free GPUs of type A on one server and 4 of type B on two servers. A
// further server of type A has failed.
func TestRoom(t *testing.T) {
	spec := of(ServerSpec{GPUs: 2, GPUType: "A"}, ServerSpec{GPUs: 1, GPUType: "B"}, ServerSpec{GPUs: 3, GPUType: "B"},
		ServerSpec{GPUs: 3, GPUType: "A"})
	spec.Quotas = []Quota{{"t", 3}}
	for _, c := range []struct {
		name  string
		job   JobSpec
		fits  []int32
		total int64
		best  Placement
	}{
		{"one worker goes anywhere", JobSpec{Workers: 1}, []int32{2, 1, 3, 0}, 4, Placement{{0, 1, wholeGPU}}},
		{"three go on one type", JobSpec{Workers: 3}, []int32{0, 1, 3, 0}, 4, Placement{{2, 3, wholeGPU}}},
		{"five on no one type", JobSpec{Workers: 5}, []int32{0, 0, 0, 0}, 4, nil},
		{"but mixed", JobSpec{Workers: 5, Mixed: true}, []int32{2, 1, 3, 0}, 6, Placement{{2, 3, wholeGPU}, {0, 2, wholeGPU}}},
		{"three on no type of which there are two", JobSpec{Workers: 3, GPUType: "A"}, []int32{0, 0, 0, 0}, 2, nil},
		{"pairs on pairs of GPUs", JobSpec{Workers: 2, Tensor: 2}, []int32{2, 0, 2, 0}, 2, Placement{{0, 2, wholeGPU}}},
		{"four in pairs nowhere", JobSpec{Workers: 4, Tensor: 2}, []int32{0, 0, 0, 0}, 2, nil},
		{"four in pairs, mixed", JobSpec{Workers: 4, Tensor: 2, Mixed: true}, []int32{2, 0, 2, 0}, 4,
			Placement{{2, 2, wholeGPU}, {0, 2, wholeGPU}}},
		{"up to the quota", JobSpec{Workers: 3, Tenant: "t", Mixed: true}, []int32{2, 1, 3, 0}, 3, Placement{{2, 3, wholeGPU}}},
		{"not beyond", JobSpec{Workers: 4, Tenant: "t", Mixed: true}, []int32{2, 1, 3, 0}, 3, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.job.Request = wholeGPU
			s := with(t, spec, c.job)
			s.Fail(3, -1, nil)
			fits := make([]int32, s.Servers())
			if total := s.Room(0, wholeGPU, fits); total != c.total || !slices.Equal(fits, c.fits) {
				t.Errorf("room for %d, %v; want %d, %v", total, fits, c.total, c.fits)
			}
			if p, ok := s.BestFit(0, nil); ok != (c.best != nil) || ok && !slices.Equal(p, c.best) {
				t.Errorf("best fit %v, %v, want %v", p, ok, c.best)
			}
		})
	}
}

func TestCountable(t *testing.T) {
	plain, types := of(ServerSpec{GPUs: 2}), of(ServerSpec{GPUs: 2, GPUType: "A"}, ServerSpec{GPUs: 2, GPUType: "B"})
	memory := of(ServerSpec{GPUs: 2}, ServerSpec{GPUs: 2, GPUMemMiB: 8})
	quota := of(ServerSpec{GPUs: 2})
	quota.Quotas = []Quota{{"t", 2}}
	limited := of(ServerSpec{GPUs: 2}, ServerSpec{GPUs: 2})
	limited.Servers[1].CPUMilli = 1000
	for _, c := range []struct {
		name string
		spec Spec
		job  JobSpec
		is   bool
	}{
		{"whole GPUs", plain, JobSpec{Request: wholeGPU}, true},
		{"shares are not", plain, JobSpec{Request: halfGPU}, false},
		{"pairs are not", plain, JobSpec{Request: wholeGPU, Tensor: 2}, false},
		{"groups of one are", plain, JobSpec{Request: wholeGPU, Tensor: 1}, true},
		{"one of two types is not", types, JobSpec{Request: wholeGPU}, false},
		{"both types are", types, JobSpec{Request: wholeGPU, Mixed: true}, true},
		{"both by name are", types, JobSpec{Request: wholeGPU, Mixed: true, GPUType: "B|A"}, true},
		{"one by name is not", types, JobSpec{Request: wholeGPU, Mixed: true, GPUType: "B"}, false},
		{"a tenant with a quota is not", quota, JobSpec{Request: wholeGPU, Tenant: "t"}, false},
		{"others are", quota, JobSpec{Request: wholeGPU, Tenant: "u"}, true},
		{"memory on the GPU that is modelled is not", memory, JobSpec{Request: needs(wholeGPU, 4)}, false},
		{"none is", memory, JobSpec{Request: wholeGPU}, true},
		{"memory on the GPU that is not modelled is", plain, JobSpec{Request: needs(wholeGPU, 4)}, true},
		{"CPU that is modelled is not", limited, JobSpec{Request: Amount{GPUMilli: WholeGPU, CPUMilli: 1}}, false},
		{"none is, there", limited, JobSpec{Request: wholeGPU}, true},
	} {
		c.job.Workers = 2
		s := with(t, c.spec, c.job)
		if got := s.Countable(s.Shape(0)); got != c.is {
			t.Errorf("%s: %v, want %v", c.name, got, c.is)
		}
	}
}

// TestShape checks that a job's shape contains all that decides whether it fits, and nothing else.
func TestShape(t *testing.T) {
	spec := of(ServerSpec{GPUs: 2, GPUType: "A"}, ServerSpec{GPUs: 2, GPUType: "B"})
	spec.Quotas = []Quota{{"t", 2}}
	job := JobSpec{Workers: 4, Request: wholeGPU}
	for _, c := range []struct {
		name   string
		change func(*JobSpec)
		same   bool
	}{
		{"nothing", func(*JobSpec) {}, true},
		{"user, model, group and estimate", func(j *JobSpec) { j.User, j.Model, j.Group, j.Estimate = "u", "m", "g", 1 }, true},
		{"bounds of an elastic job", func(j *JobSpec) { j.MinWorkers, j.MaxWorkers = 1, 8 }, true},
		{"a tenant without a quota", func(j *JobSpec) { j.Tenant = "u" }, true},
		{"a tenant with one", func(j *JobSpec) { j.Tenant = "t" }, false},
		{"all types by name", func(j *JobSpec) { j.GPUType = "B|A" }, true},
		{"one type by name", func(j *JobSpec) { j.GPUType = "B" }, false},
		{"several types at once", func(j *JobSpec) { j.Mixed = true }, false},
		{"groups of one", func(j *JobSpec) { j.Tensor = 1 }, true},
		{"pairs", func(j *JobSpec) { j.Tensor = 2 }, false},
		{"workers", func(j *JobSpec) { j.Workers = 5 }, false},
		{"memory on the GPU", func(j *JobSpec) { j.Request.GPUMemMiB = 1 }, false},
	} {
		other := job
		c.change(&other)
		s := with(t, spec, job, other)
		if got := s.Shape(0) == s.Shape(1); got != c.same {
			t.Errorf("another shape by %s: %v, want %v", c.name, !got, !c.same)
		}
	}
}
