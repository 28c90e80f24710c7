// Package index is a scheduler for any objective. It serves first the job whose delay costs most for each GPU-hour of work that
// it still needs, and stops running jobs only where that saves more than it costs.
//
// The order is the generalised cµ rule (van Mieghem, Annals of Applied Probability 1995; Mandelbaum and Stolyar, Operations
// Research 2004), whose marginal costs are looked at a little ahead, so that with deadlines it is the apparent tardiness cost
// rule (Vepsalainen and Morton, Management Science 1987). Own choices are what it does about GPUs: when jobs are stopped, and
// that a job waits for a cheaper hour.
package index

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/placement"
)

// Options are the settings that tuning may choose.
type Options struct {
	// Ahead is how far ahead marginal costs are looked at, in mean run times of the jobs that wait.
	Ahead float64
	// Stops is how many times what a stop costs it has to save; 0 never stops a job.
	Stops float64
}

// Defaults returns the settings of the rule as it comes.
func Defaults() Options { return Options{Ahead: 2, Stops: 2} }

// Scheduler is the rule. It needs estimates of run times, told or believed; a job of which nothing is known counts as having half
// of its work behind it.
type Scheduler struct {
	name      string
	objective *objectives.Objective
	options   Options
	place     placement.Placer

	meter   *objectives.Meter
	view    *cluster.View
	restart restarts
	ahead   time.Duration // how far ahead marginal costs are looked at in this decision
	waiting []live
	refused map[placement.Kind]bool
	stop    stopper
}

// live is a job that waits, with what the rule computes of it.
type live struct {
	id     cluster.JobID
	left   time.Duration // how long it still has to run
	gpus   float64       // that it asks for
	rate   float64       // what an hour of delay costs
	index  float64       // rate / (gpus x left)
	submit time.Duration
}

// New returns the rule for an objective.
func New(name string, o *objectives.Objective, opts Options, p placement.Placer) *Scheduler {
	return &Scheduler{name: name, objective: o, options: opts, place: p}
}

// Name implements cluster.Scheduler.
func (s *Scheduler) Name() string { return s.name }

// Reset implements cluster.Scheduler.
func (s *Scheduler) Reset(seed uint64) error {
	s.meter = objectives.NewMeter(s.objective, objectives.Options{RunTime: s.runTime, Foresee: true})
	s.restart, s.refused = restarts{}, map[placement.Kind]bool{}
	s.place.Reset(seed)
	return nil
}

// runTime returns how long a job is believed to run in all.
func (s *Scheduler) runTime(id cluster.JobID) time.Duration {
	return s.view.Progress(id) + left(s.view, id)
}

// leastKnown is how long a job of which nothing is known still runs at least.
const leastKnown = 10 * time.Minute

// left returns how long a job still has to run, at its speed if it runs.
func left(v *cluster.View, id cluster.JobID) time.Duration {
	d, known := v.Remaining(id)
	switch {
	case !known:
		return max(v.Age(id), leastKnown)
	case v.Phase(id) == cluster.Running:
		d = v.ExpectedFinish(id) - v.Now()
	}
	return max(d, time.Second)
}

// Schedule implements cluster.Scheduler.
func (s *Scheduler) Schedule(tx *cluster.Txn) error {
	s.view = tx.View()
	s.meter.Catch(s.view)
	s.restart.see(s.view)
	s.look(tx)
	if err := s.serve(tx); err != nil {
		return err
	}
	if err := placement.Finish(s.place, tx); err != nil {
		return err
	}
	s.restart.note(tx)
	for _, o := range tx.Ops() {
		if o.Kind != cluster.OpLoan && o.Kind != cluster.OpReclaim {
			s.meter.Note(s.view, o.Job)
		}
	}
	return nil
}

// look computes the index of every job that waits, sorts them, and asks to be woken when a rate changes.
func (s *Scheduler) look(tx *cluster.Txn) {
	v := s.view
	s.waiting = s.waiting[:0]
	var sum time.Duration
	for _, id := range v.Pending() {
		d := left(v, id)
		sum += min(d, 30*24*time.Hour)
		s.waiting = append(s.waiting, live{id: id, left: d, gpus: v.Spec(id).GPUs(), submit: v.Spec(id).Submit})
	}
	if len(s.waiting) == 0 {
		return
	}
	s.ahead = max(time.Duration(s.options.Ahead*float64(sum)/float64(len(s.waiting))), time.Minute)
	wake := cluster.Never
	for i := range s.waiting {
		j := &s.waiting[i]
		j.rate = s.meter.Rate(v, j.id, j.left, s.ahead, j.gpus)
		j.index = j.rate / (j.gpus * j.left.Hours())
		wake = min(wake, s.meter.Change(v, j.id, j.left))
	}
	if wake < cluster.Never {
		tx.WakeAt(wake)
	}
	slices.SortFunc(s.waiting, compare)
	s.stop.begin(s)
}

// compare puts the job first that is to be served first. Jobs whose delay costs nothing go by the GPU-time that they need.
func compare(a, b live) int {
	return cmp.Or(cmp.Compare(b.index, a.index), cmp.Compare(a.gpus*a.left.Hours(), b.gpus*b.left.Hours()),
		cmp.Compare(a.submit, b.submit), cmp.Compare(a.id, b.id))
}

// serve starts jobs in their order, and stops others for them where that pays.
func (s *Scheduler) serve(tx *cluster.Txn) error {
	clear(s.refused)
	for i := range s.waiting {
		j := &s.waiting[i]
		if s.cheaperLater(tx, j) {
			continue
		}
		kind := s.place.Kind(s.view, j.id)
		if !s.refused[kind] {
			started, err := s.place.Place(tx, j.id)
			if err != nil {
				return err
			}
			if started {
				continue
			}
			s.refused[kind] = true
		}
		stopped, err := s.stop.try(tx, j)
		if err != nil {
			return err
		}
		if stopped {
			clear(s.refused) // GPUs may be left over
		}
	}
	return nil
}

// most is how far ahead the rule looks for a cheaper hour.
const most = 24 * time.Hour

// cheaperLater reports whether the job would cost less if it started at a later hour, because of a tariff.
func (s *Scheduler) cheaperLater(tx *cluster.Txn, j *live) bool {
	after := s.meter.NextPrice(j.id, 0)
	if after >= most {
		return false
	}
	now := s.meter.Cost(s.view, j.id, 0, j.left, j.gpus)
	for ; after < most; after = s.meter.NextPrice(j.id, after) {
		if s.meter.Cost(s.view, j.id, after, j.left, j.gpus) < now {
			tx.WakeAt(tx.Now() + after)
			return true
		}
	}
	return false
}

// restarts learns from what it sees how long restarts take and how much of its work a job loses that is stopped.
type restarts struct {
	pause time.Duration                   // the longest seen
	lost  float64                         // the mean fraction of its work that a stopped job lost
	stops float64                         // over so many stops
	begun map[cluster.JobID]time.Duration // jobs that were started, whose restart has not been seen
	was   map[cluster.JobID]float64       // what jobs had lost before they were stopped
}

// least returns how long a job runs at least before it is stopped: four restarts, and twice as long after each stop, so that jobs
// cannot stop each other for ever, whatever is believed of them.
func (r *restarts) least(v *cluster.View, id cluster.JobID) time.Duration {
	stops, _, _ := v.Changes(id)
	return max(4*r.pause, time.Minute) << min(stops, 16)
}

// see learns from the jobs that were started or stopped before.
func (r *restarts) see(v *cluster.View) {
	for id, at := range r.begun {
		if v.Phase(id) == cluster.Running {
			r.pause = max(r.pause, v.Since(id)-at)
		}
	}
	clear(r.begun)
	for id, was := range r.was {
		r.stops++
		r.lost += (min(v.Lost(id)-was, 1) - r.lost) / r.stops
	}
	clear(r.was)
}

// note remembers what the transaction started and stopped.
func (r *restarts) note(tx *cluster.Txn) {
	if r.begun == nil {
		r.begun, r.was = map[cluster.JobID]time.Duration{}, map[cluster.JobID]float64{}
	}
	for _, o := range tx.Ops() {
		switch o.Kind {
		case cluster.OpPlace:
			r.begun[o.Job] = tx.Now()
		case cluster.OpPreempt:
			r.was[o.Job] = tx.View().Lost(o.Job)
		}
	}
}
