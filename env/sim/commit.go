package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Commit carries out what the open transaction proposed and closes it.
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
		s.remind() // some may have been given back
	}
	s.respeed()
	s.launched = s.launched[:0]
}

// touch notes the jobs whose speed may change because a placement was taken or left.
func (s *Sim) touch(p cluster.Placement) {
	if len(p) > 0 {
		s.touched = s.cfg.Physics.Coupled(&s.state.View, p, s.touched)
	}
}

// touchServer does so for every placement that has a piece on the server.
func (s *Sim) touchServer(id cluster.ServerID) {
	for _, job := range s.state.Residents(id) {
		s.touch(s.state.Placement(job))
	}
}

// respeed gives the touched jobs their new speeds. Those that keep theirs are left alone, to the last bit.
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
		if rate := s.speed(id); rate != s.state.PlannedRate(id) {
			done, from := s.state.Progress(id), max(s.state.Since(id), s.state.Now())
			s.run(id, done, from, rate)
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
		s.finish.remove(o.Job)
		kept := s.state.Progress(o.Job)
		if s.cfg.Restart.FromScratch {
			kept = 0
		}
		s.state.SetProgress(o.Job, kept, s.state.Now(), 1)
	default:
		if s.state.Phase(o.Job) == cluster.Running {
			s.launch(o.Job, s.overhead(o))
		}
	}
}

// overhead is how long a job that an operation placed stands still.
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

// launch sets a job going under its present placement after an overhead, and not before a pause ends in which it is.
func (s *Sim) launch(id cluster.JobID, overhead time.Duration) {
	now := s.state.Now()
	rate, from := s.speed(id), max(later(now, overhead), s.state.Since(id))
	if rate != 1 || from > now {
		s.events = append(s.events, cluster.Event{Kind: cluster.Respeed, Job: id})
	}
	s.run(id, s.state.Progress(id), from, rate)
	s.launched = append(s.launched, id)
}

// speed is the rate at which a running job works under its present placement, between the pauses in which it stands still.
func (s *Sim) speed(id cluster.JobID) float64 {
	rate := s.cfg.Physics.Speed(&s.state.View, id)
	if !(rate > 0) {
		panic(fmt.Sprintf("sim: physics %s gives job %d the speed %v, want above 0", s.cfg.Physics.Name(), id, rate))
	}
	if r := &s.cfg.Restart; r.Save > 0 {
		rate *= float64(r.Interval) / float64(r.Interval+r.Save)
	}
	return rate
}

// run lets a job work from an instant on, at a rate and after the work it has done.
func (s *Sim) run(id cluster.JobID, done, from time.Duration, rate float64) {
	s.state.SetProgress(id, done, from, rate)
	s.finish.set(id, s.ends(id, done, from, rate))
}

// ends is when the job will have done its work.
func (s *Sim) ends(id cluster.JobID, done, from time.Duration, rate float64) time.Duration {
	left := max(s.work(id)-done, 0)
	if rate != 1 {
		left = stretch(left, rate)
	}
	return later(from, left)
}

// stretch is the time that so much work takes at a rate, up to never.
func stretch(work time.Duration, rate float64) time.Duration {
	if t := math.Ceil(float64(work) / rate); t < float64(cluster.Never) {
		return time.Duration(t)
	}
	return cluster.Never
}

// later is at+d, up to never.
func later(at, d time.Duration) time.Duration {
	if d > cluster.Never-at {
		return cluster.Never
	}
	return at + d
}
