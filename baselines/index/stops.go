package index

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
)

// stopper finds running jobs whose stop lets a waiting one start and costs less than that saves.
type stopper struct {
	s       *Scheduler
	looked  bool // at the running jobs, which only the first waiting job for which it may pay needs
	failed  []failed
	total   float64 // GPUs of the cluster
	running []runner
	at      []int32 // by JobID: 1 + index into running
	victims []victim
	best    []victim
	empty   []emptied
}

// runner is a running job and what its stop costs: at once, and for each hour that it then waits.
type runner struct {
	id         cluster.JobID
	left       time.Duration
	gpus       float64
	once, hour float64
	index      float64 // as of a waiting job
	spare      float64 // what it saves all that wait and have a higher index if it goes behind them, see stopper.spare
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

func (p *stopper) begin(s *Scheduler) { p.s, p.looked, p.failed = s, false, p.failed[:0] }

// look computes what a stop of each running job costs.
func (p *stopper) look() {
	s, v := p.s, p.s.view
	p.looked, p.running = true, p.running[:0]
	p.at = slices.Grow(p.at[:0], v.Jobs())[:v.Jobs()]
	clear(p.at)
	p.total = 0
	for i := range v.Servers() {
		p.total += float64(v.Working(cluster.ServerID(i)))
	}
	p.queue()
	for _, id := range v.Running() {
		r := runner{id: id, left: objectives.Left(v, id), gpus: v.Placement(id).GPUs()}
		if v.Now() < v.Since(id)+s.restart.least(v, id) {
			continue // it has just been started
		}
		again := r.left + s.restart.pause + time.Duration(float64(v.Progress(id))*s.restart.lost)
		r.once = s.meter.StopCost(id, s.restart.pause, s.restart.lost)
		if again != r.left {
			r.once += s.meter.Cost(v, id, 0, again, r.gpus) - s.meter.Cost(v, id, 0, r.left, r.gpus)
		}
		r.hour = s.meter.Rate(v, id, again, s.ahead, r.gpus)
		r.index = r.hour / (r.gpus * again.Hours())
		r.spare = p.spare(&r, again)
		p.running = append(p.running, r)
		p.at[id] = int32(len(p.running))
	}
}

// try starts a job that has found no room in the place of others, if that pays. Otherwise it changes nothing.
func (p *stopper) try(tx *cluster.Txn, j *live) (started bool, err error) {
	s := p.s
	if s.options.Stops == 0 || len(p.failed) >= mostFailed || s.view.NoPreemption() {
		return false, nil
	}
	if !p.looked {
		p.look()
	}
	gain := s.saves(j, 0, j.wait) + s.meter.Idle()*min(j.gpus, float64(s.view.FreeTotal()))*min(j.wait, j.left).Hours()
	if slices.ContainsFunc(p.failed, func(f failed) bool { return f.gpus <= j.gpus && f.gain >= gain }) {
		return false, nil
	}
	limit := max(gain, 0) / s.options.Stops
	for _, find := range [...]func(*live, float64){p.onOneServer, p.onServers, p.anywhere} {
		p.best = p.best[:0]
		if find(j, limit); len(p.best) == 0 {
			continue
		}
		if started, err = p.replace(tx, j); err != nil || started {
			return started, err
		}
	}
	p.failed = append(p.failed, failed{j.gpus, gain})
	return false, nil
}

// replace stops the best victims and starts the job, or changes nothing if it finds no room then.
func (p *stopper) replace(tx *cluster.Txn, j *live) (started bool, err error) {
	mark := tx.Mark()
	for _, v := range p.best {
		if err := tx.Preempt(v.id); err != nil {
			return false, err
		}
	}
	if started, err = p.s.place.Place(tx, j.id); err != nil || !started {
		tx.Rollback(mark)
		return false, err
	}
	for _, v := range p.best {
		p.at[v.id] = 0
	}
	return true, nil
}

// onOneServer looks for the cheapest stops on one server, for a job that one server can take, and puts them into best.
func (p *stopper) onOneServer(j *live, limit float64) {
	if j.gpus > float64(p.s.view.MostGPUs()) {
		return
	}
	for id := range p.allowed(j) {
		if float64(p.s.view.Working(id)) < j.gpus {
			continue
		}
		p.residents(j, id, limit)
		if cost, ok := p.cheapest(j.gpus-float64(p.s.view.FreeGPUs(id)), limit); ok {
			limit = cost
			p.best = append(p.best[:0], p.victims...)
		}
	}
}

// emptied is a server all of whose victims are stopped.
type emptied struct {
	id      cluster.ServerID
	cost    float64
	workers int // that find room more
}

// onServers looks for the servers that are cheapest to empty, for each worker of the job that then finds room.
func (p *stopper) onServers(j *live, limit float64) {
	p.empty = p.empty[:0]
	need := int(p.s.view.Spec(j.id).Workers)
	for id := range p.allowed(j) {
		free := float64(p.s.view.FreeGPUs(id))
		fit := int(free/j.worker + rounding)
		need -= fit
		p.residents(j, id, limit)
		e := emptied{id: id}
		for _, v := range p.victims {
			free += v.frees
			e.cost += v.cost
		}
		if e.workers = int(free/j.worker+rounding) - fit; e.workers > 0 {
			p.empty = append(p.empty, e)
		}
	}
	slices.SortFunc(p.empty, func(a, b emptied) int {
		return cmp.Or(cmp.Compare(a.cost/float64(a.workers), b.cost/float64(b.workers)), cmp.Compare(a.id, b.id))
	})
	cost := 0.0
	for _, e := range p.empty {
		if need <= 0 {
			break
		}
		need -= e.workers
		p.residents(j, e.id, limit)
		for _, v := range p.victims {
			if !slices.ContainsFunc(p.best, func(b victim) bool { return b.id == v.id }) {
				p.best = append(p.best, v)
				cost += v.cost
			}
		}
	}
	if need > 0 || cost >= limit {
		p.best = p.best[:0]
	}
}

// allowed yields the servers that a job may use.
func (p *stopper) allowed(j *live) iter.Seq[cluster.ServerID] {
	v := p.s.view
	return func(yield func(cluster.ServerID) bool) {
		for i := range v.Servers() {
			if id := cluster.ServerID(i); v.MayUse(j.id, id) && v.Open(id) && !yield(id) {
				return
			}
		}
	}
}

// residents puts the jobs of a server that may be stopped for less than the limit into victims.
func (p *stopper) residents(j *live, id cluster.ServerID, limit float64) {
	p.victims = p.victims[:0]
	for _, r := range p.s.view.Residents(id) {
		if x := p.at[r]; x > 0 {
			if cost := p.running[x-1].cost(j, p.s.options.Stops); cost < limit {
				p.victims = append(p.victims, victim{r, cost, float64(len(p.s.view.GPUsOn(r, id)))})
			}
		}
	}
}

// anywhere looks for the cheapest stops in the whole cluster, by its totals.
func (p *stopper) anywhere(j *live, limit float64) {
	p.victims = p.victims[:0]
	for i := range p.running {
		r := &p.running[i]
		if cost := r.cost(j, p.s.options.Stops); p.at[r.id] > 0 && cost < limit {
			p.victims = append(p.victims, victim{r.id, cost, r.gpus})
		}
	}
	if _, ok := p.cheapest(j.gpus-float64(p.s.view.FreeTotal()), limit); ok {
		p.best = append(p.best[:0], p.victims...)
	}
}

// queue adds up, in the order of the jobs that wait, their work and what their waiting costs if the cluster is one machine that
// does them in turn. What costs nothing until then has no rate, whatever it costs later.
func (p *stopper) queue() {
	work, rates := 0.0, 0.0
	for i := range p.s.waiting {
		j := &p.s.waiting[i]
		work += j.gpus * j.left.Hours()
		until := max(time.Duration(work/p.total*float64(time.Hour)), time.Second)
		rates += p.s.saves(j, 0, until) / until.Hours()
		j.work, j.rates = work, rates
	}
}

// spare returns what it saves if the job goes behind all that wait and have a higher index. The cluster counts as one machine:
// these jobs are done earlier by the work that the job has left, and it is done later by theirs. A waiting job's own gain says
// too little where GPUs become free often: it then leaves these to the next in the queue.
func (p *stopper) spare(r *runner, again time.Duration) (saved float64) {
	waiting, meter := p.s.waiting, p.s.meter
	n := sort.Search(len(waiting), func(i int) bool { return waiting[i].index <= r.index })
	if n == 0 {
		return 0
	}
	last := &waiting[n-1]
	delay := time.Duration(last.work / p.total * float64(time.Hour))
	own := meter.Cost(p.s.view, r.id, delay, again, r.gpus) - meter.Cost(p.s.view, r.id, 0, again, r.gpus)
	return last.rates*r.gpus*r.left.Hours()/p.total - own
}

// cost returns what it costs to stop the job for another: as long as that one runs or, if it comes before it in the order, for
// all that do, less what these save.
func (r *runner) cost(j *live, stops float64) float64 {
	alone := r.once + r.hour*j.left.Hours()
	if r.index < j.index {
		return min(alone, r.once-r.spare/stops)
	}
	return alone
}

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
