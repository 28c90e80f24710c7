package candidates

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// How far a board looks.
const (
	parts  = 8  // starts of the base's proposal that stand singly
	heads  = 64 // waiting jobs that are looked at by each order, at most; a quarter of what is wanted in all, but 4 at least
	gangs  = 2  // that servers may be held for
	gainer = 4  // changes to running jobs
)

// find adds what the board itself thinks of, the first jobs of the orders first.
func (b *Board) find() {
	w := b.walk
	b.pick()
	w.memory.renew()
	o := finder{w: w, tx: w.tx, plan: w.plan, queue: b.jobs}
	b.fits = b.fits[:0]
	for _, id := range b.jobs {
		b.fits = append(b.fits, b.begin(&o, id))
	}
	o.all = b.made
	if w.Deltas {
		n := w.times()
		o.gains(gainer * n)
		o.shrink(gangs * n)
		for _, id := range b.jobs[:min(2*n, len(b.jobs))] {
			o.stops(id, 2*n)
		}
	}
	b.hold(&o)
	b.made = o.all
	b.lend()
}

// pick chooses the waiting jobs that the board looks at: the first by age, by the time and the GPU-time that they still need, by
// the service that they have had, and of every tenant the one that came first.
func (b *Board) pick() {
	s := b.walk.tx.State()
	b.jobs = b.jobs[:0]
	for _, key := range []func(id cluster.JobID) float64{
		func(id cluster.JobID) float64 { return due(s, id).Seconds() },
		func(id cluster.JobID) float64 { return float64(s.Spec(id).Submit) },
		func(id cluster.JobID) float64 { return due(s, id).Seconds() * s.Spec(id).GPUs() },
		func(id cluster.JobID) float64 { return s.Attained(id).Seconds() },
	} {
		b.first(key)
	}
	b.tenants()
}

// ranked is a waiting job with its key in an order.
type ranked struct {
	id  cluster.JobID
	key float64
}

// first adds the waiting jobs with the lowest keys.
func (b *Board) first(key func(id cluster.JobID) float64) {
	n, heads := 0, b.heads()
	b.best = slices.Grow(b.best[:0], heads+1)
	best := b.best[:heads+1]
	for _, id := range b.walk.tx.State().Pending() {
		r := ranked{id, key(id)}
		if n == heads && (r.key > best[n-1].key || r.key == best[n-1].key && r.id > best[n-1].id) {
			continue
		}
		at := n
		for at > 0 && (r.key < best[at-1].key || r.key == best[at-1].key && r.id < best[at-1].id) {
			best[at] = best[at-1]
			at--
		}
		best[at] = r
		n = min(n+1, heads)
	}
	for _, r := range best[:n] {
		if !slices.Contains(b.jobs, r.id) {
			b.jobs = append(b.jobs, r.id)
		}
	}
}

func (b *Board) heads() int { return min(max(b.walk.Items/4, 4), heads*b.walk.times()) }

// tenants adds of the first tenants that wait the job that came first.
func (b *Board) tenants() {
	s := b.walk.tx.State()
	type head struct {
		tenant string
		id     cluster.JobID
	}
	var first [heads]head
	n := 0
	for _, id := range s.Pending() {
		spec := s.Spec(id)
		i := slices.IndexFunc(first[:n], func(h head) bool { return h.tenant == spec.Tenant })
		switch {
		case i < 0 && n < min(b.heads(), heads):
			first[n] = head{spec.Tenant, id}
			n++
		case i >= 0 && cmp.Or(cmp.Compare(spec.Submit, s.Spec(first[i].id).Submit), cmp.Compare(id, first[i].id)) < 0:
			first[i].id = id
		}
	}
	for _, h := range first[:n] {
		if n > 1 && !slices.Contains(b.jobs, h.id) {
			b.jobs = append(b.jobs, h.id)
		}
	}
}

// begin adds the ways in which a waiting job could start, and reports whether it could as the placer would start it.
func (b *Board) begin(o *finder, id cluster.JobID) bool {
	w := b.walk
	tx, s := w.tx, w.tx.State()
	spec := s.Spec(id)
	st, fits := o.fit(id)
	if fits {
		b.start(Begin, id, st.at)
		if at, ok := w.aligned(tx, &st); ok {
			b.start(Aligned, id, at)
		}
	}
	if at, ok := w.alone(s, id, spec.Workers, spec.Request); ok {
		b.start(Alone, id, at)
	}
	b.servers(id)
	sizes := [...]int32{spec.Workers, spec.Least(), spec.Most(), 2 * spec.Workers}
	for i, n := range sizes {
		if i == 0 || n > spec.Most() || slices.Contains(sizes[:i], n) {
			continue
		}
		if at, ok := w.memory.alone(s, id, n, spec.Request); ok {
			b.start(Sized, id, at)
		}
	}
	if w.Menu {
		b.asked(id)
		b.amounts(id)
	}
	if w.times() > 1 {
		b.more(id)
	}
	return fits
}

// asked adds to start a job with what it asks for, which a placer with a menu may never do.
func (b *Board) asked(id cluster.JobID) {
	m := &b.walk.memory
	from := len(m.pieces)
	var fits bool
	if m.pieces, fits = b.walk.tx.State().BestFit(id, m.pieces); !fits {
		m.pieces = m.pieces[:from]
		return
	}
	b.start(Begin, id, m.placed(from))
}

// amounts adds to start a job beside another, and with other CPU and memory.
func (b *Board) amounts(id cluster.JobID) {
	w := b.walk
	s, spec := w.tx.State(), w.tx.State().Spec(id)
	for _, p := range w.beside(w.tx, id, spec.Request) {
		b.start(Packed, id, p.at)
	}
	for _, factor := range []float64{0.5, 2} {
		a := spec.Request
		a.CPUMilli, a.MemMiB = int32(float64(a.CPUMilli)*factor), int32(float64(a.MemMiB)*max(factor, 1))
		if a == spec.Request {
			continue
		}
		if at, ok := w.memory.alone(s, id, spec.Workers, a); ok {
			b.start(Amounts, id, at)
		}
	}
}

// servers adds to start a job on the emptiest server that takes all of it, and on the fullest of every type of GPU.
func (b *Board) servers(id cluster.JobID) {
	s := b.walk.tx.State()
	spec := s.Spec(id)
	var found [1 + 16]cluster.ServerID // the emptiest, then by type the fullest
	for i := range found {
		found[i] = -1
	}
	emptiest, fullest := &found[0], found[1:]
	for i := range s.Servers() {
		v := cluster.ServerID(i)
		free := s.FreeGPUs(v)
		if free < spec.Workers && spec.Request.GPUMilli == cluster.WholeGPU || s.Fits(v, id, spec.Request) < spec.Workers {
			continue
		}
		if *emptiest < 0 || free > s.FreeGPUs(*emptiest) {
			*emptiest = v
		}
		if t := &fullest[s.TypeOf(v)]; *t < 0 || free < s.FreeGPUs(*t) {
			*t = v
		}
	}
	for i, v := range found {
		if v >= 0 && !slices.Contains(found[:i], v) {
			m := &b.walk.memory
			m.pieces = append(m.pieces, cluster.Piece{Server: v, Workers: spec.Workers, Amount: spec.Request})
			b.start(Begin, id, m.placed(len(m.pieces)-1))
		}
	}
}

// shrink adds to take workers from so many elastic running jobs, those with the longest to go, while jobs wait.
func (o *finder) shrink(most int) {
	if len(o.queue) == 0 {
		return
	}
	s, m := o.tx.State(), &o.w.memory
	for _, id := range o.longest() {
		spec, held := s.Spec(id), s.Placement(id)
		if held.Workers() <= spec.Least() || most == 0 {
			continue
		}
		most--
		mark, amount := o.tx.Mark(), held[0].Amount
		if o.tx.Preempt(id) != nil {
			continue
		}
		at, ok := m.alone(s, id, spec.Least(), amount)
		o.tx.Rollback(mark)
		if ok {
			ops := m.list(cluster.Proposal{Kind: cluster.OpResize, Job: id, Placement: at})
			o.all = append(o.all, Candidate{Kind: Shrink, Job: id, Ops: ops, commitment: o.now()})
		}
	}
}

// hold adds to hold servers for the first gangs that do not fit, to let a scattered gang of the base wait for fewer servers, and
// to give up what is held.
func (b *Board) hold(o *finder) {
	w := b.walk
	s := w.tx.State()
	if w.front.block != nil {
		c := w.front.commitment
		c.reservation = reservation{}
		o.all = append(o.all, Candidate{Kind: Drop, Job: -1, commitment: c})
		return
	}
	n := 0
	for i, id := range b.jobs {
		if s.Spec(id).Workers < 2 || n == gangs*w.times() || b.fits[i] {
			continue
		}
		if hold, ok := w.memory.reserve(s, id); ok {
			n++
			hold.until = s.Now() + w.Hold
			c := w.front.commitment
			c.reservation = hold
			o.all = append(o.all, Candidate{Kind: Reserve, Job: id, Wait: hold.free - s.Now(), commitment: c})
		}
	}
	if len(o.plan) > 0 && !w.exempt(s, o.plan[0].job) {
		o.gather()
	}
}

// lend adds to borrow a server of the inference pool while jobs wait, and to give one back that nobody uses.
func (b *Board) lend() {
	s := b.walk.tx.State()
	lend, back := cluster.ServerID(-1), cluster.ServerID(-1)
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		if s.Server(id).Pool != cluster.Inference {
			continue
		}
		switch {
		case s.OnLoan(id) && len(s.Residents(id)) == 0 && back < 0:
			back = id
		case !s.OnLoan(id) && !s.Down(id) && lend < 0 && len(s.Pending()) > 0:
			lend = id
		}
	}
	if lend >= 0 {
		b.add(Lend, -1, b.walk.memory.list(cluster.Proposal{Kind: cluster.OpLoan, Server: lend}))
	}
	if back >= 0 {
		b.add(Return, -1, b.walk.memory.list(cluster.Proposal{Kind: cluster.OpReclaim, Server: back}))
	}
}
