package review

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// think returns the offers beside the i-th start of a plan, or beside stopping after the last. The state is as before it.
func (r *Scheduler) think(tx *cluster.Txn, plan []start, i int) []Offer {
	s := tx.State()
	o := thoughts{r: r, tx: tx, plan: plan[i:]}
	if r.Moves {
		if i == len(plan) {
			o.changes()
		}
		return o.all
	}
	o.line = r.line(s, plan[i:])
	if i == len(plan) {
		if r.news {
			o.begin()
		}
		if r.Deltas {
			o.changes()
		}
		return o.all[:min(len(o.all), r.Items)]
	}
	if i == 0 {
		o.drop()
	}
	if r.Menu {
		o.packed()
	}
	if !r.exempt(s, plan[i].job) {
		o.gather()
	}
	if len(o.line) > 0 && !r.exempt(s, plan[i].job) {
		o.reserve()
		o.wait()
		o.first()
	}
	o.elsewhere()
	if r.Menu {
		o.sized()
	}
	return o.all[:min(len(o.all), r.Items)]
}

// thoughts is a list of offers in the making.
type thoughts struct {
	r    *Scheduler
	tx   *cluster.Txn
	plan []start
	line []cluster.JobID // jobs that the base leaves waiting, the shortest first
	all  []Offer
}

// line returns the waiting jobs that are not in the plan nor held at this instant, the one with the least to do first.
func (r *Scheduler) line(s *cluster.State, plan []start) []cluster.JobID {
	var line []cluster.JobID
	for _, id := range s.Pending() {
		planned := slices.ContainsFunc(plan, func(st start) bool { return st.job == id })
		if !planned && !slices.Contains(r.front.waits, id) {
			line = append(line, id)
		}
	}
	slices.SortFunc(line, func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(due(s, a), due(s, b)), cmp.Compare(a, b))
	})
	return line
}

// due is what a job has still to do by its estimate; the longest without one.
func due(s *cluster.State, id cluster.JobID) time.Duration {
	if left, ok := s.Remaining(id); ok {
		return left
	}
	return never
}

// start adds an offer that starts a job.
func (o *thoughts) start(kind Kind, c commitment, st start) {
	o.all = append(o.all, Offer{Kind: kind, Job: st.job, Ops: []cluster.Proposal{st.proposal()}, commitment: c})
}

// delay adds an offer that keeps the next job of the plan from starting, until so much later.
func (o *thoughts) delay(kind Kind, c commitment, wait time.Duration) {
	o.all = append(o.all, Offer{Kind: kind, Job: o.plan[0].job, Wait: wait, commitment: c})
}

// next is how long until a running job is expected to end, 0 if none is.
func (o *thoughts) next() time.Duration {
	s, next := o.tx.State(), never
	for _, id := range s.Running() {
		if s.Spec(id).Estimate > 0 {
			next = min(next, max(s.ExpectedFinish(id)-s.Now(), time.Second))
		}
	}
	if next == never {
		return 0
	}
	return next
}

// now is the commitment as it stands.
func (o *thoughts) now() commitment { return o.r.front.commitment }

// drop gives up the reservation.
func (o *thoughts) drop() {
	if c := o.now(); c.block != nil {
		c.reservation = reservation{}
		o.start(Drop, c, o.plan[0])
	}
}

// wait keeps the job, or all that would start, until something happens.
func (o *thoughts) wait() {
	if !slices.ContainsFunc(o.plan, func(st start) bool { return o.r.exempt(o.tx.State(), st.job) }) {
		c := o.now()
		c.stop = true
		o.delay(Stop, c, o.next())
	}
	if len(o.plan) > 1 {
		c := o.now()
		c.waits = append(slices.Clone(c.waits), o.plan[0].job)
		o.delay(Wait, c, o.next())
	}
}

// reserve holds a block for the first gang that waits in vain, where the job would be in its way.
func (o *thoughts) reserve() {
	s := o.tx.State()
	if o.now().block != nil {
		return
	}
	for _, id := range o.line {
		if s.Spec(id).Workers < 2 {
			continue
		}
		if _, fits := o.r.fit(o.tx, id); fits {
			continue // it would start from the block at once, and others wait in vain then
		}
		hold, ok := reserve(s, id)
		if !ok {
			continue
		}
		mark := o.tx.Mark()
		if o.tx.Place(o.plan[0].job, o.plan[0].at) != nil {
			return
		}
		obstructs := hold.obstructs(s, &o.plan[0])
		o.tx.Rollback(mark)
		if obstructs {
			hold.until = s.Now() + o.r.Hold
			c := o.now()
			c.reservation = hold
			o.delay(Reserve, c, hold.free-s.Now())
			return
		}
	}
}

// gather lets a gang that would be scattered wait for fewer servers, which are held for it.
func (o *thoughts) gather() {
	s, base := o.tx.State(), &o.plan[0]
	if n := fewest(s, base); len(base.at) > n && o.now().block == nil {
		if hold, ok := reserve(s, base.job); ok {
			hold.until, hold.servers = s.Now()+o.r.Hold, n
			c := o.now()
			c.reservation = hold
			o.delay(Gather, c, hold.free-s.Now())
		}
	}
}

// patience is how long a job waits before nobody is started any more that the base would not: nobody starves.
const patience = 24 * time.Hour

func (o *thoughts) starved() bool {
	s := o.tx.State()
	return slices.ContainsFunc(o.line, func(id cluster.JobID) bool { return s.Now()-s.Spec(id).Submit > patience })
}

// first starts a job that the base leaves waiting in the place of the next.
func (o *thoughts) first() {
	if o.starved() {
		return
	}
	for _, id := range o.line {
		if st, ok := o.r.fit(o.tx, id); ok {
			o.start(First, o.now(), st)
			return
		}
	}
}

// begin starts a job although the base has stopped.
func (o *thoughts) begin() {
	if o.starved() {
		return
	}
	for _, id := range o.line {
		if st, ok := o.r.fit(o.tx, id); ok {
			o.start(Begin, o.now(), st)
		}
		if len(o.all) == 2 {
			break
		}
	}
	if o.r.Menu && len(o.line) > 0 {
		id := o.line[0]
		for _, st := range beside(o.tx, id, o.tx.State().Spec(id).Request) {
			o.start(Begin, o.now(), st)
		}
	}
}

// fit proposes where the job could start now.
func (r *Scheduler) fit(tx *cluster.Txn, id cluster.JobID) (start, bool) {
	mark := tx.Mark()
	defer tx.Rollback(mark)
	r.begin.Reset(r.seed)
	if ok, err := r.begin.Place(tx, id); !ok || err != nil {
		return start{}, false
	}
	all, only := starts(tx, mark, nil)
	if !only || len(all) != 1 {
		return start{}, false
	}
	return all[0], true
}

// packed starts the job beside others.
func (o *thoughts) packed() {
	base := &o.plan[0]
	for _, st := range beside(o.tx, base.job, base.at[0].Amount) {
		if !slices.Equal(st.at, base.at) {
			o.start(Packed, o.now(), st)
		}
	}
	if !base.own {
		if at, ok := alone(o.tx.State(), base.job, o.tx.State().Spec(base.job).Workers, base.at[0].Amount); ok {
			o.start(Alone, o.now(), start{base.job, at, true})
		}
	}
}

// elsewhere starts the job on GPUs of its own on another server.
func (o *thoughts) elsewhere() {
	base := &o.plan[0]
	if at, ok := aligned(o.tx, base); ok {
		o.start(Aligned, o.now(), start{base.job, at, true})
	}
}

// sized starts an elastic job with other numbers of workers.
func (o *thoughts) sized() {
	base := &o.plan[0]
	spec := o.tx.State().Spec(base.job)
	tried := []int32{base.at.Workers()}
	for _, n := range []int32{spec.Workers, spec.Least(), spec.Most(), 2 * spec.Workers} {
		if n > spec.Most() || slices.Contains(tried, n) {
			continue
		}
		tried = append(tried, n)
		if at, ok := alone(o.tx.State(), base.job, n, base.at[0].Amount); ok {
			o.start(Sized, o.now(), start{base.job, at, true})
		}
	}
}
