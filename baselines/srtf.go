package baselines

import (
	"cmp"
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/placement"
)

// srtf runs the live jobs with the shortest time left, by (time left, submit, id), greedily with skip, and preempts for them.
//
// The instant at which a running job will finish does not change while its speed does not, so the running jobs stay sorted by
// themselves, and a pass needs only the first waiting job of every shape and the running jobs last in order: it costs as much
// as changes, not as many as live. Where room is more than a count of GPUs (shares, CPU, memory), plan takes over; both give
// the same schedule where both apply.
type srtf struct {
	name    string
	wait    waiting
	running roster          // by expected finish
	stop    []cluster.JobID // of the last pass, to wait from the next one on
	start   []cluster.JobID // of this pass
	plan    plan            // for what a count cannot decide
	planned bool            // plan has taken over
}

func newSRTF(name string, p placement.Placer) *srtf { return &srtf{name: name, plan: plan{place: p}} }

func (p *srtf) Name() string { return p.name }

func (p *srtf) Reset(seed uint64) error {
	p.wait.reset()
	p.running.reset()
	p.plan.reset(seed)
	*p = srtf{name: p.name, wait: p.wait, running: p.running, plan: p.plan}
	return nil
}

func (p *srtf) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	if p.planned {
		return p.plan.run(tx, timeLeft)
	}
	// What a stopped job has left is known only after the stop: it may have lost its work.
	for _, id := range p.stop {
		if err := p.queue(s, id); err != nil {
			return err
		}
	}
	p.stop = p.stop[:0]
	for _, e := range tx.Events() {
		if p.planned = !countable(s, e); p.planned {
			return p.plan.run(tx, timeLeft)
		}
		if err := p.note(s, e); err != nil {
			return err
		}
	}
	p.choose(s)
	for _, id := range p.stop {
		if err := tx.Preempt(id); err != nil {
			return err
		}
	}
	for _, id := range p.start {
		if started, err := p.plan.place.Place(tx, id); err != nil || !started {
			return cmp.Or(err, fmt.Errorf("job %d found no servers although enough GPUs are free", id))
		}
	}
	return nil
}

// countable reports whether the event's job needs nothing but whole GPUs, of which any will do, and holds no others.
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

// choose decides in order of time left who starts and who stops. free may fall below 0: then running jobs last in order hold
// GPUs that jobs before them have been promised, and the first of them that no longer fits is stopped when its turn comes.
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

// victim returns the first running job in order that no longer fits, or -1 if all do.
func (p *srtf) victim(s *cluster.View, free int64) int {
	at := -1
	for i := len(p.running.order) - 1; i >= 0 && free < 0; i-- {
		at = i
		free += int64(workersOf(s, p.running.order[i].job))
	}
	return at
}

// room reports whether n GPUs are free or held by jobs after t in order.
func (p *srtf) room(s *cluster.View, free int64, t ticket, n int32) bool {
	for i := len(p.running.order) - 1; i >= 0 && free < int64(n) && t.before(p.running.order[i]); i-- {
		free += int64(workersOf(s, p.running.order[i].job))
	}
	return free >= int64(n)
}

// workersOf counts the GPUs of a job that runs or is about to.
func workersOf(s *cluster.View, id cluster.JobID) int32 {
	if s.Phase(id) == cluster.Running {
		return s.Placement(id).Workers()
	}
	return s.Spec(id).Workers
}
