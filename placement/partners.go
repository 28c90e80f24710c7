package placement

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Where a share of a GPU is no cap, a job that starts on GPUs of its own takes but a share of them, so that another, its guest,
// can join later. The transaction chooses the GPUs of a server: for a share the fullest that hold it. Therefore
//
//   - a job that is to have GPUs of its own takes a share that fits on no GPU in use, about half and unlike all others on the
//     server (Alone);
//   - a guest takes exactly what its host leaves, so that it joins this host and no other (partners.beside).

// Alone sets the shares of a placement on free GPUs so that none of it lands on a GPU in use, which a transaction would choose
// for a share that fits there, and no two jobs of a server hold the same share.
func Alone(s *cluster.View, p cluster.Placement) {
	for i := range p {
		share := int32(cluster.WholeGPU/2 + 1)
		use := s.GPUUse(p[i].Server)
		for _, u := range use {
			if u > 0 && int32(u) < cluster.WholeGPU {
				share = max(share, cluster.WholeGPU+1-int32(u))
			}
		}
		for share < cluster.WholeGPU && slices.Contains(use, int16(share)) {
			share++
		}
		p[i].GPUMilli = min(share, cluster.WholeGPU)
	}
}

// host is a running job with GPUs that it holds a share of and nobody else uses.
type host struct {
	job            cluster.JobID
	model, gpuType string
	alone          int32         // such GPUs
	left           time.Duration // that it is expected to need, 0 where no estimate tells
}

// partners finds hosts for guests. The zero value is ready.
type partners struct {
	fresh  bool
	now    time.Duration
	mark   int
	listed bool // hosts, which nobody may ask for
	hosts  []host
	group  []int    // where in hosts those of a model and GPU type begin
	order  []ranked // of groups, for the guest at hand
	seen   map[pair]float64
	fit    cluster.Placement
}

// ranked is a group of hosts and how good its pair with a guest was.
type ranked struct {
	group int
	worth float64
}

// pair is a guest's model and its host's.
type pair struct{ guest, host, gpuType string }

func (p *partners) reset() { *p = partners{} }

// refresh reports whether this is the first call of a pass. The hosts are listed when they are first asked for, and what starts
// in the pass is added; until then nobody can have become a guest, so that it makes no difference when.
func (p *partners) refresh(tx *cluster.Txn) (anew bool) {
	if p.fresh && p.now == tx.Now() && p.mark == tx.Mark() {
		return false
	}
	p.fresh, p.now, p.mark, p.listed = true, tx.Now(), tx.Mark(), false
	return true
}

func (p *partners) list(s *cluster.View) {
	if p.listed {
		return
	}
	p.listed = true
	p.hosts, p.group = p.hosts[:0], p.group[:0]
	for _, id := range s.Running() {
		if h := hostOf(s, id); h.alone > 0 {
			p.hosts = append(p.hosts, h)
		}
	}
	slices.SortFunc(p.hosts, host.compare)
	p.groupUp()
}

// hostOf returns a host; one without GPUs for a guest has no more than its id.
func hostOf(s *cluster.View, id cluster.JobID) host {
	h := host{job: id}
	for _, q := range s.Placement(id) {
		h.alone += aloneOn(s, id, q)
	}
	if h.alone == 0 {
		return h
	}
	spec := s.Spec(id)
	h.model, h.gpuType = spec.Model, s.Server(s.Placement(id)[0].Server).GPUType
	if spec.Estimate > 0 {
		h.left = max(s.ExpectedFinish(id)-s.Now(), 1)
	}
	return h
}

// aloneOn counts the GPUs of a piece of a job that have room for a guest.
func aloneOn(s *cluster.View, id cluster.JobID, q cluster.Piece) (n int32) {
	if q.GPUMilli == cluster.WholeGPU {
		return 0
	}
	use := s.GPUUse(q.Server)
	for _, g := range s.GPUsOn(id, q.Server) {
		if int32(use[g]) == q.GPUMilli {
			n++
		}
	}
	return n
}

// compare puts hosts of one model and GPU type together, those with the longest to go first.
func (h host) compare(o host) int {
	return cmp.Or(cmp.Compare(h.model, o.model), cmp.Compare(h.gpuType, o.gpuType), cmp.Compare(o.left, h.left),
		cmp.Compare(h.job, o.job))
}

// groupUp finds where groups begin among the sorted hosts.
func (p *partners) groupUp() {
	p.group = p.group[:0]
	for i := range p.hosts {
		if h := &p.hosts[i]; i == 0 || h.model != p.hosts[i-1].model || h.gpuType != p.hosts[i-1].gpuType {
			p.group = append(p.group, i)
		}
	}
}

// started adds what has been placed since refresh.
func (p *partners) started(tx *cluster.Txn, id cluster.JobID) {
	p.mark = tx.Mark()
	if !p.listed {
		return
	}
	if h := hostOf(tx.View(), id); h.alone > 0 {
		at, _ := slices.BinarySearchFunc(p.hosts, h, host.compare)
		p.hosts = slices.Insert(p.hosts, at, h)
		p.groupUp()
	}
}

const looks = 16 // hosts of a model that are looked at in vain before the next model

// each calls try with a placement of n workers beside one host of each model, the model that was best so far first and those
// not yet seen before it, until tries of them have been tried. try returns how good the pair is. With equal, guest and host have
// the same GPUs.
func (p *partners) each(s *cluster.View, id cluster.JobID, n int32, a cluster.Amount, equal bool, tries int,
	try func(h host, at cluster.Placement) (float64, error)) error {
	p.list(s)
	guest := s.Spec(id).Model
	p.order = p.order[:0]
	for g, from := range p.group {
		h := &p.hosts[from]
		v, ok := p.seen[pair{guest, h.model, h.gpuType}]
		if !ok {
			v = 1e9
		}
		p.order = append(p.order, ranked{g, v})
	}
	slices.SortStableFunc(p.order, func(a, b ranked) int { return cmp.Compare(b.worth, a.worth) })
	for _, r := range p.order {
		g := r.group
		if tries == 0 {
			return nil
		}
		to := len(p.hosts)
		if g+1 < len(p.group) {
			to = p.group[g+1]
		}
		looked := 0
		for i := p.group[g]; i < to && looked < looks; i++ {
			h := p.hosts[i]
			if h.alone < n {
				continue
			}
			looked++
			if s.Phase(h.job) != cluster.Running || !p.beside(s, id, n, a, h.job, equal) {
				continue
			}
			tries--
			v, err := try(h, p.fit)
			if err != nil {
				return err
			}
			if p.seen == nil {
				p.seen = map[pair]float64{}
			}
			p.seen[pair{guest, h.model, h.gpuType}] = v
			break
		}
	}
	return nil
}

// beside fills fit with n workers of a guest on GPUs of the host: on one server if one has room for all, else on the servers in
// the host's order.
func (p *partners) beside(s *cluster.View, id cluster.JobID, n int32, a cluster.Amount, h cluster.JobID, equal bool) bool {
	pieces := s.Placement(h)
	if equal && pieces.Workers() != n {
		return false
	}
	p.fit = p.fit[:0]
	left := n
	for pass := range 2 {
		for _, q := range pieces {
			if pass == 0 && q.Workers < n {
				continue
			}
			a.GPUMilli = cluster.WholeGPU - q.GPUMilli
			if a.GPUMilli == 0 {
				continue
			}
			room := min(aloneOn(s, h, q), left)
			if room > 0 {
				room = min(room, s.Fits(q.Server, id, a))
			}
			room -= room % s.Spec(id).Together()
			if room == 0 || pass == 0 && room < n || equal && room < q.Workers {
				continue
			}
			p.fit = append(p.fit, cluster.Piece{Server: q.Server, Workers: room, Amount: a})
			if left -= room; left == 0 {
				return true
			}
		}
	}
	return false
}

// trial asks the profile what a placement does. The zero value is ready.
type trial struct {
	coupled []cluster.JobID
	before  []float64
	harms   []harm // of the last placement that was tried
}

// harm is a running job whose speed a placement changes.
type harm struct {
	job           cluster.JobID
	before, after float64 // speeds
}

// try places the job, fills harms, returns the job's own speed and leaves it placed: the caller rolls back. ok is false, and
// nothing changed, where the state refuses the placement.
func (t *trial) try(tx *cluster.Txn, id cluster.JobID, p cluster.Placement) (own float64, ok bool, err error) {
	s := tx.View()
	profile := Profile(s)
	t.coupled = profile.Coupled(s, p, t.coupled[:0])
	slices.Sort(t.coupled)
	t.coupled = slices.Compact(t.coupled)
	t.before, t.harms = t.before[:0], t.harms[:0]
	for _, other := range t.coupled {
		t.before = append(t.before, profile.Speed(s, other))
	}
	if err := tx.Place(id, p); err != nil {
		if errors.Is(err, cluster.ErrInfeasible) {
			return 0, false, nil
		}
		return 0, false, err
	}
	for i, other := range t.coupled {
		if v := profile.Speed(s, other); v != t.before[i] {
			t.harms = append(t.harms, harm{other, t.before[i], v})
		}
	}
	return profile.Speed(s, id), true, nil
}
