package cluster

import (
	"math/bits"
	"slices"
)

// server is a ServerSpec together with what is free on the server now.
type server struct {
	spec      ServerSpec
	kind      uint16 // the bit of its GPU type among the types of the cluster
	onLoan    bool
	down      bool
	perGPU    int32
	freeCPU   int64
	freeMem   int64
	freeWhole int32    // GPUs that no job uses
	shared    int32    // GPUs that two or more jobs use
	free      []uint64 // bit g is set while no job uses GPU g
	used      []int16  // thousandths in use, per GPU; WholeGPU for a failed GPU
	jobs      []uint16 // number of jobs on each GPU
	gpuMem    []int32  // MiB in use on each GPU, nil if GPU memory is not modelled
	failed    []bool   // which GPUs have failed, nil before the first failure
	residents []JobID  // jobs with a piece on the server, ascending
}

func newServer(spec ServerSpec, kind uint16, perGPU int32) server {
	s := server{
		spec: spec, kind: kind, perGPU: perGPU, freeCPU: spec.CPUMilli, freeMem: spec.MemMiB, freeWhole: spec.GPUs,
		free: make([]uint64, (spec.GPUs+63)/64), used: make([]int16, spec.GPUs), jobs: make([]uint16, spec.GPUs),
	}
	if s.perGPU == 0 {
		s.perGPU = WholeGPU
	}
	if spec.GPUMemMiB > 0 {
		s.gpuMem = make([]int32, spec.GPUs)
	}
	for g := range spec.GPUs {
		s.free[g/64] |= 1 << (g % 64)
	}
	return s
}

// open reports whether training jobs may run on the server.
func (s *server) open() bool { return !s.down && (s.spec.Pool == Training || s.onLoan) }

// fits returns how many workers of one job the server can take, each on a GPU of its own.
func (s *server) fits(a Amount) int32 {
	if !s.open() {
		return 0
	}
	n := int64(s.freeWhole)
	switch {
	case a.GPUMilli < WholeGPU:
		n = 0
		for g := range s.used {
			if s.takes(g, a) {
				n++
			}
		}
	case s.gpuMem != nil && a.GPUMemMiB > s.spec.GPUMemMiB:
		return 0
	}
	return int32(workers(n, s.freeCPU, s.freeMem, a))
}

// takes reports whether GPU g has room for a worker that asks for a share of a GPU.
func (s *server) takes(g int, a Amount) bool {
	return int32(s.used[g])+a.GPUMilli <= WholeGPU && int32(s.jobs[g]) < s.perGPU &&
		(s.gpuMem == nil || a.GPUMemMiB <= s.spec.GPUMemMiB-s.gpuMem[g])
}

// take chooses GPUs for the workers of a piece and appends them to gpus. For workers that hold whole GPUs it takes the free GPUs
// with the lowest indices; for workers that hold shares, the fullest GPUs that still have room. The caller has checked that the
// workers fit.
func (s *server) take(job JobID, p *Piece, gpus []int32) []int32 {
	start := len(gpus)
	for range p.Workers {
		g := s.pick(p.Amount, gpus[start:])
		s.hold(g, p.Amount)
		gpus = append(gpus, g)
	}
	s.settle(job, p, true)
	return gpus
}

func (s *server) pick(a Amount, taken []int32) int32 {
	if a.GPUMilli == WholeGPU {
		for w, word := range s.free {
			if word != 0 {
				return int32(w*64 + bits.TrailingZeros64(word))
			}
		}
		panic("cluster: take beyond what fits")
	}
	best := int32(-1)
	for g, u := range s.used {
		if (best < 0 || u > s.used[best]) && s.takes(g, a) && !slices.Contains(taken, int32(g)) {
			best = int32(g)
		}
	}
	if best < 0 {
		panic("cluster: take beyond what fits")
	}
	return best
}

// retake puts a piece back on exactly the GPUs that it held before.
func (s *server) retake(job JobID, p *Piece, gpus []int32) {
	for _, g := range gpus {
		s.hold(g, p.Amount)
	}
	s.settle(job, p, true)
}

// release removes a piece and frees its GPUs.
func (s *server) release(job JobID, p *Piece, gpus []int32) {
	for _, g := range gpus {
		s.drop(g, p.Amount)
	}
	s.settle(job, p, false)
}

func (s *server) hold(g int32, a Amount) {
	if s.used[g] == 0 {
		s.free[g/64] &^= 1 << (g % 64)
		s.freeWhole--
	}
	s.used[g] += int16(a.GPUMilli)
	if s.jobs[g]++; s.jobs[g] == 2 {
		s.shared++
	}
	if s.gpuMem != nil {
		s.gpuMem[g] += a.GPUMemMiB
	}
}

func (s *server) drop(g int32, a Amount) {
	s.used[g] -= int16(a.GPUMilli)
	if s.jobs[g]--; s.jobs[g] == 1 {
		s.shared--
	}
	if s.gpuMem != nil {
		s.gpuMem[g] -= a.GPUMemMiB
	}
	if s.used[g] == 0 {
		s.free[g/64] |= 1 << (g % 64)
		s.freeWhole++
	}
}

// settle updates free CPU and memory, and adds the job to the residents or removes it.
func (s *server) settle(job JobID, p *Piece, in bool) {
	cpu, mem := int64(p.CPUMilli)*int64(p.Workers), int64(p.MemMiB)*int64(p.Workers)
	at, _ := slices.BinarySearch(s.residents, job)
	if in {
		s.freeCPU -= cpu
		s.freeMem -= mem
		s.residents = slices.Insert(s.residents, at, job)
		return
	}
	s.freeCPU += cpu
	s.freeMem += mem
	s.residents = slices.Delete(s.residents, at, at+1)
}
