package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
)

// Outcome is how an episode ended.
type Outcome struct {
	Terminated bool   // every job finished
	Truncated  string // why it was cut off before that, "" if it was not
}

// Sim is one episode in progress: a caller alternates Next, scheduling in the transaction it returns, and Commit.
// Same configuration, jobs and decisions, same log, byte for byte. Not safe for concurrent use.
type Sim struct {
	cfg     Config
	jobs    []trace.Job
	first   cluster.JobID   // the id of jobs[0]
	arrival []int32         // indices of jobs by submit time, then id; nil if they are in that order
	next    int             // into arrival
	works   []time.Duration // of the jobs before the first, which an episode that was resumed already has
	left    int             // jobs not finished
	state   *cluster.State
	finish  queue
	faults  []fault         // of Config.Outages, by time
	fault   int             // into faults
	demand  int             // into Config.Demand
	offers  []time.Duration // by that index: when the offer next changes
	ahead   int             // into Config.Demand: the first that was still to come when the episode began
	offered int32           // servers offered until then
	due     time.Duration   // when the first of those that were owed when the episode began must be back
	warm    bool            // the scheduler has not yet been told of the jobs that ran from the start
	events  []cluster.Event
	wake    time.Duration // never if nobody asked
	log     Log
	refused int // operations
	outcome Outcome
	watch   func(from, to time.Duration) // nil: nobody watches
	scratch
}

// scratch is reused from call to call.
type scratch struct {
	ended    []cluster.JobID
	touched  []cluster.JobID // jobs whose speed may have changed
	launched []cluster.JobID // in the transaction being committed, at a speed that knows all of it
}

// New returns an episode before its first event. The jobs are kept, not copied, and not changed; a job's id is its index.
// A job that the cluster could never hold is an error.
func New(cfg Config, jobs []trace.Job) (*Sim, error) {
	if cfg.Physics == nil {
		cfg.Physics = physics.Ideal()
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	if cfg.Warm < 0 || cfg.Warm > len(jobs) {
		return nil, fmt.Errorf("simulate: %d warm jobs, want 0 to all %d", cfg.Warm, len(jobs))
	}
	state, err := cluster.NewState(cfg.Cluster, len(jobs))
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	if err := admissible(&cfg.Cluster, jobs); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	state.SetProfile(cfg.Misprofile.Profiled(cfg.Physics))
	s := &Sim{
		cfg: cfg, jobs: jobs, arrival: make([]int32, len(jobs)), left: len(jobs),
		state: state, finish: newQueue(len(jobs)), faults: faults(cfg.Outages), offers: offersAfter(cfg.Demand), offered: state.Offer(),
		wake: cluster.Never,
	}
	for i := range s.arrival {
		s.arrival[i] = int32(i)
	}
	slices.SortFunc(s.arrival, func(a, b int32) int {
		return cmp.Or(cmp.Compare(jobs[a].Submit, jobs[b].Submit), cmp.Compare(a, b))
	})
	s.log = newLog(cfg, jobs)
	return s, nil
}

func admissible(c *cluster.Spec, jobs []trace.Job) error {
	room := c.Rooms()
	for i := range jobs {
		j := &jobs[i]
		if err := j.Validate(); err != nil {
			return err
		}
		if j.Work < 0 {
			return fmt.Errorf("job %s: work %v, want 0 or more", j.Name, j.Work)
		}
		if n := room(&j.JobSpec); int64(j.Workers) > n {
			return fmt.Errorf("job %s: %d workers of %+v can never run, the empty cluster takes %d", j.Name, j.Workers, j.Request, n)
		}
	}
	return nil
}

// Run plays the episode to its end under one scheduler. An error of the scheduler or of ctx ends it early; the log then
// holds what happened until there.
func (s *Sim) Run(ctx context.Context, sched cluster.Scheduler, seed uint64) error {
	if err := sched.Reset(seed); err != nil {
		return fmt.Errorf("reset %s: %w", sched.Name(), err)
	}
	s.log.Scheduler = sched.Name()
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		tx, ok := s.Next()
		if !ok {
			return nil
		}
		if err := sched.Schedule(tx); err != nil {
			return fmt.Errorf("%s at %v: %w", sched.Name(), s.state.Now(), err)
		}
		s.Commit()
	}
}

// State returns the cluster as it is now. Read only.
func (s *Sim) State() *cluster.State { return s.state }

// Log returns the record so far. It grows with the episode. Read only.
func (s *Sim) Log() *Log { return &s.log }

// Refused counts the operations so far that the cluster did not allow, also those that a search only tried. The log does not
// have them.
func (s *Sim) Refused() int { return s.refused }

// Outcome returns how the episode ended, the zero value before that.
func (s *Sim) Outcome() Outcome { return s.outcome }

// Next moves to the next decision point and opens its transaction; ok is false when the episode is over.
func (s *Sim) Next() (tx *cluster.Txn, ok bool) {
	if s.outcome != (Outcome{}) {
		return nil, false
	}
	at := s.upcoming()
	switch {
	case s.left == 0:
		return s.end(Outcome{Terminated: true})
	case at == cluster.Never && s.finish.len() == 0:
		return s.end(Outcome{Truncated: fmt.Sprintf("%d jobs wait, and nothing runs, arrives or wakes", len(s.state.Pending()))})
	case s.cfg.Horizon > 0 && at > s.cfg.Horizon:
		s.watched(s.cfg.Horizon)
		s.state.Advance(max(s.cfg.Horizon, s.state.Now()))
		return s.end(Outcome{Truncated: horizonReached(s.cfg.Horizon)})
	case at == cluster.Never:
		return s.end(Outcome{Truncated: fmt.Sprintf("%d jobs run past the end of time", s.finish.len())})
	}
	s.watched(at)
	s.pass(at)
	s.state.Advance(at)
	s.completeAll(at)
	s.breakdowns(at)
	s.inference(at)
	for s.next < len(s.jobs) && s.jobs[s.coming()].Submit == at {
		s.arrive(s.coming())
		s.next++
	}
	if s.wake <= at {
		s.wake = cluster.Never
		s.events = append(s.events, cluster.Event{Kind: cluster.Woke})
	}
	if s.warm {
		s.warm = false
		return s.state.Begin(s.state.Introduce()), true
	}
	s.respeed()
	for s.finish.len() > 0 && s.finish.min() == at { // who was within a nanosecond of the end and is faster now
		s.completeAll(at)
		s.respeed()
	}
	return s.state.Begin(s.events), true
}

// Watch has seen called for every stretch of time before it passes, with the state as decisions left it: during the stretch
// nothing changes but the clock. nil ends it. Forks are not watched.
func (s *Sim) Watch(seen func(from, to time.Duration)) { s.watch = seen }

func (s *Sim) watched(to time.Duration) {
	if from := s.state.Now(); s.watch != nil && to > from {
		s.watch(from, to)
	}
}

// upcoming is when something happens next.
func (s *Sim) upcoming() time.Duration {
	at := s.wake
	if s.finish.len() > 0 {
		at = min(at, s.finish.min())
	}
	if s.next < len(s.jobs) {
		at = min(at, s.jobs[s.coming()].Submit)
	}
	if s.fault < len(s.faults) {
		at = min(at, s.faults[s.fault].at)
	}
	at = min(at, s.nextOffer())
	if owed, deadline := s.state.Owed(); owed > 0 {
		at = min(at, max(deadline, s.state.Now()+1))
	}
	if s.warm {
		at = s.state.Now()
	}
	return at
}

func (s *Sim) end(o Outcome) (*cluster.Txn, bool) {
	s.outcome = o
	s.pass(s.state.Now())
	s.log.end(s.state.Now(), o)
	return nil, false
}

// completeAll finishes the jobs whose work is done, then notes whom that frees.
func (s *Sim) completeAll(at time.Duration) {
	for s.finish.len() > 0 && s.finish.min() == at {
		id := s.finish.pop()
		s.touch(s.state.Placement(id))
		s.state.Finish(id)
		s.left--
		s.log.append(Record{At: at, Kind: Finish, Job: id})
		s.events = append(s.events, cluster.Event{Kind: cluster.Finished, Job: id})
	}
}

// coming is the index of the job that is submitted next.
func (s *Sim) coming() int {
	if s.arrival == nil {
		return s.next
	}
	return int(s.arrival[s.next])
}

// work is the isolated run time of a job.
func (s *Sim) work(id cluster.JobID) time.Duration {
	if id < s.first {
		return s.works[id]
	}
	return s.jobs[id-s.first].Work
}

func (s *Sim) arrive(i int) {
	id := s.first + cluster.JobID(i)
	s.state.Submit(id, &s.jobs[i].JobSpec)
	s.log.append(Record{At: s.state.Now(), Kind: Submit, Job: id})
	s.events = append(s.events, cluster.Event{Kind: cluster.Arrived, Job: id})
}
