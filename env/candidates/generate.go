package candidates

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Bounds on the search of a board.
const (
	parts  = 8  // how many operations of the base's proposal become candidates of their own
	heads  = 64 // how many waiting jobs each order contributes, at most; the number is a quarter of Items, but at least 4
	gangs  = 2  // how many gangs servers may be reserved for
	gainer = 4  // how many changes to running jobs are added
	knees  = 4  // how many elastic jobs have their speed evaluated at several numbers of workers
)

// find adds the candidates that the board itself finds, in the order in which pick chose the jobs.
func (b *board) find() error {
	w := b.walk
	b.pick()
	w.memory.renew()
	b.racks = b.racks[:0]
	o := finder{w: w, tx: w.tx, plan: w.plan, queue: b.jobs}
	b.fits = b.fits[:0]
	for _, id := range b.jobs {
		fits, err := b.begin(&o, id)
		if err != nil {
			return err
		}
		b.fits = append(b.fits, fits)
	}
	o.all = b.made
	if w.Deltas && !w.tx.View().NoPreemption() {
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
	return nil
}

// pick chooses the waiting jobs for which the board searches: the first ones by remaining time, by age, by remaining GPU-time and
// by attained service, and the oldest job of each tenant.
func (b *board) pick() {
	s := b.walk.tx.View()
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

// ranked is a waiting job with its key in one of the orders.
type ranked struct {
	id  cluster.JobID
	key float64
}

// first adds the waiting jobs with the lowest keys.
func (b *board) first(key func(id cluster.JobID) float64) {
	n, heads := 0, b.heads()
	b.best = slices.Grow(b.best[:0], heads+1)
	best := b.best[:heads+1]
	for _, id := range b.walk.tx.View().Pending() {
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

func (b *board) heads() int { return min(max(b.walk.Items/4, 4), heads*b.walk.times()) }

// tenants adds the oldest waiting job of each of the first tenants that have one, if there is more than one tenant.
func (b *board) tenants() {
	s := b.walk.tx.View()
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

// shrink adds candidates that each shrink an elastic running job to its minimum while jobs wait. It tries up to most jobs, those
// with the longest remaining time first.
func (o *finder) shrink(most int) {
	if len(o.queue) == 0 {
		return
	}
	s, m := o.tx.View(), &o.w.memory
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

// hold adds candidates that reserve servers for the first gangs that do not fit, one that lets a gang that the base would spread
// wait for fewer servers, and one that gives up what is reserved. What is reserved for a gang is beside what is reserved already.
// If two gangs would wait for the same servers, the list has one more candidate for the second, beside the first: so that both
// can be taken.
func (b *board) hold(o *finder) {
	w := b.walk
	s, kept := w.tx.View(), w.front.holds
	if len(kept) > 0 {
		c := w.front.commitment
		c.holds = nil
		o.all = append(o.all, Candidate{Kind: Drop, Job: -1, commitment: c})
	}
	n := 0
	b.beside = append(b.beside[:0], kept...)
	reserve := func(id cluster.JobID, beside []reservation) bool {
		hold, ok := w.memory.reserve(s, id, beside)
		if !ok {
			return false
		}
		hold.until = s.Now() + w.Hold
		c := w.front.commitment
		c.holds = w.memory.holds(kept, hold)
		o.all = append(o.all, Candidate{Kind: Reserve, Job: id, Wait: hold.free - s.Now(), commitment: c})
		clash := slices.ContainsFunc(b.beside, func(r reservation) bool { return hold.conflicts(&r) })
		b.beside = append(b.beside, hold)
		return clash
	}
	for i, id := range b.jobs {
		if s.Spec(id).Workers < 2 || n == gangs*w.times() || b.fits[i] ||
			slices.ContainsFunc(kept, func(r reservation) bool { return r.gang == id }) {
			continue
		}
		before := len(o.all)
		if first := len(b.beside); reserve(id, kept) {
			reserve(id, b.beside[:first])
		}
		if len(o.all) > before {
			n++
		}
	}
	if len(kept) == 0 && len(o.plan) > 0 && !w.exempt(s, o.plan[0].job) {
		o.gather()
	}
}

// lend adds candidates that borrow a server of the inference pool while jobs wait, and that return a borrowed server on which
// nothing runs.
func (b *board) lend() {
	s := b.walk.tx.View()
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
