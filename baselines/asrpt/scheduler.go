package asrpt

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/baselines/easy"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// New returns the scheduler.
//
// When a job arrives, the scheduler predicts it and releases it on a virtual machine with the work g/G·n·α_min. g is the number
// of GPUs that the job asks for (a share of a GPU counts as a fraction), G the number of GPUs of the training pool, and n the
// predicted number of iterations. When the job completes on the virtual machine it enters the queue. Jobs leave the queue in
// order, when the placer can start them and the delay rule does not hold them back.
//
// Let predictions be exact, the start rule atVirtualCompletion, without backfill and delay rule, and let all jobs ask for whole
// GPUs of any type. Let V_i be the completions on the virtual machine, g_max the largest number of GPUs of a job and ρ the
// largest α_max/α_min of a job. Then
//
//	start_i <= V_i + ρ·G·V_i / (G - g_max + 1)
//	Σ C_i   <= [1 + ρ·(1 + G/(G - g_max + 1))] · Σ C_i of the best schedule
//
// A job that is interrupted or preempted enters the queue again, in the order of V, and does not run on the virtual machine
// again. A job that is already running when the scheduler first sees the cluster counts as completed there at that instant; a
// job that is waiting then counts as arriving.
//
// α of a placement is that of env/physics/comm with links, not that of the state's profile. It therefore depends only on
// the job and its servers, and not on other jobs, GPU types and amounts, which waiting does not change. It is compared with
// α_min for the number of workers placed. Jobs of unknown models do not communicate.
//
// The scheduler is deterministic if the predictor and the placer are.
func New(name string, c Config) cluster.Scheduler {
	if c.Placer == nil {
		c.Placer = newHeavyEdge()
	}
	return &scheduler{name: name, Config: c, beliefs: newBeliefs(), durations: NewDurations(c.Predictor)}
}

type scheduler struct {
	Config
	name      string
	beliefs   *beliefs
	durations *Durations
	virtual   virtual
	gpus      float64 // number of GPUs of the training pool; 0 before the first decision
	jobs      []job   // by job id
	queue     []cluster.JobID
	last      int64 // last rank given
	classes   []class
	classOf   map[classKey]int32
	pass      int64 // number of the present decision
	changes   int64 // counts decisions and starts
	reserved  easy.Reservation
}

// job is what the scheduler remembers of a job.
type job struct {
	class   int32
	waiting bool  // it is in the queue, or on the virtual machine to enter it later
	rank    int64 // place in the order of completion on the virtual machine; 0 before the completion
	entered time.Duration
}

// class is a set of jobs that fit in the same places and run equally fast there.
type class struct {
	stretch float64 // α_max / α_min
	refused int64   // the pass in which the placer last found no room
	slow    int64   // the value of changes at which the placer last found only a place where the job runs slowly
}

type classKey struct {
	kind    placement.Kind
	pattern pattern
}

func (a *scheduler) Name() string { return a.name }

func (a *scheduler) Reset(seed uint64) error {
	a.Placer.Reset(seed)
	a.durations.Reset(seed)
	a.virtual.Reset()
	a.gpus, a.last, a.pass, a.changes = 0, 0, 0, 0
	a.jobs, a.queue, a.classes = a.jobs[:0], a.queue[:0], a.classes[:0]
	a.classOf = map[classKey]int32{}
	return nil
}

func (a *scheduler) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	if a.gpus == 0 {
		a.meet(s)
	}
	a.complete(s.Now())
	for _, e := range tx.Events() {
		a.note(s, e)
	}
	if err := a.start(tx); err != nil {
		return err
	}
	if at, ok := a.virtual.Next(); ok && a.Start == atVirtualCompletion {
		tx.WakeAt(at)
	}
	return placement.Finish(a.Placer, tx)
}

// meet records the size of the cluster at the first decision.
func (a *scheduler) meet(s *cluster.View) {
	gpus := int32(0)
	for i := range s.Servers() {
		if v := s.Server(cluster.ServerID(i)); v.Pool == cluster.Training {
			gpus += v.GPUs
		}
	}
	a.gpus = float64(max(gpus, 1))
	a.jobs = slices.Grow(a.jobs, s.Jobs())[:s.Jobs()]
	clear(a.jobs)
}

// complete runs the virtual machine up to the present.
func (a *scheduler) complete(now time.Duration) {
	for _, c := range a.virtual.Advance(now) {
		a.rank(c.Job)
		if j := &a.jobs[c.Job]; j.waiting {
			if a.Start == atVirtualCompletion {
				j.entered = c.At
			}
			a.queue = append(a.queue, c.Job)
		}
	}
}

func (a *scheduler) rank(id cluster.JobID) {
	a.last++
	a.jobs[id].rank = a.last
}

func (a *scheduler) note(s *cluster.View, e cluster.Event) {
	a.durations.Note(s, e)
	switch e.Kind {
	case cluster.Arrived:
		a.wait(s, e.Job)
		a.virtual.Add(e.Job, s.Now(), a.work(s, e.Job))
	case cluster.Found:
		a.rank(e.Job)
	case cluster.Interrupted:
		a.wait(s, e.Job)
		if rank := a.jobs[e.Job].rank; rank > 0 {
			at, _ := slices.BinarySearchFunc(a.queue, rank, func(id cluster.JobID, rank int64) int {
				return cmp.Compare(a.jobs[id].rank, rank)
			})
			a.queue = slices.Insert(a.queue, at, e.Job)
		}
	}
}

// wait records that a job is to start.
func (a *scheduler) wait(s *cluster.View, id cluster.JobID) {
	spec := s.Spec(id)
	key := classKey{a.Placer.Kind(s, id), patternOf(s, spec, spec.Workers)}
	c, ok := a.classOf[key]
	if !ok {
		c = int32(len(a.classes))
		a.classOf[key] = c
		a.classes = append(a.classes, class{stretch: a.beliefs.of(s, spec, spec.Workers).stretch()})
	}
	j := &a.jobs[id]
	j.class, j.waiting, j.entered = c, true, s.Now()
}

// work returns the job's time on the virtual machine. Reconstructed: 65 % for α_min as the time of an iteration, the one that the
// guarantee needs.
func (a *scheduler) work(s *cluster.View, id cluster.JobID) time.Duration {
	return duration(a.durations.Predicted(s, id).Seconds() * s.Spec(id).GPUs() / a.gpus)
}

// start starts jobs in the order of the queue.
func (a *scheduler) start(tx *cluster.Txn) error {
	a.pass++
	a.changes++
	a.reserved.Clear()
	kept, goOn := 0, true
	for i, id := range a.queue {
		started := false
		if goOn {
			var err error
			if started, goOn, err = a.try(tx, id); err != nil {
				return err
			}
		}
		if !started {
			if !goOn && kept == i {
				return nil // the rest of the queue does not change
			}
			a.queue[kept] = id
			kept++
		}
	}
	a.queue = a.queue[:kept]
	if a.Start != projectedOrder || !goOn {
		return nil
	}
	for c := range a.virtual.Projected() {
		if !a.jobs[c.Job].waiting {
			continue
		}
		if _, goOn, err := a.try(tx, c.Job); err != nil || !goOn {
			return err
		}
	}
	return nil
}

// try starts a job if it fits and the delay rule does not hold it back. goOn reports whether later jobs may start.
func (a *scheduler) try(tx *cluster.Txn, id cluster.JobID) (started, goOn bool, err error) {
	s := tx.View()
	j := &a.jobs[id]
	c := &a.classes[j.class]
	if c.refused == a.pass || a.reserved.Delays(s, id, a.rest(s, id)) {
		return false, a.Backfill != noBackfill, nil
	}
	until := a.until(s, id)
	if until > s.Now() && c.slow == a.changes {
		tx.WakeAt(until)
		return false, true, nil
	}
	mark := tx.Mark()
	fits, err := a.Placer.Place(tx, id)
	switch {
	case err != nil:
		return false, false, err
	case !fits:
		c.refused = a.pass
		a.reserve(s, id)
		return false, a.Backfill != noBackfill, nil
	case until > s.Now() && a.beliefs.slowdown(s, s.Spec(id), s.Placement(id)) > (1+a.Epsilon)*(1+rounding):
		tx.Rollback(mark)
		c.slow = a.changes
		tx.WakeAt(until)
		return false, true, nil
	}
	a.changes++
	j.waiting = false
	a.reserved.Started(s, id, a.rest(s, id))
	return true, true, nil
}

// rounding is a relative difference of times of iterations that counts as none.
const rounding = 1e-9

// until returns the time from which on the delay rule does not hold the job back, wherever it would run. The result is not later
// than now if the rule does not apply.
func (a *scheduler) until(s *cluster.View, id cluster.JobID) time.Duration {
	j := &a.jobs[id]
	if a.Tau <= 0 || a.classes[j.class].stretch < a.Theta {
		return j.entered
	}
	return later(j.entered, duration(a.Tau*a.durations.Predicted(s, id).Seconds()))
}
