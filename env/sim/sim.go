package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
)

// Outcome reports how an episode ended.
type Outcome struct {
	Terminated bool   // every job finished
	Truncated  string // why the episode was cut off before that, "" if it was not
}

// Sim is one episode in progress. The caller alternates between Next, which opens a transaction for the scheduler, and Commit.
// The same configuration, jobs and decisions give the same log, byte for byte. A Sim is not safe for concurrent use.
type Sim struct {
	cfg     Config
	jobs    []trace.Job
	first   cluster.JobID     // the id of jobs[0]
	arrival []entry           // indices into jobs by submit time, then id; nil if jobs is in that order
	next    int               // index into arrival
	works   []time.Duration   // of the jobs with ids below first, which a resumed episode takes from its state
	specs   []cluster.JobSpec // of the jobs as schedulers see them; nil if they see those of jobs
	courses []course          // by job, how it truly runs; nil if the state has it
	left    int               // the number of jobs not finished
	state   *cluster.State
	finish  queue
	turns   queue           // when the phases of running jobs end
	phases  []int32         // by job, the phase in which it is; nil if jobs have none
	faults  []fault         // the starts and ends of Config.Outages, by time
	fault   int             // index of the next fault
	demand  int             // index of the next entry of Config.Demand
	offers  []time.Duration // by index into Config.Demand: when the offer next changes
	ahead   int             // index into Config.Demand: the first entry after the episode's beginning
	offered int32           // the number of servers that the pool offered until then
	due     time.Duration   // the first deadline of the servers owed when the episode began
	warm    bool            // the next call must still tell the scheduler which jobs ran from the start
	events  []cluster.Event
	wake    time.Duration // cluster.Never if the scheduler requested no wake-up
	log     Log
	refused int // the number of refused operations
	outcome Outcome
	watch   func(from, to time.Duration) // may be nil
	scratch
}

// scratch holds slices that calls reuse.
type scratch struct {
	ended    []cluster.JobID
	touched  []cluster.JobID // jobs whose speed may have changed
	launched []cluster.JobID // jobs launched by the current Commit; their speed already considers all its operations
	readings []reading       // those that are due
}

// New returns an episode before its first event. It keeps the jobs without copying and never changes them; a job's id is its
// index. It returns an error if a job could not even run on the empty cluster.
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
	s := &Sim{
		cfg: cfg, jobs: jobs, specs: cfg.Hidden.hide(jobs), left: len(jobs),
		state: state, finish: newQueue(len(jobs)), faults: faults(cfg.Outages), offers: offersAfter(cfg.Demand), offered: state.Offer(),
		wake: cluster.Never,
	}
	if cfg.Hidden.Speeds {
		s.courses = make([]course, len(jobs))
	} else {
		state.SetProfile(cfg.Misprofile.Profiled(cfg.Physics))
	}
	if cfg.Phases.Every > 0 {
		s.phases, s.turns = make([]int32, len(jobs)), newQueue(len(jobs))
	}
	s.arrival = arrivals(jobs)
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

// Run plays the episode to its end under one scheduler. It stops early with an error if the scheduler returns an error or ctx is
// done; the log then contains the events until that point.
func (s *Sim) Run(ctx context.Context, sched cluster.Scheduler, seed uint64) error {
	if err := sched.Reset(seed); err != nil {
		return fmt.Errorf("reset %s: %w", sched.Name(), err)
	}
	s.log.Scheduler = sched.Name()
	cluster.Within(ctx, sched)
	for n := 0; ; n++ {
		if n%16 == 0 && ctx.Err() != nil { // a decision of a learned team may take a tenth of a second
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

// State returns the current state of the cluster. Read only.
func (s *Sim) State() *cluster.State { return s.state }

// Log returns the event log so far. It grows with the episode. Read only.
func (s *Sim) Log() *Log { return &s.log }

// Left returns the number of jobs that have not finished, those that have not arrived yet included.
func (s *Sim) Left() int { return s.left }

// Refused returns the number of operations so far that the cluster did not allow, including those that a search only tried. The
// log does not contain refused operations.
func (s *Sim) Refused() int { return s.refused }

// Outcome returns how the episode ended, or the zero value while it runs.
func (s *Sim) Outcome() Outcome { return s.outcome }

// Next advances the clock to the next decision point and opens its transaction; ok is false when the episode is over.
func (s *Sim) Next() (tx *cluster.Txn, ok bool) {
	if s.outcome != (Outcome{}) {
		return nil, false
	}
	at := s.turn()
	switch {
	case s.left == 0:
		return s.end(Outcome{Terminated: true})
	case at == cluster.Never && s.finish.len() == 0:
		return s.end(Outcome{Truncated: fmt.Sprintf("%d jobs wait, and nothing runs, arrives or wakes", len(s.state.Pending()))})
	case s.cfg.Horizon > 0 && at > s.cfg.Horizon:
		s.watched(s.cfg.Horizon)
		s.measure(s.cfg.Horizon)
		s.state.Advance(max(s.cfg.Horizon, s.state.Now()))
		return s.end(Outcome{Truncated: horizonReached(s.cfg.Horizon)})
	case at == cluster.Never:
		return s.end(Outcome{Truncated: fmt.Sprintf("%d jobs run past the end of time", s.finish.len())})
	}
	s.watched(at)
	s.measure(at)
	s.pass(at)
	s.state.Advance(at)
	s.completeAll(at)
	s.breakdowns(at)
	s.inference(at)
	for s.next < len(s.jobs) {
		e := s.coming()
		if e.at != at {
			break
		}
		s.arrive(int(e.job))
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
	for s.finish.len() > 0 && s.finish.min() == at { // jobs that had at most a nanosecond left and run faster now
		s.completeAll(at)
		s.respeed()
	}
	return s.state.Begin(s.events), true
}

// Watch makes the simulator call seen before it passes each stretch of time. The state is then as the last decision left it, and
// only the clock changes during the stretch. Pass nil to stop watching. Forks are not watched.
func (s *Sim) Watch(seen func(from, to time.Duration)) { s.watch = seen }

func (s *Sim) watched(to time.Duration) {
	if from := s.state.Now(); s.watch != nil && to > from {
		s.watch(from, to)
	}
}

// upcoming returns the time of the next event.
func (s *Sim) upcoming() time.Duration {
	at := s.wake
	if s.finish.len() > 0 {
		at = min(at, s.finish.min())
	}
	if s.next < len(s.jobs) {
		at = min(at, s.coming().at)
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

// completeAll finishes the jobs whose work is done and touches the jobs whose speed may change because of that.
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

// work returns the isolated run time of a job.
func (s *Sim) work(id cluster.JobID) time.Duration {
	if id < s.first {
		return s.works[id]
	}
	return s.jobs[id-s.first].Work
}

func (s *Sim) arrive(i int) {
	id := s.first + cluster.JobID(i)
	spec := &s.jobs[i].JobSpec
	if s.specs != nil {
		spec = &s.specs[i]
	}
	s.state.Submit(id, spec)
	s.log.append(Record{At: s.state.Now(), Kind: Submit, Job: id})
	s.events = append(s.events, cluster.Event{Kind: cluster.Arrived, Job: id})
}
