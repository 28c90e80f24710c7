package placement

import (
	"cmp"
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// hand distributes the CPU and memory that are left on the servers of jobs to these jobs.
type hand struct {
	reserve float64
	idle    bool // whether jobs also get memory that is expected to bring nothing
	starts  []start
	pieces  cluster.Placement // of all starts, one after the other
	steps   []step
	spare   map[cluster.ServerID]spare
}

// start is a job that may get more CPU and memory.
type start struct {
	job         cluster.JobID
	first, last int // range of its pieces
	workers     int32
	response    *response
	have, most  cluster.Amount
	done        int32 // steps granted
}

// step is one of several equal parts of the way from a job's present amount to its knee.
type step struct {
	start  int
	number int32
	gain   float64 // speed gained per fraction of a server's CPU or memory
}

// spare is what a server has left to distribute.
type spare struct{ cpu, mem int64 }

const steps = 4 // number of steps from a job's amount to its knee

func (h *hand) begin(reserve float64, idle bool) {
	h.idle = idle
	h.reserve, h.starts, h.pieces, h.steps = reserve, h.starts[:0], h.pieces[:0], h.steps[:0]
	if h.spare == nil {
		h.spare = map[cluster.ServerID]spare{}
	}
	clear(h.spare)
}

// add enters a running job with its placement. If the job's workers hold different amounts, they keep them.
func (h *hand) add(s *cluster.View, id cluster.JobID, p cluster.Placement, r *response) {
	st := start{job: id, first: len(h.pieces), last: len(h.pieces) + len(p), workers: p.Workers(), response: r, have: p[0].Amount}
	h.pieces = append(h.pieces, p...)
	st.most = st.have
	st.most.CPUMilli, st.most.MemMiB = max(st.have.CPUMilli, r.knee.CPUMilli), max(st.have.MemMiB, r.knee.MemMiB)
	for i := range p {
		if p[i].CPUMilli != st.have.CPUMilli || p[i].MemMiB != st.have.MemMiB {
			st.most = st.have
		}
	}
	h.starts = append(h.starts, st)
	if st.most == st.have {
		return
	}
	last := r.speed(st.at(0))
	before := math.Inf(1)
	for k := range int32(steps) {
		v := r.speed(st.at(k + 1))
		more, have := st.at(k+1), st.at(k)
		server := s.Server(p[0].Server)
		cost := max(part(more.CPUMilli-have.CPUMilli, server.CPUMilli), part(more.MemMiB-have.MemMiB, server.MemMiB))
		before = min(before, (v-last)/r.fair/(cost*float64(st.workers))) // never above the step before: steps go in order
		h.steps = append(h.steps, step{len(h.starts) - 1, k, before})
		last = v
	}
}

// part returns the fraction that an amount is of a server's capacity.
func part(a int32, of int64) float64 {
	if a == 0 {
		return 0
	}
	return float64(a) / float64(of)
}

// at returns the amount of a worker after k steps.
func (st *start) at(k int32) cluster.Amount {
	a := st.have
	a.CPUMilli += int32(int64(st.most.CPUMilli-st.have.CPUMilli) * int64(k) / steps)
	a.MemMiB += int32(int64(st.most.MemMiB-st.have.MemMiB) * int64(k) / steps)
	return a
}

// out distributes what is left, the step with the highest gain first, and reports whether any job got more.
func (h *hand) out(s *cluster.View) bool {
	slices.SortStableFunc(h.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.number, b.number))
	})
	any := false
	for _, step := range h.steps {
		st := &h.starts[step.start]
		if step.number == st.done && step.gain > 0 && h.take(s, st, step.number) {
			st.done++
			any = true
		}
	}
	for i := range h.starts {
		st := &h.starts[i]
		a := st.at(st.done)
		for k := st.first; st.done > 0 && k < st.last; k++ {
			h.pieces[k].CPUMilli, h.pieces[k].MemMiB = a.CPUMilli, a.MemMiB
		}
	}
	if h.idle {
		for i := range h.starts {
			any = h.fill(s, &h.starts[i]) || any
		}
	}
	return any
}

// fill gives the workers of a job memory that is left on their servers, up to that of a GPU's proportional part for each worker.
// It reports whether they got any.
func (h *hand) fill(s *cluster.View, st *start) bool {
	pieces, any := h.pieces[st.first:st.last], false
	for i := range pieces {
		p := &pieces[i]
		v, left := s.Server(p.Server), h.left(s, p.Server)
		if v.MemMiB >= cluster.Unlimited || p.MemMiB == 0 {
			continue
		}
		n := int64(p.Workers)
		if more := min(v.MemMiB/int64(v.GPUs)-int64(p.MemMiB), left.mem/n); more > 0 {
			p.MemMiB += int32(more)
			h.spare[p.Server] = spare{left.cpu, left.mem - n*more}
			any = true
		}
	}
	return any
}

// take takes a step's amount off the servers of a job, if every one of them has enough. It reports whether it did.
func (h *hand) take(s *cluster.View, st *start, number int32) bool {
	more, have := st.at(number+1), st.at(number)
	cpu, mem := int64(more.CPUMilli-have.CPUMilli), int64(more.MemMiB-have.MemMiB)
	pieces := h.pieces[st.first:st.last]
	for i := range pieces {
		left, n := h.left(s, pieces[i].Server), int64(pieces[i].Workers)
		if cpu > 0 && left.cpu < n*cpu || mem > 0 && left.mem < n*mem {
			return false
		}
	}
	for i := range pieces {
		left, n := h.left(s, pieces[i].Server), int64(pieces[i].Workers)
		h.spare[pieces[i].Server] = spare{left.cpu - n*cpu, left.mem - n*mem}
	}
	return true
}

// left returns what a server can distribute: its free CPU and memory, less what is reserved for its free GPUs.
func (h *hand) left(s *cluster.View, id cluster.ServerID) spare {
	if left, ok := h.spare[id]; ok {
		return left
	}
	v := s.Server(id)
	keep := h.reserve * float64(s.FreeGPUs(id)) / float64(v.GPUs)
	return spare{s.FreeCPU(id) - int64(keep*float64(v.CPUMilli)), s.FreeMem(id) - int64(keep*float64(v.MemMiB))}
}
