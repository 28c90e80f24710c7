package index

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// stopper finds running jobs whose stop lets a waiting one start and costs less than that saves.
type stopper struct {
	s       *Scheduler
	looked  bool    // at the running jobs, which only the first waiting job for which it may pay needs
	claimed float64 // GPUs that jobs before in the order wait for
	failed  []failed
	running []runner
	at      []int32 // by JobID: 1 + index into running
	ends    []end
	victims []victim
	best    []victim
}

// runner is a running job and what its stop costs: at once, and for each hour that it then waits.
type runner struct {
	id         cluster.JobID
	left       time.Duration
	gpus       float64
	once, hour float64
}

// end is when jobs have ended that hold so many GPUs, together with those that are free.
type end struct {
	left time.Duration
	gpus float64
}

// failed is a waiting job for which no stop paid.
type failed struct{ gpus, gain float64 }

// mostFailed is for how many waiting jobs a decision looks for stops in vain.
const mostFailed = 8

// victim is a running job that may be stopped.
type victim struct {
	id    cluster.JobID
	cost  float64 // of its stop
	frees float64 // GPUs, on the server that is looked at or everywhere
}

func (p *stopper) begin(s *Scheduler) { p.s, p.looked, p.claimed, p.failed = s, false, 0, p.failed[:0] }

// look computes what a stop of each running job costs, and when GPUs become free without stops.
func (p *stopper) look() {
	s, v := p.s, p.s.view
	p.looked, p.running, p.ends = true, p.running[:0], p.ends[:0]
	p.at = slices.Grow(p.at[:0], v.Jobs())[:v.Jobs()]
	clear(p.at)
	for _, id := range v.Running() {
		r := runner{id: id, left: left(v, id), gpus: float64(v.Placement(id).GPUMilli()) / cluster.WholeGPU}
		p.ends = append(p.ends, end{r.left, r.gpus})
		if v.Now() < v.Since(id)+s.restart.least(v, id) {
			continue // it has just been started
		}
		again := r.left + s.restart.pause + time.Duration(float64(v.Progress(id))*s.restart.lost)
		r.once = s.meter.StopCost(id, s.restart.pause, s.restart.lost)
		if again != r.left {
			r.once += s.meter.Cost(v, id, 0, again, r.gpus) - s.meter.Cost(v, id, 0, r.left, r.gpus)
		}
		r.hour = s.meter.Rate(v, id, again, s.ahead, r.gpus)
		p.running = append(p.running, r)
		p.at[id] = int32(len(p.running))
	}
	slices.SortFunc(p.ends, func(a, b end) int { return cmp.Compare(a.left, b.left) })
	sum := float64(v.FreeTotal())
	for i := range p.ends {
		sum += p.ends[i].gpus
		p.ends[i].gpus = sum
	}
}

// wait returns when so many GPUs will be free if nobody is stopped, by the cluster's totals, counted from now.
func (p *stopper) wait(gpus float64) time.Duration {
	i := sort.Search(len(p.ends), func(i int) bool { return p.ends[i].gpus >= gpus })
	if i == len(p.ends) {
		return most
	}
	return p.ends[i].left
}

// try starts a job that has found no room in the place of others, if that pays. Otherwise it changes nothing.
func (p *stopper) try(tx *cluster.Txn, j *live) (started bool, err error) {
	s := p.s
	if s.options.Stops == 0 || j.rate <= 0 || len(p.failed) >= mostFailed || s.view.NoPreemption() {
		return false, nil
	}
	if !p.looked {
		p.look()
	}
	waits := p.wait(p.claimed + j.gpus)
	gain := s.meter.Cost(s.view, j.id, waits, j.left, j.gpus) - s.meter.Cost(s.view, j.id, 0, j.left, j.gpus)
	p.claimed += j.gpus
	if gain <= 0 || slices.ContainsFunc(p.failed, func(f failed) bool { return f.gpus <= j.gpus && f.gain >= gain }) {
		return false, nil
	}
	p.best = p.best[:0]
	limit := gain / s.options.Stops
	if p.onOneServer(j, limit); len(p.best) == 0 {
		p.anywhere(j, limit)
	}
	if len(p.best) == 0 {
		p.failed = append(p.failed, failed{j.gpus, gain})
		return false, nil
	}
	mark := tx.Mark()
	for _, v := range p.best {
		if err := tx.Preempt(v.id); err != nil {
			return false, err
		}
	}
	if started, err = s.place.Place(tx, j.id); err != nil || !started {
		tx.Rollback(mark)
		p.failed = append(p.failed, failed{j.gpus, gain})
		return false, err
	}
	p.claimed -= j.gpus
	for _, v := range p.best {
		p.at[v.id] = 0
	}
	return true, nil
}

// onOneServer looks for the cheapest stops on one server, for a job that one server can take, and puts them into best.
func (p *stopper) onOneServer(j *live, limit float64) {
	v := p.s.view
	spec := v.Spec(j.id)
	if j.gpus > float64(v.MostGPUs()) {
		return
	}
	for i := range v.Servers() {
		id := cluster.ServerID(i)
		allowed := spec.Allows(v.Server(id).GPUType) && (spec.Where == nil || spec.Where.Has(id))
		if !allowed || !v.Open(id) || float64(v.Working(id)) < j.gpus {
			continue
		}
		p.victims = p.victims[:0]
		for _, r := range v.Residents(id) {
			if x := p.at[r]; x > 0 {
				if cost := p.running[x-1].cost(j); cost < limit {
					p.victims = append(p.victims, victim{r, cost, float64(len(v.GPUsOn(r, id)))})
				}
			}
		}
		if cost, ok := p.cheapest(j.gpus-float64(v.FreeGPUs(id)), limit); ok {
			limit = cost
			p.best = append(p.best[:0], p.victims...)
		}
	}
}

// anywhere looks for the cheapest stops in the whole cluster, by its totals.
func (p *stopper) anywhere(j *live, limit float64) {
	p.victims = p.victims[:0]
	for i := range p.running {
		r := &p.running[i]
		if cost := r.cost(j); p.at[r.id] > 0 && cost < limit {
			p.victims = append(p.victims, victim{r.id, cost, r.gpus})
		}
	}
	if _, ok := p.cheapest(j.gpus-float64(p.s.view.FreeTotal()), limit); ok {
		p.best = append(p.best[:0], p.victims...)
	}
}

// cost returns what it costs to stop the job for as long as the other one runs.
func (r *runner) cost(j *live) float64 { return r.once + r.hour*j.left.Hours() }

// cheapest reduces victims to a cheap set that frees so many GPUs: those that cost least for each GPU, without those that the
// others make unnecessary. ok is false if there is none below the limit.
func (p *stopper) cheapest(gpus, limit float64) (cost float64, ok bool) {
	all := 0.0
	for i := range p.victims {
		all += p.victims[i].frees
	}
	if all < gpus || len(p.victims) == 0 {
		return 0, false
	}
	slices.SortFunc(p.victims, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.cost/max(a.frees, 0.01), b.cost/max(b.frees, 0.01)), cmp.Compare(a.id, b.id))
	})
	freed, n := 0.0, 0
	for ; n < len(p.victims) && freed < gpus; n++ {
		freed += p.victims[n].frees
	}
	p.victims = p.victims[:n]
	for i := 0; i < len(p.victims); i++ {
		if v := p.victims[i]; freed-v.frees >= gpus {
			freed -= v.frees
			p.victims = slices.Delete(p.victims, i, i+1)
			i--
		}
	}
	for _, v := range p.victims {
		cost += v.cost
	}
	return cost, cost < limit
}
