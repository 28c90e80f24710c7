package sim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
)

// Config is a cluster and the rules that it lives by.
type Config struct {
	Cluster cluster.Spec
	Physics physics.Model // nil: ideal
	// Overhead is how long a job holds its GPUs without progress after a restart, a migration or a resize.
	Overhead time.Duration
	// FromScratch makes a preempted job lose its work; otherwise it goes on from where it was.
	FromScratch bool
	// Horizon truncates the episode at that instant, 0 for never.
	Horizon time.Duration
}

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
	arrival []cluster.JobID // by submit time, then id
	next    int             // into arrival
	left    int             // jobs not finished
	state   *cluster.State
	finish  queue
	events  []cluster.Event
	wake    time.Duration // never if nobody asked
	log     Log
	outcome Outcome
}

const never = time.Duration(math.MaxInt64)

// New returns an episode before its first event. The jobs are kept, not copied, and not changed; a job's id is its index.
// A job that the cluster could never hold is an error.
func New(cfg Config, jobs []trace.Job) (*Sim, error) {
	if cfg.Physics == nil {
		cfg.Physics = physics.Ideal{}
	}
	if cfg.Overhead < 0 || cfg.Horizon < 0 {
		return nil, fmt.Errorf("simulate: overhead %v and horizon %v, want 0 or more", cfg.Overhead, cfg.Horizon)
	}
	state, err := cluster.NewState(cfg.Cluster, len(jobs))
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	if err := admissible(&cfg.Cluster, jobs); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	s := &Sim{
		cfg: cfg, jobs: jobs, arrival: make([]cluster.JobID, len(jobs)), left: len(jobs),
		state: state, finish: newQueue(len(jobs)), wake: never,
	}
	for i := range s.arrival {
		s.arrival[i] = cluster.JobID(i)
	}
	slices.SortFunc(s.arrival, func(a, b cluster.JobID) int {
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
	case at == never && s.finish.len() > 0:
		return s.end(Outcome{Truncated: fmt.Sprintf("%d jobs run past the end of time", s.finish.len())})
	case at == never:
		return s.end(Outcome{Truncated: fmt.Sprintf("%d jobs wait, and nothing runs, arrives or wakes", len(s.state.Pending()))})
	case s.cfg.Horizon > 0 && at > s.cfg.Horizon:
		s.state.Advance(max(s.cfg.Horizon, s.state.Now()))
		return s.end(Outcome{Truncated: horizonReached(s.cfg.Horizon)})
	}
	s.state.Advance(at)
	for s.finish.len() > 0 && s.finish.min() == at {
		s.complete(s.finish.pop())
	}
	for s.next < len(s.arrival) && s.jobs[s.arrival[s.next]].Submit == at {
		s.arrive(s.arrival[s.next])
		s.next++
	}
	if s.wake <= at {
		s.wake = never
		s.events = append(s.events, cluster.Event{Kind: cluster.Woke})
	}
	return s.state.Begin(s.events), true
}

// Peek returns the instant to which Next will move; ok is false if that is the end of an episode that has ended or is stuck.
func (s *Sim) Peek() (at time.Duration, ok bool) {
	if at = s.upcoming(); s.left == 0 || at == never {
		return s.state.Now(), false
	}
	if s.cfg.Horizon > 0 && at > s.cfg.Horizon {
		at = max(s.cfg.Horizon, s.state.Now())
	}
	return at, true
}

// upcoming is when something happens next.
func (s *Sim) upcoming() time.Duration {
	at := s.wake
	if s.finish.len() > 0 {
		at = min(at, s.finish.min())
	}
	if s.next < len(s.arrival) {
		at = min(at, s.jobs[s.arrival[s.next]].Submit)
	}
	return at
}

func (s *Sim) end(o Outcome) (*cluster.Txn, bool) {
	s.outcome = o
	s.log.end(s.state.Now(), o)
	return nil, false
}

func (s *Sim) complete(id cluster.JobID) {
	s.state.Finish(id)
	s.left--
	s.log.append(Record{At: s.state.Now(), Kind: Finish, Job: id})
	s.events = append(s.events, cluster.Event{Kind: cluster.Finished, Job: id})
}

func (s *Sim) arrive(id cluster.JobID) {
	s.state.Submit(id, &s.jobs[id].JobSpec)
	s.log.append(Record{At: s.state.Now(), Kind: Submit, Job: id})
	s.events = append(s.events, cluster.Event{Kind: cluster.Arrived, Job: id})
}

// Commit carries out what the open transaction proposed and closes it.
func (s *Sim) Commit() {
	tx := s.state.Txn()
	s.events = s.events[:0]
	if at, ok := tx.Wake(); ok {
		s.wake = min(s.wake, at)
	}
	ops := tx.Ops()
	for i := range ops {
		s.carryOut(&ops[i])
	}
	tx.End()
}

func (s *Sim) carryOut(o *cluster.Op) {
	s.log.op(s.state.Now(), o)
	switch o.Kind {
	case cluster.OpLoan, cluster.OpReclaim:
	case cluster.OpPreempt:
		s.finish.remove(o.Job)
		if s.cfg.FromScratch {
			s.state.SetProgress(o.Job, 0, s.state.Now(), 1)
		}
	default:
		if s.state.Phase(o.Job) == cluster.Running {
			s.launch(o.Job, o.Kind != cluster.OpPlace || s.state.Starts(o.Job) > 1)
		}
	}
}

// launch sets a job going under its present placement.
func (s *Sim) launch(id cluster.JobID, again bool) {
	from, done := s.state.Now(), s.state.Progress(id)
	if again {
		from = later(from, s.cfg.Overhead)
	}
	rate := s.cfg.Physics.Speed(s.state, id)
	if !(rate > 0) {
		panic(fmt.Sprintf("sim: physics %s gives job %d the speed %v, want above 0", s.cfg.Physics.Name(), id, rate))
	}
	s.state.SetProgress(id, done, from, rate)
	left := max(s.jobs[id].Work-done, 0)
	if rate != 1 {
		left = stretch(left, rate)
	}
	if rate != 1 || from != s.state.Now() {
		s.events = append(s.events, cluster.Event{Kind: cluster.Respeed, Job: id})
	}
	s.finish.set(id, later(from, left))
}

// stretch is the time that so much work takes at a rate, up to never.
func stretch(work time.Duration, rate float64) time.Duration {
	if t := math.Ceil(float64(work) / rate); t < float64(never) {
		return time.Duration(t)
	}
	return never
}

// later is at+d, up to never.
func later(at, d time.Duration) time.Duration {
	if d > never-at {
		return never
	}
	return at + d
}
