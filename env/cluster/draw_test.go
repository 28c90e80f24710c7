package cluster

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// drawSpec draws a small cluster: servers with 0 to 6 GPUs and sometimes more than 64, CPU, memory and GPU memory modelled or
// not, both pools, one or several GPU types, racks, a bound on sharing, and quotas.
func drawSpec(t *rapid.T) Spec {
	limit := rapid.OneOf(rapid.Just(int64(Unlimited)), rapid.Int64Range(0, 12))
	types := rapid.SampledFrom([][]string{{""}, {"A"}, {"A", "B"}, {"", "A", "B", "C"}}).Draw(t, "types")
	racks := rapid.Int32Range(0, 3).Draw(t, "racks")
	servers := make([]ServerSpec, rapid.IntRange(1, 5).Draw(t, "servers"))
	for i := range servers {
		servers[i] = ServerSpec{
			Name: fmt.Sprintf("s%d", i), GPUs: rapid.Int32Range(0, 6).Draw(t, "GPUs"),
			CPUMilli: limit.Draw(t, "CPU"), MemMiB: limit.Draw(t, "memory"),
			GPUType: rapid.SampledFrom(types).Draw(t, "type"), Rack: rapid.Int32Range(0, racks).Draw(t, "rack"),
		}
		if rapid.Bool().Draw(t, "GPU memory") {
			servers[i].GPUMemMiB = rapid.Int32Range(1, 9).Draw(t, "MiB a GPU")
		}
		switch rapid.IntRange(0, 9).Draw(t, "kind of server") {
		case 0:
			servers[i].GPUs = 67
		case 1, 2:
			servers[i].Pool = Inference
		}
	}
	spec := Spec{Servers: servers, PerGPU: rapid.SampledFrom([]int32{0, 1, 2}).Draw(t, "jobs a GPU")}
	for _, tenant := range []string{"t", "u"} {
		if rapid.Bool().Draw(t, "quota") {
			spec.Quotas = append(spec.Quotas, Quota{tenant, rapid.Int32Range(0, 8).Draw(t, "quota of "+tenant)})
		}
	}
	return spec
}

func drawAmount(t *rapid.T) Amount {
	a := Amount{GPUMilli: WholeGPU}
	if rapid.Bool().Draw(t, "share of a GPU") {
		a.GPUMilli = rapid.SampledFrom([]int32{1, 250, 333, 500, 999}).Draw(t, "GPU milli")
	}
	if rapid.Bool().Draw(t, "CPU and memory") {
		a.CPUMilli, a.MemMiB = rapid.Int32Range(0, 4).Draw(t, "CPU milli"), rapid.Int32Range(0, 4).Draw(t, "MiB")
	}
	if rapid.Bool().Draw(t, "memory on the GPU") {
		a.GPUMemMiB = rapid.Int32Range(0, 6).Draw(t, "MiB on the GPU")
	}
	return a
}

// drawJob draws a rigid job, a job with tensor-parallel groups and pipeline stages, or an elastic job.
func drawJob(t *rapid.T, name string, submit time.Duration) *JobSpec {
	j := &JobSpec{
		Name: name, Submit: submit, Workers: rapid.Int32Range(1, 6).Draw(t, "workers"), Request: drawAmount(t),
		Estimate: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "estimate")),
		Deadline: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "deadline")), Priority: rapid.Int32Range(-2, 2).Draw(t, "priority"),
		Ran:     time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 7e10}).Draw(t, "ran before")),
		Tenant:  rapid.SampledFrom([]string{"", "t", "u", "v"}).Draw(t, "tenant"),
		GPUType: rapid.SampledFrom([]string{"", "", "A", "A|B", "C|B", "D"}).Draw(t, "types that will do"),
		Mixed:   rapid.Bool().Draw(t, "mixed"),
		Where:   drawWhere(t),
		User:    rapid.SampledFrom([]string{"", "me"}).Draw(t, "user"),
		Model:   rapid.SampledFrom([]string{"", "bert"}).Draw(t, "model"),
		Group:   rapid.SampledFrom([]string{"", "nightly"}).Draw(t, "group"),
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind of job") {
	case 0:
		j.Tensor, j.Stages = rapid.Int32Range(0, 3).Draw(t, "tensor"), rapid.Int32Range(0, 2).Draw(t, "stages")
		j.Workers = rapid.Int32Range(1, 2).Draw(t, "data") * j.Together() * max(j.Stages, 1)
	case 1, 2:
		j.MinWorkers = rapid.Int32Range(1, j.Workers).Draw(t, "least")
		j.MaxWorkers = rapid.Int32Range(j.Workers, 9).Draw(t, "most")
	}
	must.Do(t, j.Validate())
	return j
}

// drawWhere draws no set of acceptable servers in most cases, and otherwise one of the sets that the jobs of a test share.
func drawWhere(t *rapid.T) *ServerSet {
	return rapid.SampledFrom([]*ServerSet{nil, nil, nil, nil, firstAndThird, second}).Draw(t, "servers that will do")
}

// Sets of servers, some of which may not exist.
var firstAndThird, second = &ServerSet{bits: []uint64{0b101}}, &ServerSet{bits: []uint64{0b10}}

// drawTwin draws a job that differs from another only in what does not decide whether it fits, and sometimes also in one thing
// that does.
func drawTwin(t *rapid.T, of *JobSpec, name string, submit time.Duration) *JobSpec {
	j := drawJob(t, name, submit)
	j.Workers, j.Request, j.MinWorkers, j.MaxWorkers, j.Stages = of.Workers, of.Request, 0, 0, 0
	was := *j
	j.Tensor, j.GPUType, j.Mixed, j.Tenant, j.Where = of.Tensor, of.GPUType, of.Mixed, of.Tenant, of.Where
	switch rapid.IntRange(0, 7).Draw(t, "but for") {
	case 0:
		if j.Tensor = 0; of.Together() == 1 {
			j.Tensor = of.Workers
		}
	case 1:
		j.GPUType = was.GPUType
	case 2:
		j.Mixed = was.Mixed
	case 3:
		j.Tenant = was.Tenant
	case 4:
		j.Where = was.Where
	case 5:
		j.Request.GPUMemMiB = was.Request.GPUMemMiB
	}
	return j
}

// drawPlacement draws a placement that is often feasible: pieces that fit, in random order and number, mostly on GPUs of one
// type, and sometimes a placement that is never feasible.
func drawPlacement(t *rapid.T, s *State, id JobID) Placement {
	var p Placement
	spec := s.Spec(id)
	left := rapid.Int32Range(spec.Least(), spec.Most()).Draw(t, "gang")
	amount, group := spec.Request, spec.Together()
	switch rapid.IntRange(0, 7).Draw(t, "another amount") {
	case 0:
		amount = drawAmount(t)
	case 1, 2:
		amount = drawAmount(t)
		amount.GPUMemMiB += spec.Request.GPUMemMiB
	}
	anyType := rapid.IntRange(0, 3).Draw(t, "any type") == 0
	if rapid.IntRange(0, 3).Draw(t, "any group") == 0 {
		group = 1
	}
	order := rapid.Permutation(serverIDs(s)).Draw(t, "order")
	for _, v := range order {
		fits := min(s.Fits(v, id, amount), left) / group
		if fits == 0 || !anyType && len(p) > 0 && !s.SameType(id, v, p[0].Server) {
			continue
		}
		n := group * rapid.Int32Range(1, fits).Draw(t, "groups")
		p = append(p, Piece{Server: v, Workers: n, Amount: amount})
		if left -= n; left == 0 {
			break
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "spoil") == 0 {
		p = append(p, Piece{
			Server:  ServerID(rapid.IntRange(-1, s.Servers()).Draw(t, "any server")),
			Workers: rapid.Int32Range(-1, 7).Draw(t, "any workers"),
			Amount: Amount{
				rapid.Int32Range(-1, 1001).Draw(t, "any share"), rapid.Int32Range(-1, 5).Draw(t, "any CPU"),
				rapid.Int32Range(-1, 5).Draw(t, "any memory"), rapid.Int32Range(-1, 9).Draw(t, "any memory on the GPU"),
			},
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
