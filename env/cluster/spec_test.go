package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSpecValidate(t *testing.T) {
	manyTypes := make([]ServerSpec, maxTypes+1)
	for i := range manyTypes {
		manyTypes[i] = ServerSpec{GPUs: 1, GPUType: fmt.Sprint(i)}
	}
	with := func(s Spec, change func(*Spec)) Spec { change(&s); return s }
	one := func(v ServerSpec) Spec { return of(v) }
	for _, c := range []struct {
		name string
		spec Spec
		want string // "" if it is valid
	}{
		{"no servers", Spec{}, "cluster has no servers, want at least 1"},
		{"as many types as there may be", of(manyTypes[1:]...), ""},
		{"one type more", of(manyTypes...), "cluster has 17 types of GPUs, want at most 16"},
		{"fewer than no jobs on a GPU", with(Uniform(1, 1), func(s *Spec) { s.PerGPU = -1 }),
			"cluster allows -1 jobs on a GPU, want 0 (as their shares allow) to 1000"},
		{"more jobs on a GPU than shares", with(Uniform(1, 1), func(s *Spec) { s.PerGPU = 1001 }),
			"cluster allows 1001 jobs on a GPU, want 0 (as their shares allow) to 1000"},
		{"quotas", with(Uniform(1, 1), func(s *Spec) { s.Quotas = []Quota{{"t", 0}, {"u", 9}, {"", 1}} }), ""},
		{"a quota below 0", with(Uniform(1, 1), func(s *Spec) { s.Quotas = []Quota{{"t", -1}} }),
			`quota 0: -1 GPUs for tenant "t", want 0 or more and each tenant once`},
		{"a tenant of two quotas", with(Uniform(1, 1), func(s *Spec) { s.Quotas = []Quota{{"t", 1}, {"u", 1}, {"t", 2}} }),
			`quota 2: 2 GPUs for tenant "t", want 0 or more and each tenant once`},
		{"GPU memory below 0", one(ServerSpec{GPUs: 1, GPUMemMiB: -1}),
			`server 0 (s0): -1 MiB a GPU, rack 0, GPU type "": want 0 or more, 0 to 65536 and one type`},
		{"a rack below 0", one(ServerSpec{GPUs: 1, Rack: -1}), `server 0 (s0): 0 MiB a GPU, rack -1, GPU type ""`},
		{"the last rack", one(ServerSpec{GPUs: 1, Rack: MaxRacks}), ""},
		{"a rack beyond", one(ServerSpec{GPUs: 1, Rack: MaxRacks + 1}), `server 0 (s0): 0 MiB a GPU, rack 65537, GPU type ""`},
		{"a server of two types", one(ServerSpec{GPUs: 1, GPUType: "A|B"}), `server 0 (s0): 0 MiB a GPU, rack 0, GPU type "A|B"`},
	} {
		err := c.spec.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestJobValidate(t *testing.T) {
	for _, c := range []struct {
		name string
		job  JobSpec
		want string // "" if it is valid
	}{
		{"pairs in two stages", JobSpec{Workers: 8, Tensor: 2, Stages: 2}, ""},
		{"half a pair", JobSpec{Workers: 3, Tensor: 2}, "job j: 3 workers in 0 stages of 2 tensor-parallel ones, want a multiple of stages x tensor"},
		{"half a stage", JobSpec{Workers: 6, Tensor: 2, Stages: 2}, "job j: 6 workers in 2 stages of 2 tensor-parallel ones"},
		{"groups below 0", JobSpec{Workers: 2, Tensor: -1}, "job j: 2 workers in 0 stages of -1 tensor-parallel ones"},
		{"stages below 0", JobSpec{Workers: 2, Stages: -2}, "job j: 2 workers in -2 stages of 0 tensor-parallel ones"},
		{"stages x tensor beyond 32 bits", JobSpec{Workers: 2, Stages: 1 << 18, Tensor: 1 << 14},
			"job j: 2 workers in 262144 stages of 16384 tensor-parallel ones"},
		{"an elastic job in groups", JobSpec{Workers: 4, MaxWorkers: 8, Tensor: 2},
			"job j: 4 to 8 workers in 0 stages of 2: want a rigid gang where workers have roles"},
		{"an elastic job in stages", JobSpec{Workers: 4, MinWorkers: 2, Stages: 2},
			"job j: 2 to 4 workers in 2 stages of 0: want a rigid gang where workers have roles"},
		{"an elastic job in groups of one", JobSpec{Workers: 4, MaxWorkers: 8, Tensor: 1, Stages: 1}, ""},
		{"memory on the GPU below 0", JobSpec{Workers: 1, Request: Amount{GPUMilli: 1, GPUMemMiB: -1}},
			"job j: 0 CPU milli, 0 MiB and -1 MiB on the GPU a worker, want 0 or more"},
		{"an estimate below 0", JobSpec{Workers: 1, Estimate: -time.Second}, "job j: estimate -1s, want 0 or more"},
		{"work before the episode below 0", JobSpec{Workers: 1, Ran: -time.Second}, "job j: ran -1s before, want 0 or more"},
	} {
		c.job.Name = "j"
		if c.job.Request == (Amount{}) {
			c.job.Request = wholeGPU
		}
		err := c.job.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestAllows(t *testing.T) {
	for _, c := range []struct {
		wants, has string
		does       bool
	}{
		{"", "", true}, {"", "A", true}, {"A", "", true}, {"A", "A", true}, {"A", "B", false}, {"A|B", "B", true}, {"A|B", "A|B", false},
		{"AB", "A", false}, {"A", "AB", false}, {"A|B|C", "C", true},
	} {
		if got := (&JobSpec{GPUType: c.wants}).Allows(c.has); got != c.does {
			t.Errorf("a job of %q on %q: %v, want %v", c.wants, c.has, got, c.does)
		}
	}
}

func TestCapacity(t *testing.T) {
	spec := of(ServerSpec{GPUs: 3, GPUType: "A", GPUMemMiB: 16}, ServerSpec{GPUs: 8, GPUType: "B"},
		ServerSpec{GPUs: 4, GPUType: "A", GPUMemMiB: 32, Pool: Inference}, ServerSpec{GPUs: 2, GPUType: "A", GPUMemMiB: 16})
	spec.Quotas = []Quota{{"t", 4}}
	if got := spec.Types(); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("types %v, want A, then B", got)
	}
	rooms := spec.Rooms()
	for _, c := range []struct {
		name string
		job  JobSpec
		want int64
	}{
		{"the type with the most GPUs, in both pools", JobSpec{Request: wholeGPU}, 9},
		{"the type that it names", JobSpec{Request: wholeGPU, GPUType: "B"}, 8},
		{"the better of those that it names", JobSpec{Request: wholeGPU, GPUType: "B|A"}, 9},
		{"no type that there is", JobSpec{Request: wholeGPU, GPUType: "C"}, 0},
		{"all types", JobSpec{Request: wholeGPU, Mixed: true}, 17},
		{"pairs", JobSpec{Request: wholeGPU, Tensor: 2}, 8},
		{"pairs on all types", JobSpec{Request: wholeGPU, Tensor: 2, Mixed: true}, 16},
		{"much memory on the GPU", JobSpec{Request: needs(wholeGPU, 17), GPUType: "A"}, 4},
		{"much memory where it is not modelled", JobSpec{Request: needs(wholeGPU, 17)}, 8},
		{"a quota", JobSpec{Request: wholeGPU, Tenant: "t"}, 4},
		{"a quota of shares", JobSpec{Request: halfGPU, Tenant: "t"}, 8},
	} {
		if got := spec.Capacity(&c.job); got != c.want {
			t.Errorf("%s: %d workers, want %d", c.name, got, c.want)
		}
		if got := rooms(&c.job); got != c.want {
			t.Errorf("%s: %d workers remembered, want %d", c.name, got, c.want)
		}
	}
}
