package cluster

import "slices"

// CopyTo makes dst an independent copy of the cluster, including the operations of its open transaction. It reuses the memory of
// dst. The copy shares the specifications of jobs and servers with the original.
func (s *View) CopyTo(dst *State) { s.copyTo(dst, len(s.jobs)-s.known) }

// ExtendTo is CopyTo for a copy that may receive more jobs: the number more beyond those submitted so far. Submitted jobs keep
// their ids. The new jobs have the ids from next on, however many jobs the original state expects.
func (s *View) ExtendTo(dst *State, more int) (next JobID) {
	s.copyTo(dst, more)
	return JobID(s.known)
}

func (s *View) copyTo(dst *State, more int) {
	if dst.core == nil {
		dst.core = new(core)
	}
	for _, id := range dst.running {
		dst.recycle(dst.jobs[id].pieces, dst.jobs[id].gpus)
	}
	old := *dst.core
	*dst.core, dst.believed = *s.core, s.believed
	dst.servers = slices.Grow(old.servers[:0], len(s.servers))[:len(s.servers)]
	for i := range s.servers {
		was := dst.servers[i]
		dst.servers[i] = s.servers[i]
		v := &dst.servers[i]
		v.free = append(was.free[:0], v.free...)
		v.used = append(was.used[:0], v.used...)
		v.jobs = append(was.jobs[:0], v.jobs...)
		if v.failed != nil {
			v.failed = append(was.failed[:0], v.failed...)
		}
		if v.gpuMem != nil {
			v.gpuMem = append(was.gpuMem[:0], v.gpuMem...)
		}
		v.residents = append(was.residents[:0], v.residents...)
	}
	dst.index = s.index.copyInto(old.index)
	dst.tenants = append(old.tenants[:0], s.tenants...)
	dst.nics = append(old.nics[:0], s.nics...)
	dst.crossing = slices.Grow(old.crossing[:0], len(s.crossing))[:len(s.crossing)]
	for i := range s.crossing {
		dst.crossing[i] = append(dst.crossing[i][:0], s.crossing[i]...)
	}
	same := 0 // number of done jobs that dst already has from an earlier copy of this same state
	if old.of == s.life {
		same = old.same
	}
	dst.jobs = slices.Grow(old.jobs[:same], s.known+more-same)[:s.known+more]
	copy(dst.jobs[same:], s.jobs[same:s.known])
	clear(dst.jobs[s.known:])
	dst.life, dst.of, dst.same = new(byte), s.life, s.settled
	dst.pending = append(old.pending[:0], s.pending...)
	dst.running = append(old.running[:0], s.running...)
	dst.stamp = slices.Grow(old.stamp[:0], len(s.stamp))[:len(s.stamp)]
	clear(dst.stamp)
	dst.stampNow = 0
	// Copy what running jobs hold now into slices that jobs of dst held before.
	dst.freedP, dst.freedG = old.freedP, old.freedG
	for _, id := range s.running {
		j := &dst.jobs[id]
		j.pieces, j.gpus = dst.pieceStorage(j.pieces), append(dst.gpuStorage(), j.gpus...)
	}
	dst.txn = s.txn
	dst.open()
	dst.told = append(old.told[:0], s.txn.events...) // a copy of its own: dst does not own the slice that Begin was given
	dst.txn.events = dst.told
	dst.txn.ops = append(old.txn.ops[:0], s.txn.ops...)
	for i := range dst.txn.ops {
		o := &dst.txn.ops[i]
		o.after, o.gpus = slices.Clone(o.after), slices.Clone(o.gpus)
		o.before.pieces, o.before.gpus = slices.Clone(o.before.pieces), slices.Clone(o.before.gpus)
	}
}

func (x *index) copyInto(old index) index {
	c := *x
	if len(old.of) != len(x.of) || len(x.of) > 0 && len(old.of[0]) != len(x.of[0]) {
		old = newIndex(64*len(x.of[0]), len(x.of)-1)
	}
	c.of, c.count, c.some = old.of, old.count, old.some
	for f := range x.of {
		copy(c.of[f], x.of[f])
	}
	copy(c.count, x.count)
	copy(c.some, x.some)
	return c
}

// Tell replaces the events that the open transaction reports to the scheduler, until the transaction ends. Drivers call it, and
// so do schedulers that wrap another scheduler and act before it.
func (t *Txn) Tell(events []Event) { t.events = events }
