package cluster

import (
	"math/bits"
	"slices"
)

// server is a ServerSpec and what is free on it now.
type server struct {
	spec      ServerSpec
	kind      uint16 // bit of its GPU type among those of the cluster
	onLoan    bool
	down      bool
	perGPU    int32
	freeCPU   int64
	freeMem   int64
	freeWhole int32    // GPUs that nobody uses
	shared    int32    // GPUs that two jobs or more use
	free      []uint64 // bit g is set while nobody uses GPU g
	used      []int16  // thousandths in use, per GPU; all of it while the GPU is out of order
	jobs      []uint16 // jobs on each GPU
	gpuMem    []int32  // MiB in use on each GPU, nil where that is not modelled
	failed    []bool   // GPUs out of order, nil before the first failure
	residents []JobID  // jobs with a piece here, ascending
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

// fits counts the workers of one job that the server could take, each on a GPU of its own.
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

// takes reports whether GPU g has room for a worker with a share of it.
func (s *server) takes(g int, a Amount) bool {
	return int32(s.used[g])+a.GPUMilli <= WholeGPU && int32(s.jobs[g]) < s.perGPU &&
		(s.gpuMem == nil || a.GPUMemMiB <= s.spec.GPUMemMiB-s.gpuMem[g])
}

// take gives the piece's workers their GPUs, appended to gpus: the lowest free ones for whole GPUs, for a share the fullest
// ones that still hold it. The caller has checked that they fit.
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

// retake restores a piece on the very GPUs that it held.
func (s *server) retake(job JobID, p *Piece, gpus []int32) {
	for _, g := range gpus {
		s.hold(g, p.Amount)
	}
	s.settle(job, p, true)
}

// release frees a piece and its GPUs.
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

// settle moves CPU and memory, and the job in or out of the residents.
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
