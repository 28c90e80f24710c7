package candidates

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// find returns the alternatives to the i-th start of a plan or, after the last start, to stopping there. The state is that before
// that start. The candidates are valid until the next call.
func (w *walk) find(plan []start, i int) []Candidate {
	w.memory.renew()
	o := finder{w: w, tx: w.tx, plan: plan[i:], all: w.made[:0]}
	switch {
	case i == len(plan):
		o.more()
	case !w.Moves:
		o.instead(i == 0)
	}
	w.made = o.all
	return o.all[:min(len(o.all), w.Items)]
}

// instead adds the alternatives to the next start of the plan.
func (o *finder) instead(first bool) {
	w, s, job := o.w, o.tx.View(), o.plan[0].job
	o.queue = w.queue(s, o.plan)
	if first {
		o.drop()
	}
	if w.Menu {
		o.packed()
	}
	if !w.exempt(s, job) {
		o.gather()
	}
	if len(o.queue) > 0 && !w.exempt(s, job) {
		o.reserve()
		o.wait()
		o.first()
	}
	o.elsewhere()
	if w.Menu {
		o.sized()
	}
}

// more adds what could be done after the last start.
func (o *finder) more() {
	if o.w.news && !o.w.Moves {
		o.queue = o.w.queue(o.tx.View(), nil)
		o.begin()
	}
	if o.w.Deltas || o.w.Moves {
		o.changes()
	}
}

// finder collects the candidates of one list.
type finder struct {
	w     *walk
	tx    *cluster.Txn
	plan  []start
	queue []cluster.JobID // jobs that the base leaves waiting, the shortest first
	all   []Candidate
	// ranked reports whether walk.longest is computed for this state.
	ranked bool
	room   int32 // 1 more than the number of GPUs that are not wholly in use, 0 before it is computed
}

// queue returns the waiting jobs that are neither in the plan nor kept from starting at this instant, the shortest remaining work
// first.
func (w *walk) queue(s *cluster.View, plan []start) []cluster.JobID {
	queue := w.waiting[:0]
	w.ids = w.ids[:0]
	for i := range plan {
		w.ids = append(w.ids, plan[i].job)
	}
	slices.Sort(w.ids)
	for _, id := range s.Pending() {
		if _, planned := slices.BinarySearch(w.ids, id); !planned && !slices.Contains(w.front.waits, id) {
			queue = append(queue, id)
		}
	}
	slices.SortFunc(queue, func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(due(s, a), due(s, b)), cmp.Compare(a, b))
	})
	w.waiting = queue
	return queue
}

// due returns a job's estimated remaining work, or Never if it has no estimate.
func due(s *cluster.View, id cluster.JobID) time.Duration {
	if left, ok := s.Remaining(id); ok {
		return left
	}
	return cluster.Never
}

// start adds a candidate that starts a job.
func (o *finder) start(kind Kind, c commitment, st start) {
	o.all = append(o.all, Candidate{Kind: kind, Job: st.job, Ops: o.w.memory.list(st.proposal()), commitment: c})
}

// delay adds a candidate that keeps the next job of the plan from starting for the expected time wait.
func (o *finder) delay(kind Kind, c commitment, wait time.Duration) {
	o.all = append(o.all, Candidate{Kind: kind, Job: o.plan[0].job, Wait: wait, commitment: c})
}

// next returns the time until the first running job is expected to end, 0 if the estimates predict none.
func (o *finder) next() time.Duration {
	s, next := o.tx.View(), cluster.Never
	for _, id := range s.Running() {
		next = min(next, max(s.Left(id), time.Second))
	}
	if next == cluster.Never {
		return 0
	}
	return next
}

// now returns the base's present commitment.
func (o *finder) now() commitment { return o.w.front.commitment }

// drop adds a candidate that starts the next job and gives up the reservation.
func (o *finder) drop() {
	if c := o.now(); len(c.holds) > 0 {
		c.holds = nil
		o.start(Drop, c, o.plan[0])
	}
}

// wait adds candidates that keep the next job, or all jobs of the plan, from starting at this instant.
func (o *finder) wait() {
	if !slices.ContainsFunc(o.plan, func(st start) bool { return o.w.exempt(o.tx.View(), st.job) }) {
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

// reserve adds a candidate that reserves servers for the first waiting gang that does not fit now and that the next job would
// delay by taking one of these servers.
func (o *finder) reserve() {
	s, m, base := o.tx.View(), &o.w.memory, &o.plan[0]
	if len(o.now().holds) > 0 {
		return
	}
	mark, ends := o.tx.Mark(), cluster.Never
	if !o.tx.Try(&cluster.Proposal{Kind: cluster.OpPlace, Job: base.job, Placement: base.at}) {
		return
	}
	if s.Knows(base.job) {
		ends = s.ExpectedFinish(base.job)
	}
	o.tx.Rollback(mark)
	for _, id := range o.queue {
		if s.Spec(id).Workers < 2 {
			continue
		}
		free, ok := m.choose(s, id, nil)
		if !ok || ends <= free || !m.meets(base.at) {
			continue
		}
		if _, fits := o.fit(id); fits {
			continue // the gang would start in the block at once, and the other jobs would have waited for nothing
		}
		hold := m.block(s, id, free)
		hold.until = s.Now() + o.w.Hold
		c := o.now()
		c.holds = m.holds(nil, hold)
		o.delay(Reserve, c, free-s.Now())
		return
	}
}

// gather adds a candidate that lets a gang, which the base would spread over more servers than it needs, wait for fewer servers,
// which are reserved for it.
func (o *finder) gather() {
	s, base := o.tx.View(), &o.plan[0]
	if n := fewest(s, base); len(base.at) > n && len(o.now().holds) == 0 {
		if hold, ok := o.w.memory.reserve(s, base.job, nil); ok {
			hold.until, hold.servers = s.Now()+o.w.Hold, n
			c := o.now()
			c.holds = o.w.memory.holds(nil, hold)
			o.delay(Gather, c, hold.free-s.Now())
		}
	}
}

// patience is the waiting time of a job beyond which candidates no longer start jobs ahead of the base's order, so that no job
// starves.
const patience = 24 * time.Hour

func (o *finder) starved() bool {
	s := o.tx.View()
	return slices.ContainsFunc(o.queue, func(id cluster.JobID) bool { return s.Now()-s.Spec(id).Submit > patience })
}

// first adds a candidate that starts, in place of the next job, a job that the base leaves waiting.
func (o *finder) first() {
	if o.starved() {
		return
	}
	for _, id := range o.queue {
		if st, ok := o.fit(id); ok {
			o.start(First, o.now(), st)
			return
		}
	}
}

// begin adds candidates that start a job after the base's last start.
func (o *finder) begin() {
	if o.starved() {
		return
	}
	for _, id := range o.queue {
		if st, ok := o.fit(id); ok {
			o.start(Begin, o.now(), st)
		}
		if len(o.all) == 2 {
			break
		}
	}
	if o.w.Menu && len(o.queue) > 0 {
		id := o.queue[0]
		for _, p := range o.w.beside(o.tx, id, o.tx.View().Spec(id).Request) {
			o.start(Begin, o.now(), p.start)
		}
	}
}

// fit is walk.fit in the state before all candidates. It first compares the job with the number of idle GPUs, as most waiting
// jobs need more.
func (o *finder) fit(id cluster.JobID) (start, bool) {
	if o.tx.View().Spec(id).Least() > o.idle() {
		return start{}, false
	}
	return o.w.fit(o.tx, id)
}

// idle returns the number of GPUs that are not wholly in use in the state before all candidates. A job needs at least one per
// worker.
func (o *finder) idle() int32 {
	if o.room == 0 {
		s := o.tx.View()
		o.room = 1
		for i := range s.Servers() {
			if id := cluster.ServerID(i); s.Open(id) {
				o.room += vacant(s, id)
			}
		}
	}
	return o.room - 1
}

// vacant returns the number of a server's GPUs that are not wholly in use.
func vacant(s *cluster.View, id cluster.ServerID) (n int32) {
	for _, use := range s.GPUUse(id) {
		if use < cluster.WholeGPU {
			n++
		}
	}
	return n
}

// fit returns a start of the job at the placement that the placer would choose now; ok is false if the job does not fit.
func (w *walk) fit(tx *cluster.Txn, id cluster.JobID) (start, bool) {
	mark := tx.Mark()
	defer tx.Rollback(mark)
	w.begin.Reset(w.seed)
	if ok, err := w.begin.Place(tx, id); !ok || err != nil {
		return start{}, false
	}
	var only bool
	if w.fits, only = w.memory.starts(tx, mark, w.fits[:0]); !only || len(w.fits) != 1 {
		return start{}, false
	}
	return w.fits[0], true
}

// packed adds candidates that start the next job on GPUs that it shares with another job or, if the base shares them already, on
// GPUs of its own.
func (o *finder) packed() {
	base := &o.plan[0]
	for _, p := range o.w.beside(o.tx, base.job, base.at[0].Amount) {
		if !slices.Equal(p.at, base.at) {
			o.start(Packed, o.now(), p.start)
		}
	}
	if !base.own {
		if at, ok := o.w.alone(o.tx.View(), base.job, o.tx.View().Spec(base.job).Workers, base.at[0].Amount); ok {
			o.start(Alone, o.now(), start{base.job, at, true})
		}
	}
}

// elsewhere adds a candidate that starts the next job on its own GPUs on another server.
func (o *finder) elsewhere() {
	base := &o.plan[0]
	if at, ok := o.w.aligned(o.tx, base); ok {
		o.start(Aligned, o.now(), start{base.job, at, true})
	}
}

// sized adds candidates that start an elastic job with other numbers of workers.
func (o *finder) sized() {
	base := &o.plan[0]
	spec := o.tx.View().Spec(base.job)
	tried := []int32{base.at.Workers()}
	for _, n := range []int32{spec.Workers, spec.Least(), spec.Most(), 2 * spec.Workers} {
		if n > spec.Most() || slices.Contains(tried, n) {
			continue
		}
		tried = append(tried, n)
		if at, ok := o.w.alone(o.tx.View(), base.job, n, base.at[0].Amount); ok {
			o.start(Sized, o.now(), start{base.job, at, true})
		}
	}
}
