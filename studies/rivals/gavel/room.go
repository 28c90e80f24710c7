package gavel

import "github.com/clustergym/clustergym/env/cluster"

// room is what is left of the totals of every type while the scheduler plans a round.
type room struct {
	of      []cluster.Total  // by type
	tenants map[string]int64 // by tenant with a quota: thousandths of GPUs that are taken
}

func (r *room) open(s *cluster.View, m *market) {
	if len(r.of) != len(m.types) {
		r.of = make([]cluster.Total, len(m.types))
	}
	clear(r.of)
	clear(r.tenants)
	for i, n := range m.ready {
		if n > 0 {
			id := cluster.ServerID(i)
			v, of := s.Server(id), &r.of[s.TypeOf(id)]
			of.GPUMilli += int64(n) * cluster.WholeGPU
			of.CPUMilli = min(of.CPUMilli+v.CPUMilli, cluster.Unlimited)
			of.MemMiB = min(of.MemMiB+v.MemMiB, cluster.Unlimited)
		}
	}
}

// take subtracts what a job holds, if it stays, or what it asks for, and reports true if that much is left.
func (r *room) take(s *cluster.View, m *market, id cluster.JobID, option int, stays bool) bool {
	spec := s.Spec(id)
	var all cluster.Total
	if stays {
		for _, q := range s.Placement(id) {
			all.Add(q.Workers, q.Amount)
		}
	} else {
		all.Add(spec.Workers, spec.Request)
	}
	limit := s.Quota(id)
	if limit >= 0 && r.tenants[spec.Tenant]+all.GPUMilli > limit {
		return false
	}
	switch {
	case option < len(r.of):
		if !r.of[option].Holds(all) {
			return false
		}
		r.of[option].Sub(all)
	case stays:
		for _, q := range s.Placement(id) {
			var piece cluster.Total
			piece.Add(q.Workers, q.Amount)
			r.of[s.TypeOf(q.Server)].Sub(piece)
		}
	default:
		if !r.spread(all) {
			return false
		}
	}
	if limit >= 0 {
		if r.tenants == nil {
			r.tenants = map[string]int64{}
		}
		r.tenants[spec.Tenant] += all.GPUMilli
	}
	return true
}

// spread subtracts from all types in proportion to the GPUs that they have left.
func (r *room) spread(all cluster.Total) bool {
	var left cluster.Total
	for _, of := range r.of {
		left.GPUMilli += max(of.GPUMilli, 0)
		left.CPUMilli = min(left.CPUMilli+max(of.CPUMilli, 0), cluster.Unlimited)
		left.MemMiB = min(left.MemMiB+max(of.MemMiB, 0), cluster.Unlimited)
	}
	if !left.Holds(all) {
		return false
	}
	for t := range r.of {
		part := float64(max(r.of[t].GPUMilli, 0)) / float64(left.GPUMilli)
		some := func(of int64) int64 { return int64(part * float64(of)) }
		r.of[t].Sub(cluster.Total{GPUMilli: some(all.GPUMilli), CPUMilli: some(all.CPUMilli), MemMiB: some(all.MemMiB)})
	}
	return true
}

// search finds servers for the job with an option, as few as cluster.View.BestFit would: it repeatedly takes the server with the
// fewest free GPUs that can take all workers left, or if there is none, the server that can take most. It stores them in fit.
func (p *gavel) search(s *cluster.View, id cluster.JobID, option int) (fits bool) {
	p.fit = p.fit[:0]
	if len(p.types) == 1 || option == p.mixed() {
		p.fit, fits = s.BestFit(id, p.fit)
		return fits
	}
	spec := s.Spec(id)
	if milli, ok := s.QuotaLeft(id); ok && int64(spec.Workers)*int64(spec.Request.GPUMilli) > milli {
		return false
	}
	p.fits = p.fits[:0]
	total := int32(0)
	for _, v := range p.servers[option] {
		if spec.Request.GPUMilli == cluster.WholeGPU && s.FreeGPUs(v) == 0 {
			continue
		}
		if n := s.Fits(v, id, spec.Request); n > 0 {
			p.fits = append(p.fits, host{v, n, s.FreeGPUs(v)})
			total += n
		}
	}
	if total < spec.Workers {
		return false
	}
	for left := spec.Workers; left > 0; {
		best := 0
		for i := range p.fits {
			if p.fits[i].better(&p.fits[best], left) {
				best = i
			}
		}
		o := &p.fits[best]
		n := min(o.workers, left)
		p.fit = append(p.fit, cluster.Piece{Server: o.server, Workers: n, Amount: spec.Request})
		left -= n
		o.workers = 0
	}
	return true
}

// host is a server with the number of workers that it can take.
type host struct {
	server  cluster.ServerID
	workers int32
	free    int32 // free GPUs
}

// better reports whether search prefers a to b, which comes before it, when the parameter left workers are left.
func (a *host) better(b *host, left int32) bool {
	switch {
	case a.workers >= left && b.workers >= left:
		return a.free < b.free
	case a.workers >= left || b.workers >= left:
		return a.workers >= left
	}
	return a.workers > b.workers
}
