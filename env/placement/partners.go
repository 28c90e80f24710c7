package placement

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// If a job runs as fast on a share of a GPU, it takes only a share of the unused GPUs that it starts on. It is then a host:
// another job, its guest, can join it later and take the rest. The transaction chooses the GPUs of a server, for a share the
// fullest GPU that can hold it. Therefore
//
//   - a job that is to have unused GPUs takes a share that fits on no GPU in use: about half, and different from all other shares
//     on the server (Alone);
//   - a guest takes exactly what its host leaves, so that it joins this host and no other (partners.beside).

// Alone sets the shares of a placement on unused GPUs so that the transaction puts no worker on a GPU in use, and so that no two
// jobs on a server hold the same share.
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

// host is a running job that alone holds a share of its GPUs, so that a guest can join it.
type host struct {
	job           cluster.JobID
	kind, gpuType string        // see cluster.SpeedKind
	alone         int32         // number of GPUs that the job alone holds a share of
	left          time.Duration // expected time to go; 0 without an estimate
}

// partners finds hosts for guests. The zero value is ready to use.
type partners struct {
	fresh  bool
	now    time.Duration
	mark   int
	listed bool // hosts is filled; it is filled only when needed
	hosts  []host
	group  []int // indexes into hosts at which each kind and GPU type begins
	seats  seats
	order  []ranked // the groups, in the order of trial for the present guest
	seen   map[pair]float64
	fit    cluster.Placement
}

// ranked is a group of hosts with the last measured quality of a pair of the guest and such a host.
type ranked struct {
	group int
	worth float64
}

// pair is the kind of a guest, the kind of its host and the host's GPU type.
type pair struct{ guest, host, gpuType string }

// reset forgets all that was seen and keeps the memory.
func (p *partners) reset() {
	p.fresh, p.listed = false, false
	clear(p.seen)
}

// refresh reports whether this is the first call of a pass. In a pass, partners lists the hosts when a placer first asks for
// them and then adds each job that starts. Until the first question no job can have become a guest, so the time of listing does
// not matter.
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
	p.hosts = p.seats.sort(s, p.hosts)
	p.groupUp()
}

// seats sorts hosts again that were sorted before.
type seats struct {
	kept, moved []host
	looked      []bool // by job id: whether sort has looked at the job; false between calls
}

// sort returns the hosts among the running jobs in order, in the memory of before, which contains them as sorted earlier. Most
// are still in that order, so that sort compares each with the one before it and sorts only those that are not.
func (e *seats) sort(s *cluster.View, before []host) []host {
	e.kept, e.moved = e.kept[:0], e.moved[:0]
	if n := s.Jobs() - len(e.looked); n > 0 {
		e.looked = append(e.looked, make([]bool, n)...)
	}
	for i := range before {
		id := before[i].job
		if int(id) >= s.Jobs() || s.Phase(id) != cluster.Running {
			continue
		}
		e.looked[id] = true
		switch h := hostOf(s, id); {
		case h.alone == 0:
		case len(e.kept) == 0 || e.kept[len(e.kept)-1].compare(&h) < 0:
			e.kept = append(e.kept, h)
		default:
			e.moved = append(e.moved, h)
		}
	}
	for _, id := range s.Running() {
		if !e.looked[id] {
			if h := hostOf(s, id); h.alone > 0 {
				e.moved = append(e.moved, h)
			}
		}
	}
	for i := range before {
		e.looked[before[i].job] = false
	}
	slices.SortFunc(e.moved, inOrder)
	all, moved := before[:0], e.moved
	for i := range e.kept {
		for len(moved) > 0 && moved[0].compare(&e.kept[i]) < 0 {
			all, moved = append(all, moved[0]), moved[1:]
		}
		all = append(all, e.kept[i])
	}
	return append(all, moved...)
}

// hostOf describes a running job as a host. If a guest cannot join it, alone is 0 and only the id is set.
func hostOf(s *cluster.View, id cluster.JobID) host {
	h, gpus := host{job: id}, s.GPUs(id)
	for _, q := range s.Placement(id) {
		h.alone += alone(s, q, gpus[:q.Workers])
		gpus = gpus[q.Workers:]
	}
	if h.alone == 0 {
		return h
	}
	h.kind, _ = cluster.SpeedKind(s.Profile(), s.Spec(id))
	h.gpuType = s.Server(s.Placement(id)[0].Server).GPUType
	if s.Knows(id) {
		h.left = max(s.ExpectedFinish(id)-s.Now(), 1)
	}
	return h
}

// aloneOn counts the GPUs of a job's piece that a guest can join.
func aloneOn(s *cluster.View, id cluster.JobID, q cluster.Piece) int32 {
	return alone(s, q, s.GPUsOn(id, q.Server))
}

// alone is aloneOn for a piece on the given GPUs.
func alone(s *cluster.View, q cluster.Piece, gpus []int32) (n int32) {
	if q.GPUMilli == cluster.WholeGPU {
		return 0
	}
	use := s.GPUUse(q.Server)
	for _, g := range gpus {
		if int32(use[g]) == q.GPUMilli {
			n++
		}
	}
	return n
}

// compare orders hosts by kind and GPU type; within these, the host with the longest to go comes first.
func (h *host) compare(o *host) int {
	switch {
	case h.kind != o.kind:
		return cmp.Compare(h.kind, o.kind)
	case h.gpuType != o.gpuType:
		return cmp.Compare(h.gpuType, o.gpuType)
	case h.left != o.left:
		return cmp.Compare(o.left, h.left)
	}
	return cmp.Compare(h.job, o.job)
}

func inOrder(a, b host) int { return a.compare(&b) }

// groupUp sets group from the sorted hosts.
func (p *partners) groupUp() {
	p.group = p.group[:0]
	for i := range p.hosts {
		if i == 0 || !p.hosts[i].like(&p.hosts[i-1]) {
			p.group = append(p.group, i)
		}
	}
}

// like reports whether two hosts belong to one group.
func (h *host) like(o *host) bool { return h.kind == o.kind && h.gpuType == o.gpuType }

// grow updates group after a host has been inserted.
func (p *partners) grow(at int) {
	g, _ := slices.BinarySearch(p.group, at)
	for i := range p.group[g:] {
		p.group[g+i]++
	}
	switch h := &p.hosts[at]; {
	case at > 0 && h.like(&p.hosts[at-1]):
	case at+1 < len(p.hosts) && h.like(&p.hosts[at+1]):
		p.group[g] = at
	default:
		p.group = slices.Insert(p.group, g, at)
	}
}

// started adds a job that has been placed since refresh.
func (p *partners) started(tx *cluster.Txn, id cluster.JobID) {
	p.mark = tx.Mark()
	if !p.listed {
		return
	}
	if h := hostOf(tx.View(), id); h.alone > 0 {
		at, _ := slices.BinarySearchFunc(p.hosts, h, inOrder)
		p.hosts = slices.Insert(p.hosts, at, h)
		p.grow(at)
	}
}

const looks = 16 // number of hosts of a kind that each rejects before it goes on to the next kind

const mostPairs = 1 << 16 // number of pairs whose quality is kept

// each calls try with a placement of n workers beside one host of each kind, until it has made the parameter tries of such
// calls. Kinds that it has not tried yet with this guest come first, then those that were best when last tried. try returns the
// quality of the pair. With equal, the guest must take exactly the host's GPUs.
func (p *partners) each(s *cluster.View, id cluster.JobID, n int32, a cluster.Amount, equal bool, tries int,
	try func(h host, at cluster.Placement) (float64, error)) error {
	p.list(s)
	guest, _ := cluster.SpeedKind(s.Profile(), s.Spec(id))
	p.order = p.order[:0]
	for g, from := range p.group {
		h := &p.hosts[from]
		worth := 1e9
		if len(p.seen) > 0 {
			if v, ok := p.seen[pair{guest, h.kind, h.gpuType}]; ok {
				worth = v
			}
		}
		p.order = append(p.order, ranked{g, worth})
	}
	if len(p.seen) > 0 {
		slices.SortStableFunc(p.order, func(a, b ranked) int { return cmp.Compare(b.worth, a.worth) })
	}
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
			if p.seen == nil || len(p.seen) >= mostPairs {
				p.seen = map[pair]float64{}
			}
			p.seen[pair{guest, h.kind, h.gpuType}] = v
			break
		}
	}
	return nil
}

// beside fills fit with n workers of a guest on GPUs of the host h and reports whether they fit: on one server if one can hold
// them all, otherwise on several in the host's order.
func (p *partners) beside(s *cluster.View, id cluster.JobID, n int32, a cluster.Amount, h cluster.JobID, equal bool) bool {
	pieces := s.Placement(h)
	if equal && pieces.Workers() != n {
		return false
	}
	if len(pieces) == 1 && lacks(s, pieces[0].Server, n, a) {
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

// lacks reports whether the server has too little CPU or memory left for n workers that each hold the amount a.
func lacks(s *cluster.View, id cluster.ServerID, n int32, a cluster.Amount) bool {
	return s.FreeCPU(id) < int64(n)*int64(a.CPUMilli) || s.FreeMem(id) < int64(n)*int64(a.MemMiB)
}

// trial asks the profile how a placement changes speeds. The zero value is ready to use.
type trial struct {
	affected []cluster.JobID
	after    []float64
	harms    []harm // effects of the last placement that was tried
}

// harm is a running job whose speed a placement changes.
type harm struct {
	job           cluster.JobID
	before, after float64 // speeds
}

// try places the job, fills harms, takes the placement back and returns the speed that the job had. If the state does not allow
// the placement, ok is false.
func (t *trial) try(tx *cluster.Txn, id cluster.JobID, p cluster.Placement) (own float64, ok bool, err error) {
	s, mark := tx.View(), tx.Mark()
	profile := Profile(s)
	t.affected, t.after, t.harms = t.affected[:0], t.after[:0], t.harms[:0]
	if err := tx.Place(id, p); err != nil {
		if errors.Is(err, cluster.ErrInfeasible) {
			return 0, false, nil
		}
		return 0, false, err
	}
	own = profile.Speed(s, id)
	t.affected = cluster.Affected(profile, s, id, t.affected)
	slices.Sort(t.affected)
	t.affected = slices.Compact(t.affected)
	for _, other := range t.affected {
		t.after = append(t.after, profile.Speed(s, other))
	}
	tx.Rollback(mark)
	for i, other := range t.affected {
		if other == id {
			continue
		}
		if before := profile.Speed(s, other); before != t.after[i] {
			t.harms = append(t.harms, harm{other, before, t.after[i]})
		}
	}
	return own, true, nil
}
