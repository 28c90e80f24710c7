package cluster

// BestFit proposes where the waiting job could start now as requested, on as few servers as it finds: again and again the
// server with the fewest free GPUs that still takes all workers left, else the one with the most free GPUs; among equals the
// lowest id. It appends to dst and reports whether the whole gang fits. Shares of a GPU go to the servers with the fewest
// free GPUs first.
func (s *State) BestFit(id JobID, dst Placement) (Placement, bool) {
	spec := s.jobs[id].spec
	left, want := spec.Workers, spec.Request
	if want.GPUMilli == WholeGPU && int64(left) > s.index.free {
		return dst, false
	}
	s.stampNow++
	for left > 0 {
		server, fits := s.tightest(want, left)
		if server < 0 {
			if server, fits = s.roomiest(want); server < 0 {
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

// tightest returns the unstamped server with the fewest free GPUs that takes n workers, or -1.
func (s *State) tightest(a Amount, n int32) (ServerID, int32) {
	from := n
	if a.GPUMilli < WholeGPU {
		from = 0
	}
	for f := s.index.next(from); f >= 0; f = s.index.next(f + 1) {
		for i := s.index.after(f, -1); i >= 0; i = s.index.after(f, i) {
			if s.stamp[i] == s.stampNow {
				continue
			}
			if fits := s.servers[i].fits(a); fits >= n {
				return i, fits
			}
		}
	}
	return -1, 0
}

// roomiest returns the unstamped server with the most free GPUs that takes at least one worker, or -1.
func (s *State) roomiest(a Amount) (ServerID, int32) {
	least := int32(1)
	if a.GPUMilli < WholeGPU {
		least = 0
	}
	for f := s.index.previous(int32(len(s.index.of) - 1)); f >= least; f = s.index.previous(f - 1) {
		for i := s.index.after(f, -1); i >= 0; i = s.index.after(f, i) {
			if s.stamp[i] == s.stampNow {
				continue
			}
			if fits := s.servers[i].fits(a); fits > 0 {
				return i, fits
			}
		}
	}
	return -1, 0
}
