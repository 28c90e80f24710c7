package cluster

// BestFit proposes where the waiting job could start now as requested, on as few servers as it finds: again and again the
// server with the fewest free GPUs that still takes all workers left, else the one with the most free GPUs; among equals the
// lowest id. It appends to dst and reports whether the whole gang fits. Shares of a GPU go to the servers with the fewest
// free GPUs first. Where the cluster has several types of GPUs and the job may hold but one, the first type, in the order of
// the servers, that takes the gang.
func (s *View) BestFit(id JobID, dst Placement) (Placement, bool) {
	spec := s.jobs[id].spec
	return s.bestFit(id, spec.Workers, spec.Request, spec.Request, s.jobs[id].kinds, AnyRack, dst)
}

// BestFitAlone does so for n workers of the job, each of which holds the amount on a GPU that nobody else uses.
func (s *View) BestFitAlone(id JobID, n int32, a Amount, dst Placement) (Placement, bool) {
	whole := a
	whole.GPUMilli = WholeGPU
	return s.bestFit(id, n, a, whole, s.jobs[id].kinds, AnyRack, dst)
}

// BestFitAmong does so with workers that may share GPUs with others, on GPUs of such types, see TypesFor, and servers of such a
// rack or AnyRack.
func (s *View) BestFitAmong(id JobID, n int32, a Amount, types uint16, rack int32, dst Placement) (Placement, bool) {
	return s.bestFit(id, n, a, a, types, rack, dst)
}

// AnyRack stands for all racks.
const AnyRack = -1

// bestFit places n workers, each of which holds an amount and needs room for another.
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

// gather takes server after server with GPUs of such kinds.
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

// tightest returns the unstamped server of such GPUs with the fewest free ones that takes n workers, or -1.
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

// roomiest returns the unstamped server of such GPUs with the most free ones that takes at least one worker, or -1.
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
