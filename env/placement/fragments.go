package placement

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// growth returns by how much a server's fragmentation grows if it takes n more workers of a gang of which it already takes from.
// The unit is thousandths of a GPU times jobs.
func (f *fgd) growth(s *cluster.View, v cluster.ServerID, a cluster.Amount, from, n int32) int64 {
	f.look(s, v)
	if from == 0 {
		return f.fragAfter(s, v, taking{a, n}) - f.fragAfter(s, v, taking{})
	}
	return f.fragAfter(s, v, taking{a, from + n}) - f.fragAfter(s, v, taking{a, from})
}

// look records what is free on a server if that has changed.
func (f *fgd) look(s *cluster.View, id cluster.ServerID) {
	v, use, cpu, mem := &f.servers[id], s.GPUUse(id), s.FreeCPU(id), s.FreeMem(id)
	if v.version > 0 && v.cpu == cpu && v.mem == mem && slices.Equal(v.use, use) {
		return
	}
	v.version++
	v.cpu, v.mem = cpu, mem
	v.use = append(v.use[:0], use...)
	v.free = v.free[:0]
	for _, u := range use {
		v.free = append(v.free, cluster.WholeGPU-u)
	}
	slices.Sort(v.free)
}

// fragAfter returns a server's fragmentation after a taking, for which it must have room.
func (f *fgd) fragAfter(s *cluster.View, id cluster.ServerID, t taking) int64 {
	cache := f.after[t]
	if cache == nil {
		if len(f.after) >= maxTakings {
			clear(f.after)
		}
		cache = make([]known, len(f.servers))
		f.after[t] = cache
	}
	v := &f.servers[id]
	if k := &cache[id]; k.version != v.version {
		*k = known{v.version, f.fragmentation(s.Server(id), v, t)}
	}
	return cache[id].frag
}

// maxTakings is the largest number of takings in the cache.
const maxTakings = 256

func (f *fgd) fragmentation(spec *cluster.ServerSpec, v *footing, t taking) (sum int64) {
	// Like the transaction, give each worker another GPU: an unused one for a whole GPU, the fullest that fits for a share.
	free := append(f.scratch[:0], v.free...)
	f.scratch = free
	for g, n := 0, t.workers; n > 0; g++ {
		if int32(free[g]) >= t.GPUMilli {
			free[g] -= int16(t.GPUMilli)
			n--
		}
	}
	slices.Sort(free)
	total := int64(0)
	for _, milli := range free {
		total += int64(milli)
	}
	cpu, mem := v.cpu-int64(t.workers)*int64(t.CPUMilli), v.mem-int64(t.workers)*int64(t.MemMiB)
	for i := range f.typical {
		m := &f.typical[i]
		use := 0 // free GPUs that are too full for m
		short := int64(0)
		for use < len(free) && int32(free[use]) < m.GPUMilli {
			short += int64(free[use])
			use++
		}
		n := int64(m.workers)
		fits := int64(len(free)-use) >= n && cpu >= n*int64(m.CPUMilli) && mem >= n*int64(m.MemMiB) &&
			(spec.GPUMemMiB == 0 || m.GPUMemMiB <= spec.GPUMemMiB) && m.allows(spec.GPUType)
		if !fits {
			short = total
		}
		sum += m.jobs * short
	}
	return sum
}

// allows reports whether the task can run on GPUs of the type.
func (t *task) allows(gpuType string) bool {
	spec := cluster.JobSpec{GPUType: t.gpuType}
	return spec.Allows(gpuType)
}
