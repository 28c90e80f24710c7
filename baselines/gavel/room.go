package gavel

import "github.com/clustergym/clustergym/env/cluster"

// room is what is left of the totals of every type while a round is planned.
type room struct {
	of      []amount         // by type
	tenants map[string]int64 // of those with a quota, thousandths of GPUs that are taken
}

type amount struct{ milli, cpu, mem int64 }

func (a *amount) add(workers int64, b cluster.Amount) {
	a.milli += workers * int64(b.GPUMilli)
	a.cpu += workers * int64(b.CPUMilli)
	a.mem += workers * int64(b.MemMiB)
}

func (r *room) open(s *cluster.State, m *market) {
	if len(r.of) != len(m.types) {
		r.of = make([]amount, len(m.types))
	}
	clear(r.of)
	clear(r.tenants)
	for i, n := range m.ready {
		if n > 0 {
			id := cluster.ServerID(i)
			v, of := s.Server(id), &r.of[s.TypeOf(id)]
			of.milli += int64(n) * cluster.WholeGPU
			of.cpu = min(of.cpu+v.CPUMilli, cluster.Unlimited)
			of.mem = min(of.mem+v.MemMiB, cluster.Unlimited)
		}
	}
}

// take takes what a job holds where it stays, or what it asks for, if that is left.
func (r *room) take(s *cluster.State, m *market, id cluster.JobID, option int, stays bool) bool {
	spec := s.Spec(id)
	var all amount
	if stays {
		for _, q := range s.Placement(id) {
			all.add(int64(q.Workers), q.Amount)
		}
	} else {
		all.add(int64(spec.Workers), spec.Request)
	}
	limit := s.Quota(id)
	if limit >= 0 && r.tenants[spec.Tenant]+all.milli > limit {
		return false
	}
	switch {
	case option < len(r.of):
		if of := &r.of[option]; all.milli > of.milli || all.cpu > of.cpu || all.mem > of.mem {
			return false
		}
		r.of[option].sub(all)
	case stays:
		for _, q := range s.Placement(id) {
			var piece amount
			piece.add(int64(q.Workers), q.Amount)
			r.of[s.TypeOf(q.Server)].sub(piece)
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
		r.tenants[spec.Tenant] += all.milli
	}
	return true
}

func (a *amount) sub(b amount) { a.milli, a.cpu, a.mem = a.milli-b.milli, a.cpu-b.cpu, a.mem-b.mem }

// spread takes from all types in proportion to the GPUs that they have left.
func (r *room) spread(all amount) bool {
	var left amount
	for _, of := range r.of {
		left.milli += max(of.milli, 0)
		left.cpu = min(left.cpu+max(of.cpu, 0), cluster.Unlimited)
		left.mem = min(left.mem+max(of.mem, 0), cluster.Unlimited)
	}
	if all.milli > left.milli || all.cpu > left.cpu || all.mem > left.mem {
		return false
	}
	for t := range r.of {
		part := float64(max(r.of[t].milli, 0)) / float64(left.milli)
		r.of[t].sub(amount{int64(part * float64(all.milli)), int64(part * float64(all.cpu)), int64(part * float64(all.mem))})
	}
	return true
}

// search looks for servers for the job with an option, as few as cluster.State.BestFit would: again and again the one with
// the fewest free GPUs that takes all workers left, else the one that takes most. It leaves them in fit.
func (p *gavel) search(s *cluster.State, id cluster.JobID, option int) (fits bool) {
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
			p.fits = append(p.fits, offer{v, n, s.FreeGPUs(v)})
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

// offer is a server that takes some workers.
type offer struct {
	server  cluster.ServerID
	workers int32
	free    int32 // GPUs
}

// better reports whether a is rather taken than b, which comes before it, for the workers left.
func (a *offer) better(b *offer, left int32) bool {
	switch {
	case a.workers >= left && b.workers >= left:
		return a.free < b.free
	case a.workers >= left || b.workers >= left:
		return a.workers >= left
	}
	return a.workers > b.workers
}
