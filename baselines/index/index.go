// Package index is a scheduler for any objective. It serves first the job whose delay costs most for each GPU-hour of work that
// it still needs, and stops running jobs only where that saves more than it costs.
//
// The order is the generalised cµ rule (van Mieghem, Annals of Applied Probability 1995; Mandelbaum and Stolyar, Operations
// Research 2004), whose marginal costs are looked at a little ahead, so that with deadlines it is the apparent tardiness cost
// rule (Vepsalainen and Morton, Management Science 1987). Own choices are what it does about GPUs: when jobs are stopped, when
// GPUs are held for a job that finds no room, and that a job waits for a cheaper hour.
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
	// Stops is how many times what a stop costs it has to save; 0 never stops a job.
	Stops float64
	// Holds is how many times what it costs to hold GPUs for a job that has found no room it has to save; 0 never holds any.
	Holds float64
}

// Ahead is how far ahead marginal costs are looked at, in mean run times of the jobs that wait. Vepsalainen and Morton find 1.5
// to 4.5 good; on validation windows of Venus half and twice as much changed costs by -1 to +13 %.
const Ahead = 2.0

// Defaults returns the settings of the rule as it comes.
func Defaults() Options { return Options{Stops: 2, Holds: 0.1} }

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
	room    room
	looked  bool    // whether room shows the present state
	claimed float64 // GPUs that jobs before in the order wait for
	held    *live   // the first job that has found no room and whose delay costs
	needs   float64 // GPUs that it and the jobs before it wait for
}

// live is a job that waits, with what the rule computes of it.
type live struct {
	id     cluster.JobID
	left   time.Duration // how long it still has to run
	gpus   float64       // that it asks for
	worker float64       // of them, by each worker
	wait   time.Duration // until it and all that are ahead of it have room, if it has found none and nobody is stopped
	rate   float64       // what an hour of delay costs
	index  float64       // rate / (gpus x left)
	submit time.Duration
	work   float64 // GPU-hours of this job and all before it in the order
	rates  float64 // what an hour costs these, in the mean until they start, see stopper.queue
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
func (s *Scheduler) runTime(id cluster.JobID) time.Duration { return objectives.Believed(s.view, id) }

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
		d := objectives.Left(v, id)
		sum += min(d, 30*24*time.Hour)
		spec := v.Spec(id)
		s.waiting = append(s.waiting, live{
			id: id, left: d, gpus: spec.GPUs(), worker: float64(spec.Request.GPUMilli) / cluster.WholeGPU, submit: spec.Submit,
		})
	}
	if len(s.waiting) == 0 {
		return
	}
	s.ahead = max(time.Duration(Ahead*float64(sum)/float64(len(s.waiting))), time.Minute)
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

// serve starts jobs in their order, and stops others or holds GPUs for them where that pays.
func (s *Scheduler) serve(tx *cluster.Txn) error {
	clear(s.refused)
	s.looked, s.claimed, s.held = false, 0, nil
	for i := range s.waiting {
		j := &s.waiting[i]
		if s.cheaperLater(tx, j) {
			continue
		}
		kind := s.place.Kind(s.view, j.id)
		if !s.refused[kind] {
			if s.held != nil {
				s.see()
			}
			mark := tx.Mark()
			started, err := s.place.Place(tx, j.id)
			if err != nil {
				return err
			}
			if started {
				if s.delays(j) {
					tx.Rollback(mark)
				}
				continue
			}
			s.refused[kind] = true
		}
		if j.rate <= 0 {
			continue
		}
		s.claimed += j.gpus
		s.see()
		j.wait = s.room.wait(j.worker, s.claimed)
		stopped, err := s.stop.try(tx, j)
		if err != nil {
			return err
		}
		if stopped {
			s.claimed -= j.gpus
			s.looked = false
			clear(s.refused) // GPUs may be left over
		} else if s.held == nil {
			s.held, s.needs = j, s.claimed
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
