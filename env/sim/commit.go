package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Commit carries out the operations that the scheduler proposed in the open transaction and closes the transaction.
func (s *Sim) Commit() {
	tx := s.state.Txn()
	s.refused += tx.Refused()
	s.events = s.events[:0]
	if at, ok := tx.Wake(); ok {
		s.wake = min(s.wake, at)
	}
	ops := tx.Ops()
	for i := range ops {
		s.carryOut(&ops[i])
	}
	for i := range ops {
		s.touch(ops[i].Before())
		s.touch(ops[i].Placement())
	}
	tx.End()
	if owed, _ := s.state.Owed(); owed > 0 {
		s.remind() // the scheduler may have given some servers back
	}
	s.respeed()
	s.launched = s.launched[:0]
}

// touch marks for respeed the jobs whose speed may change because a job took or left the placement.
func (s *Sim) touch(p cluster.Placement) {
	if len(p) > 0 {
		s.touched = s.cfg.Physics.Coupled(&s.state.View, p, s.touched)
	}
}

// touchServer calls touch for the placement of every job on the server.
func (s *Sim) touchServer(id cluster.ServerID) {
	for _, job := range s.state.Residents(id) {
		s.touch(s.state.Placement(job))
	}
}

// respeed recomputes the speeds of the touched jobs. It leaves a job alone if its speed stays the same to the last bit.
func (s *Sim) respeed() {
	if len(s.touched) == 0 {
		return
	}
	slices.Sort(s.touched)
	slices.Sort(s.launched)
	for _, id := range slices.Compact(s.touched) {
		if _, new := slices.BinarySearch(s.launched, id); new || s.state.Phase(id) != cluster.Running {
			continue
		}
		if rate := s.speed(id); rate != s.rate(id) && s.respeeded(id, rate) {
			s.events = append(s.events, cluster.Event{Kind: cluster.Respeed, Job: id})
		}
	}
	s.touched = s.touched[:0]
}

func (s *Sim) carryOut(o *cluster.Op) {
	s.log.op(s.state.Now(), o)
	switch o.Kind {
	case cluster.OpLoan, cluster.OpReclaim:
	case cluster.OpPreempt:
		s.stop(o.Job, 0)
	default:
		if s.state.Phase(o.Job) == cluster.Running {
			s.launch(o.Job, s.overhead(o))
		}
	}
}

// overhead returns for how long the operation makes its job hold GPUs without progress. The first start costs nothing.
func (s *Sim) overhead(o *cluster.Op) time.Duration {
	switch {
	case s.state.Fresh(o.Job):
		return 0
	case o.Kind == cluster.OpMigrate:
		return s.cfg.Restart.Migrate
	case o.Kind == cluster.OpResize:
		return s.cfg.Restart.Resize
	}
	return s.cfg.Restart.Preempt
}

// launch starts a job's progress under its present placement once the overhead has passed. If the job is already in a restart
// pause, progress starts no earlier than that pause ends.
func (s *Sim) launch(id cluster.JobID, overhead time.Duration) {
	now := s.state.Now()
	rate, from := s.speed(id), max(later(now, overhead), s.state.Since(id))
	if from > now || rate != 1 && s.courses == nil {
		s.events = append(s.events, cluster.Event{Kind: cluster.Respeed, Job: id})
	}
	s.run(id, s.Progress(id), from, rate)
	s.launched = append(s.launched, id)
}

// speed returns the rate at which a running job works under its present placement when it is not in a restart pause: work per
// time, in its present phase and with the cost of periodic checkpoints included.
func (s *Sim) speed(id cluster.JobID) float64 {
	rate := s.cfg.Physics.Speed(&s.state.View, id)
	if !(rate > 0) {
		panic(fmt.Sprintf("sim: physics %s gives job %d the speed %v, want above 0", s.cfg.Physics.Name(), id, rate))
	}
	if s.phases != nil {
		rate *= s.cfg.Phases.factor(s.state.Spec(id).Name, s.phases[id])
	}
	if r := &s.cfg.Restart; r.Save > 0 {
		rate *= float64(r.Interval) / float64(r.Interval+r.Save)
	}
	return rate
}

// stop takes from a job that has just been stopped the work since its last checkpoint. There is a checkpoint after each every of
// work; with 0 the job keeps its work, unless all jobs start again from scratch.
func (s *Sim) stop(id cluster.JobID, every time.Duration) {
	done, known := s.Progress(id), s.state.Progress(id)
	kept := done
	switch {
	case s.cfg.Restart.FromScratch:
		kept, known = 0, 0 // schedulers see a loss also if the true work was rounded to 0
	case every > 0 && done > 0:
		kept -= kept % every
		known = cluster.Scale(known, float64(kept)/float64(done))
	}
	s.unqueue(id, kept)
	if s.courses == nil {
		known = kept
	} else {
		s.courses[id] = course{kept, cluster.Never, 1}
	}
	s.state.SetProgress(id, known, s.state.Now(), 1)
}

// run lets the job progress at the given rate from the instant from on, with the work done behind it, and schedules its finish.
func (s *Sim) run(id cluster.JobID, done, from time.Duration, rate float64) {
	s.set(id, done, from, rate)
	s.queue(id, done, from, rate)
}

// ends returns the instant at which a job has done the given work.
func ends(work, done, from time.Duration, rate float64) time.Duration {
	left := max(work-done, 0)
	if rate != 1 {
		left = stretch(left, rate)
	}
	return later(from, left)
}

// stretch returns how long the work takes at a rate, at most cluster.Never.
func stretch(work time.Duration, rate float64) time.Duration {
	if t := math.Ceil(float64(work) / rate); t < float64(cluster.Never) {
		return time.Duration(t)
	}
	return cluster.Never
}

// later returns at+d, at most cluster.Never.
func later(at, d time.Duration) time.Duration {
	if d > cluster.Never-at {
		return cluster.Never
	}
	return at + d
}
