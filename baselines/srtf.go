package baselines

import (
	"cmp"
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// srtf runs the live jobs with the shortest time left, in the order (time left, submit, id). It skips jobs that do not fit, and
// preempts running jobs for shorter ones.
//
// The expected finish of a running job does not change while its speed does not, so the running jobs stay sorted. A pass looks
// only at the first waiting job of every shape and at the last running jobs, so its cost grows with the number of changes, not
// with the number of live jobs. If a count of free GPUs does not decide what fits (GPU shares, CPU, memory), the preemptive order
// takes over. Where both apply, both give the same schedule. It also takes over if the View shows beliefs
// (see cluster.Txn.As), because then keys change at any time, and if the cluster forbids preemption.
type srtf struct {
	wait    waiting
	running roster          // by expected finish
	stop    []cluster.JobID // jobs stopped in the last pass; the next pass puts them into the queue
	start   []cluster.JobID // jobs to start in this pass
	all     preemptive      // looks at all jobs, where a count of GPUs does not decide what fits
	planned bool            // all has taken over
}

func newSRTF(all preemptive) *srtf { return &srtf{all: all} }

func (p *srtf) Name() string { return p.all.name }

func (p *srtf) Reset(seed uint64) error {
	p.wait.reset()
	p.running.reset()
	p.stop, p.start, p.planned = p.stop[:0], p.start[:0], false
	return p.all.Reset(seed)
}

func (p *srtf) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	if p.planned = p.planned || s.Believes() || s.NoPreemption(); p.planned {
		return p.all.Schedule(tx)
	}
	// The time left of a stopped job is known only after the stop, because the stop may cost it its work.
	for _, id := range p.stop {
		if err := p.queue(s, id); err != nil {
			return err
		}
	}
	p.stop = p.stop[:0]
	for _, e := range tx.Events() {
		if p.planned = !countable(s, e); p.planned {
			return p.all.Schedule(tx)
		}
		if err := p.note(s, e); err != nil {
			return err
		}
	}
	p.running.refresh(s)
	p.choose(s)
	for _, id := range p.stop {
		if err := tx.Preempt(id); err != nil {
			return err
		}
	}
	for _, id := range p.start {
		if started, err := p.all.plan.place.Place(tx, id); err != nil || !started {
			return cmp.Or(err, fmt.Errorf("job %d found no servers although enough GPUs are free", id))
		}
	}
	return nil
}

// countable reports whether the event's job needs nothing but whole GPUs of any type, and holds nothing else.
func countable(s *cluster.View, e cluster.Event) bool {
	if e.Kind != cluster.Arrived && e.Kind != cluster.Found {
		return true
	}
	held := s.Placement(e.Job)
	return s.Countable(s.Shape(e.Job)) && (held == nil || held.GPUMilli() == int64(held.Workers())*cluster.WholeGPU)
}

func (p *srtf) note(s *cluster.View, e cluster.Event) error {
	switch e.Kind {
	case cluster.Interrupted:
		p.running.drop(e.Job)
		return p.queue(s, e.Job)
	case cluster.Arrived:
		return p.queue(s, e.Job)
	case cluster.Found:
		if _, err := timeLeft(s, e.Job); err != nil {
			return err
		}
		p.running.put(s, e.Job, s.ExpectedFinish(e.Job))
	case cluster.Finished:
		p.running.drop(e.Job)
	case cluster.Respeed:
		p.running.put(s, e.Job, s.ExpectedFinish(e.Job))
	}
	return nil
}

func (p *srtf) queue(s *cluster.View, id cluster.JobID) error {
	left, err := timeLeft(s, id)
	p.wait.push(placement.Plain(s, id), ticket{max(left, 0), s.Spec(id).Submit, id})
	return err
}

// choose decides, in order of time left, which jobs start and which stop. free may fall below 0: choose has then given GPUs to
// jobs that the last running jobs still hold, and stops the first of these that no longer fits when its turn comes.
func (p *srtf) choose(s *cluster.View) {
	p.stop, p.start = p.stop[:0], p.start[:0]
	p.wait.pass()
	free := s.FreeTotal()
	for {
		victim := p.victim(s, free)
		q := p.wait.first()
		var next ticket
		if q >= 0 {
			next = p.wait.head(q)
			next.key += s.Now()
		}
		switch {
		case q < 0 && victim < 0:
			return
		case q < 0 || victim >= 0 && p.running.order[victim].before(next):
			id := p.running.order[victim].job
			free += int64(workersOf(s, id))
			p.running.drop(id)
			p.stop = append(p.stop, id)
			p.wait.refuse(p.wait.queue(placement.Plain(s, id)))
		case p.room(s, free, next, p.wait.kinds[q].Shape.Workers):
			p.wait.pop(q)
			free -= int64(p.wait.kinds[q].Shape.Workers)
			p.start = append(p.start, next.job)
			p.running.put(s, next.job, next.key)
		default:
			p.wait.refuse(q)
		}
	}
}

// victim returns the index of the first running job in order that no longer fits, or -1 if all fit.
func (p *srtf) victim(s *cluster.View, free int64) int {
	at := -1
	for i := len(p.running.order) - 1; i >= 0 && free < 0; i-- {
		at = i
		free += int64(workersOf(s, p.running.order[i].job))
	}
	return at
}

// room reports whether n GPUs are free or held by running jobs that come after t in the order.
func (p *srtf) room(s *cluster.View, free int64, t ticket, n int32) bool {
	for i := len(p.running.order) - 1; i >= 0 && free < int64(n) && t.before(p.running.order[i]); i-- {
		free += int64(workersOf(s, p.running.order[i].job))
	}
	return free >= int64(n)
}

// workersOf returns the number of workers of a job that runs or is about to.
func workersOf(s *cluster.View, id cluster.JobID) int32 {
	if s.Phase(id) == cluster.Running {
		return s.Placement(id).Workers()
	}
	return s.Spec(id).Workers
}
