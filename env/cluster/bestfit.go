package cluster

// BestFit proposes a placement with which the waiting job could start now as requested, on few servers. It picks servers
// greedily: the server with the fewest free GPUs that takes all remaining workers or, if no server takes them all, the server
// with the most free GPUs. Ties go to the lowest id. For a job that requests a share of a GPU, servers without a wholly free GPU
// count, too. If the cluster has several GPU types and the gang must be of one type, BestFit uses the first type, in the order of
// Types, that fits the whole gang. It appends the placement to dst and reports whether the whole gang fits.
func (s *View) BestFit(id JobID, dst Placement) (Placement, bool) {
	spec := s.jobs[id].spec
	return s.bestFit(id, spec.Workers, spec.Request, spec.Request, s.jobs[id].kinds, AnyRack, dst)
}

// BestFitAlone is BestFit for n workers that each hold the amount a on a GPU that no other job uses.
func (s *View) BestFitAlone(id JobID, n int32, a Amount, dst Placement) (Placement, bool) {
	whole := a
	whole.GPUMilli = WholeGPU
	return s.bestFit(id, n, a, whole, s.jobs[id].kinds, AnyRack, dst)
}

// BestFitAmong is BestFit for n workers that each hold the amount a and may share GPUs with other jobs. It uses only GPUs of the
// given types (bits as in TypesFor) and servers of the given rack, or of any rack with AnyRack.
func (s *View) BestFitAmong(id JobID, n int32, a Amount, types uint16, rack int32, dst Placement) (Placement, bool) {
	return s.bestFit(id, n, a, a, types, rack, dst)
}

// AnyRack as the rack allows servers of every rack.
const AnyRack = -1

// bestFit places n workers. Each worker will hold the amount hold, and needs a GPU with room for the amount need.
func (s *View) bestFit(id JobID, n int32, hold, need Amount, types uint16, rack int32, dst Placement) (Placement, bool) {
	j := &s.jobs[id]
	types &= j.kinds
	if s.within(j, hold, int64(n)) < int64(n) || need.GPUMilli == WholeGPU && int64(n) > s.index.free {
		return dst, false
	}
	if len(s.types) == 1 || j.spec.Mixed {
		return s.gather(j, types, n, hold, need, rack, dst)
	}
	for i := range s.types {
		if kind := uint16(1) << i; types&kind != 0 {
			if p, fits := s.gather(j, kind, n, hold, need, rack, dst); fits {
				return p, true
			}
		}
	}
	return dst, false
}

// gather adds to dst one server after another that has GPUs of the given kinds, until it has placed the number left of workers.
// It reports whether it placed them all.
func (s *View) gather(j *job, kinds uint16, left int32, hold, need Amount, rack int32, dst Placement) (Placement, bool) {
	s.stampNow++
	if rack != AnyRack {
		for i := range s.servers {
			if s.servers[i].spec.Rack != rack {
				s.stamp[i] = s.stampNow
			}
		}
	}
	for left > 0 {
		server, fits := s.tightest(j, kinds, left, need)
		if server < 0 {
			if server, fits = s.roomiest(j, kinds, need); server < 0 {
				return dst, false
			}
		}
		s.stamp[server] = s.stampNow
		n := min(fits, left)
		dst = append(dst, Piece{Server: server, Workers: n, Amount: hold})
		left -= n
	}
	return dst, true
}

// tightest considers the unstamped servers that have GPUs of the given kinds and room for n workers or more. It returns the one
// with the fewest free GPUs, and for how many workers that server has room. If there is none, the server is -1.
func (s *View) tightest(j *job, kinds uint16, n int32, a Amount) (ServerID, int32) {
	from := n
	if a.GPUMilli < WholeGPU {
		from = 0
	}
	for f := s.index.next(from); f >= 0; f = s.index.next(f + 1) {
		for i := s.index.after(f, -1); i >= 0; i = s.index.after(f, i) {
			if s.stamp[i] == s.stampNow || kinds&s.servers[i].kind == 0 {
				continue
			}
			if fits := s.room(i, j, a); fits >= n {
				return i, fits
			}
		}
	}
	return -1, 0
}

// roomiest returns, of the unstamped servers with GPUs of the given kinds that take at least one worker, the one with the most
// free GPUs and how many workers it takes; -1 if there is none.
func (s *View) roomiest(j *job, kinds uint16, a Amount) (ServerID, int32) {
	least := int32(1)
	if a.GPUMilli < WholeGPU {
		least = 0
	}
	for f := s.index.previous(int32(len(s.index.of) - 1)); f >= least; f = s.index.previous(f - 1) {
		for i := s.index.after(f, -1); i >= 0; i = s.index.after(f, i) {
			if s.stamp[i] == s.stampNow || kinds&s.servers[i].kind == 0 {
				continue
			}
			if fits := s.room(i, j, a); fits > 0 {
				return i, fits
			}
		}
	}
	return -1, 0
}
