package cluster

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Unlimited is the CPU or memory of a server whose CPU or memory is not modelled.
const Unlimited = math.MaxInt64 / 4

// Pool says whose jobs a server serves.
type Pool uint8

// The pools. An inference server takes training jobs only while it is on loan.
const (
	Training Pool = iota
	Inference
)

// ServerSpec is what a server is, apart from what runs on it.
type ServerSpec struct {
	Name     string
	GPUs     int32
	CPUMilli int64 // thousandths of a core, Unlimited if not modelled
	MemMiB   int64 // Unlimited if not modelled
	Pool     Pool
}

// Spec is a cluster: its servers in the order of their ServerIDs.
type Spec struct {
	Servers []ServerSpec
}

// Uniform returns a cluster of n equal training servers whose CPU and memory are not modelled.
func Uniform(n, gpusPerServer int) Spec {
	servers := make([]ServerSpec, n)
	for i := range servers {
		servers[i] = ServerSpec{
			Name: fmt.Sprintf("server-%d", i), GPUs: int32(gpusPerServer), CPUMilli: Unlimited, MemMiB: Unlimited,
		}
	}
	return Spec{Servers: servers}
}

// GPUs counts the cluster's GPUs in both pools.
func (s *Spec) GPUs() int {
	n := 0
	for i := range s.Servers {
		n += int(s.Servers[i].GPUs)
	}
	return n
}

// Capacity counts the workers of one job, each on a GPU of its own and each holding the amount, that the cluster takes when
// it is empty and every server serves training.
func (s *Spec) Capacity(a Amount) int64 {
	n := int64(0)
	for i := range s.Servers {
		v := &s.Servers[i]
		n += workers(int64(v.GPUs), v.CPUMilli, v.MemMiB, a)
	}
	return n
}

// Rooms returns Capacity as a function that remembers its answers: a workload asks for few amounts many times.
func (s *Spec) Rooms() func(Amount) int64 {
	known := map[Amount]int64{}
	return func(a Amount) int64 {
		n, ok := known[a]
		if !ok {
			n = s.Capacity(a)
			known[a] = n
		}
		return n
	}
}

// workers is how many holders of an amount go on gpus GPUs beside the given CPU and memory.
func workers(gpus, cpu, mem int64, a Amount) int64 {
	if a.CPUMilli > 0 {
		gpus = min(gpus, cpu/int64(a.CPUMilli))
	}
	if a.MemMiB > 0 {
		gpus = min(gpus, mem/int64(a.MemMiB))
	}
	return gpus
}

// Limits of a cluster, so that a mistaken specification is an error and not an allocation.
const (
	MaxServers = 1 << 17 // servers
	MaxGPUs    = 1 << 14 // GPUs of one server
	mostGPUs   = 1 << 24 // GPUs in all
)

// Validate reports the first server that cannot be, or a limit that the cluster exceeds.
func (s *Spec) Validate() error {
	if len(s.Servers) == 0 {
		return fmt.Errorf("cluster has no servers, want at least 1")
	}
	if n := len(s.Servers); n > MaxServers {
		return fmt.Errorf("cluster has %d servers, want at most %d", n, MaxServers)
	}
	if n := s.GPUs(); n > mostGPUs {
		return fmt.Errorf("cluster has %d GPUs, want at most %d", n, mostGPUs)
	}
	for i := range s.Servers {
		v := &s.Servers[i]
		if v.GPUs > MaxGPUs {
			return fmt.Errorf("server %d (%s): %d GPUs, want at most %d", i, v.Name, v.GPUs, MaxGPUs)
		}
		if v.Pool > Inference {
			return fmt.Errorf("server %d (%s): pool %d, want Training or Inference", i, v.Name, v.Pool)
		}
		if v.GPUs < 0 || v.CPUMilli < 0 || v.MemMiB < 0 || v.CPUMilli > Unlimited || v.MemMiB > Unlimited {
			return fmt.Errorf("server %d (%s): %d GPUs, %d CPU milli, %d MiB: want 0 or more", i, v.Name, v.GPUs, v.CPUMilli, v.MemMiB)
		}
	}
	return nil
}

// server is a ServerSpec and what is free on it now.
type server struct {
	spec      ServerSpec
	onLoan    bool
	freeCPU   int64
	freeMem   int64
	freeWhole int32    // GPUs that nobody uses
	free      []uint64 // bit g is set while nobody uses GPU g
	used      []int16  // thousandths in use, per GPU
	residents []JobID  // jobs with a piece here, ascending
}

func newServer(spec ServerSpec) server {
	s := server{
		spec: spec, freeCPU: spec.CPUMilli, freeMem: spec.MemMiB, freeWhole: spec.GPUs,
		free: make([]uint64, (spec.GPUs+63)/64), used: make([]int16, spec.GPUs),
	}
	for g := range spec.GPUs {
		s.free[g/64] |= 1 << (g % 64)
	}
	return s
}

// open reports whether training jobs may run on the server.
func (s *server) open() bool { return s.spec.Pool == Training || s.onLoan }

// fits counts the workers of one job that the server could take, each on a GPU of its own.
func (s *server) fits(a Amount) int32 {
	if !s.open() {
		return 0
	}
	n := int64(s.freeWhole)
	if a.GPUMilli < WholeGPU {
		n = 0
		for _, u := range s.used {
			if int32(u)+a.GPUMilli <= WholeGPU {
				n++
			}
		}
	}
	return int32(workers(n, s.freeCPU, s.freeMem, a))
}

// take gives the piece's workers their GPUs, appended to gpus: the lowest free ones for whole GPUs, for a share the fullest
// ones that still hold it. The caller has checked that they fit.
func (s *server) take(job JobID, p *Piece, gpus []int32) []int32 {
	start := len(gpus)
	for range p.Workers {
		g := s.pick(p.GPUMilli, gpus[start:])
		s.hold(g, p.GPUMilli)
		gpus = append(gpus, g)
	}
	s.settle(job, p, true)
	return gpus
}

func (s *server) pick(milli int32, taken []int32) int32 {
	if milli == WholeGPU {
		for w, word := range s.free {
			if word != 0 {
				return int32(w*64 + bits.TrailingZeros64(word))
			}
		}
		panic("cluster: take beyond what fits")
	}
	best := int32(-1)
	for g, u := range s.used {
		if int32(u)+milli <= WholeGPU && (best < 0 || u > s.used[best]) && !slices.Contains(taken, int32(g)) {
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
		s.hold(g, p.GPUMilli)
	}
	s.settle(job, p, true)
}

// release frees a piece and its GPUs.
func (s *server) release(job JobID, p *Piece, gpus []int32) {
	for _, g := range gpus {
		s.used[g] -= int16(p.GPUMilli)
		if s.used[g] == 0 {
			s.free[g/64] |= 1 << (g % 64)
			s.freeWhole++
		}
	}
	s.settle(job, p, false)
}

func (s *server) hold(g, milli int32) {
	if s.used[g] == 0 {
		s.free[g/64] &^= 1 << (g % 64)
		s.freeWhole--
	}
	s.used[g] += int16(milli)
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
