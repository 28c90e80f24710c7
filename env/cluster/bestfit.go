package cluster

// BestFit proposes where the waiting job could start now as requested, on as few servers as it finds: again and again the
// server with the fewest free GPUs that still takes all workers left, else the one with the most free GPUs; among equals the
// lowest id. It appends to dst and reports whether the whole gang fits. Shares of a GPU go to the servers with the fewest
// free GPUs first. Where the cluster has several types of GPUs and the job may hold but one, the first type, in the order of
// the servers, that takes the gang.
func (s *State) BestFit(id JobID, dst Placement) (Placement, bool) {
	j := &s.jobs[id]
	if gang := int64(j.spec.Workers); s.within(j, j.spec.Request, gang) < gang {
		return dst, false
	}
	if len(s.types) == 1 || j.spec.Mixed {
		return s.bestFit(j, j.kinds, dst)
	}
	for i := range s.types {
		if kind := uint16(1) << i; j.kinds&kind != 0 {
			if p, fits := s.bestFit(j, kind, dst); fits {
				return p, true
			}
		}
	}
	return dst, false
}

func (s *State) bestFit(j *job, kinds uint16, dst Placement) (Placement, bool) {
	left, want := j.spec.Workers, j.spec.Request
	if want.GPUMilli == WholeGPU && int64(left) > s.index.free {
		return dst, false
	}
	s.stampNow++
	for left > 0 {
		server, fits := s.tightest(j, kinds, left)
		if server < 0 {
			if server, fits = s.roomiest(j, kinds); server < 0 {
				return dst, false
			}
		}
		s.stamp[server] = s.stampNow
		n := min(fits, left)
		dst = append(dst, Piece{Server: server, Workers: n, Amount: want})
		left -= n
	}
	return dst, true
}

// tightest returns the unstamped server of such GPUs with the fewest free ones that takes n workers, or -1.
func (s *State) tightest(j *job, kinds uint16, n int32) (ServerID, int32) {
	from, a := n, j.spec.Request
	if a.GPUMilli < WholeGPU {
		from = 0
	}
	for f := s.index.next(from); f >= 0; f = s.index.next(f + 1) {
		for i := s.index.after(f, -1); i >= 0; i = s.index.after(f, i) {
			v := &s.servers[i]
			if s.stamp[i] == s.stampNow || kinds&v.kind == 0 {
				continue
			}
			if fits := s.room(v, j, a); fits >= n {
				return i, fits
			}
		}
	}
	return -1, 0
}

// roomiest returns the unstamped server of such GPUs with the most free ones that takes at least one worker, or -1.
func (s *State) roomiest(j *job, kinds uint16) (ServerID, int32) {
	least, a := int32(1), j.spec.Request
	if a.GPUMilli < WholeGPU {
		least = 0
	}
	for f := s.index.previous(int32(len(s.index.of) - 1)); f >= least; f = s.index.previous(f - 1) {
		for i := s.index.after(f, -1); i >= 0; i = s.index.after(f, i) {
			v := &s.servers[i]
			if s.stamp[i] == s.stampNow || kinds&v.kind == 0 {
				continue
			}
			if fits := s.room(v, j, a); fits > 0 {
				return i, fits
			}
		}
	}
	return -1, 0
}
