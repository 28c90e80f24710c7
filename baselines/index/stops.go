package index

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// stopper finds running jobs whose stop lets a waiting one start and costs less than that saves.
type stopper struct {
	s       *Scheduler
	ends    []live  // the running jobs by when they end
	claimed float64 // GPUs that jobs before in the order wait for
	tries   int
	victims []victim
	best    []victim
	at      map[cluster.JobID]int // index into the scheduler's running jobs
}

// victim is a running job that may be stopped.
type victim struct {
	id    cluster.JobID
	cost  float64 // of its stop
	frees float64 // GPUs, on the server that is looked at or everywhere
}

// mostTries is how many waiting jobs the rule tries in vain to make room for in one decision.
const mostTries = 32

func (p *stopper) begin(s *Scheduler) {
	p.s, p.claimed, p.tries = s, 0, 0
	p.ends = append(p.ends[:0], s.running...)
	slices.SortFunc(p.ends, func(a, b live) int { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.id, b.id)) })
	if p.at == nil {
		p.at = map[cluster.JobID]int{}
	}
	clear(p.at)
	for i := range s.running {
		p.at[s.running[i].id] = i
	}
}

// wait returns when so many GPUs will be free if nobody is stopped, by the cluster's totals, counted from now.
func (p *stopper) wait(gpus float64) time.Duration {
	free := float64(p.s.view.FreeTotal())
	for i := range p.ends {
		if free += p.ends[i].gpus; free >= gpus {
			return p.ends[i].left
		}
	}
	return most
}

// try starts a job that has found no room in the place of others, if that pays. Otherwise it changes nothing.
func (p *stopper) try(tx *cluster.Txn, j *live) (started bool, err error) {
	s := p.s
	defer func() {
		if !started {
			p.claimed += j.gpus
		}
	}()
	if s.options.Stops == 0 || j.rate <= 0 || p.tries >= mostTries || s.view.NoPreemption() {
		return false, nil
	}
	waits := p.wait(p.claimed + j.gpus)
	gain := s.meter.Cost(s.view, j.id, waits, j.left, j.gpus) - s.meter.Cost(s.view, j.id, 0, j.left, j.gpus)
	if gain <= 0 {
		return false, nil
	}
	p.tries++
	p.best = p.best[:0]
	cost := p.onOneServer(j, gain/s.options.Stops)
	if len(p.best) == 0 {
		cost = p.anywhere(j, gain/s.options.Stops)
	}
	if len(p.best) == 0 || cost*s.options.Stops >= gain {
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
		return false, err
	}
	p.tries--
	return true, nil
}

// onOneServer looks for the cheapest stops on one server, for a job that one server can take, and puts them into best.
func (p *stopper) onOneServer(j *live, limit float64) float64 {
	v := p.s.view
	spec := v.Spec(j.id)
	for i := range v.Servers() {
		id := cluster.ServerID(i)
		if !v.Open(id) || float64(v.Working(id)) < j.gpus || !spec.Allows(v.Server(id).GPUType) || spec.Where != nil && !spec.Where.Has(id) {
			continue
		}
		p.victims = p.victims[:0]
		for _, r := range v.Residents(id) {
			if x, ok := p.victim(r, j); ok {
				x.frees = float64(len(v.GPUsOn(r, id)))
				p.victims = append(p.victims, x)
			}
		}
		if cost, ok := p.cheapest(j.gpus-float64(v.FreeGPUs(id)), limit); ok {
			limit = cost
			p.best = append(p.best[:0], p.victims...)
		}
	}
	return limit
}

// anywhere looks for the cheapest stops in the whole cluster, by its totals.
func (p *stopper) anywhere(j *live, limit float64) float64 {
	p.victims = p.victims[:0]
	for i := range p.s.running {
		if x, ok := p.victim(p.s.running[i].id, j); ok {
			p.victims = append(p.victims, x)
		}
	}
	cost, ok := p.cheapest(j.gpus-float64(p.s.view.FreeTotal()), limit)
	if ok {
		p.best = append(p.best[:0], p.victims...)
		return cost
	}
	return limit
}

// victim returns what it costs to stop a job for as long as the other one runs; ok is false if it was started just now.
func (p *stopper) victim(id cluster.JobID, j *live) (v victim, ok bool) {
	s := p.s
	at, known := p.at[id]
	if !known || s.view.Phase(id) != cluster.Running || s.view.Since(id) > s.view.Now() {
		return victim{}, false
	}
	r := &s.running[at]
	again := r.left + s.restart.pause + time.Duration(float64(s.view.Progress(id))*s.restart.lost)
	cost := s.meter.StopCost(id, s.restart.pause, s.restart.lost)
	cost += s.meter.Cost(s.view, id, j.left, again, r.gpus) - s.meter.Cost(s.view, id, 0, r.left, r.gpus)
	return victim{id: id, cost: cost, frees: r.gpus}, true
}

// cheapest reduces victims to a cheap set that frees so many GPUs: those that cost least for each GPU, without those that the others
// make unnecessary. ok is false if there is none below the limit.
func (p *stopper) cheapest(gpus, limit float64) (cost float64, ok bool) {
	slices.SortFunc(p.victims, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.cost/max(a.frees, 0.01), b.cost/max(b.frees, 0.01)), cmp.Compare(a.id, b.id))
	})
	freed, n := 0.0, 0
	for ; n < len(p.victims) && freed < gpus; n++ {
		freed += p.victims[n].frees
	}
	if freed < gpus || n == 0 {
		return math.Inf(1), false
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
