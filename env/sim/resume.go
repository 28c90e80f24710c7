package sim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
)

// Rest is what a caller assumes of a cluster whose future it does not know.
type Rest struct {
	// Work returns the isolated run time in all of a job that waits or runs: its progress or more. One that has done all of it
	// ends at once.
	Work func(id cluster.JobID) time.Duration
	// Future are the jobs still to come, by submit time, not before the state's instant. They are kept, not copied, and not
	// changed. Their ids follow those of the jobs that the state knows, also where it expects jobs of its own.
	Future []trace.Job
	// Wake is an instant to come at which the scheduler asked to be called before the state's open transaction, 0 for none. A
	// state does not tell.
	Wake time.Duration
}

// Resume makes s an episode that goes on from a state as it is: jobs that run stay on their very GPUs with the progress,
// attained service, starts and restart pauses that they have, and those that wait wait. The state is only read; its open
// transaction is copied, too, and is the first to commit, as after a Fork: Continue, or schedule and Commit. s's memory is
// reused; the zero Sim will do. No log is kept. After an error s is an episode that is over.
//
// The cluster is the state's, and all instants of the configuration are on its clock. What fails, is repaired or is demanded
// up to the state's instant has happened already, whatever came of it: past demand tells only whose Grace still runs, beside
// what the state says is owed. Jobs run at the state's rates until the first Commit and then as Physics says. Schedulers know
// the speeds that the state's profile tells, those of Physics if it has none.
func (s *Sim) Resume(cfg *Config, from *cluster.View, rest Rest) error {
	s.outcome = Outcome{Truncated: "it could not be resumed"}
	if s.state != nil && from == &s.state.View {
		return fmt.Errorf("resume: from the state of the same episode, want another")
	}
	if err := cfg.validateOn(from.Servers(), from.Server); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := rest.validate(from.Now()); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	state := s.state
	if state == nil {
		state = &cluster.State{}
	}
	first := from.ExtendTo(state, len(rest.Future))
	works := grow(s.works, int(first))
	for _, list := range [...][]cluster.JobID{from.Pending(), from.Running()} {
		for _, id := range list {
			if works[id] = rest.Work(id); works[id] < from.Progress(id) {
				return fmt.Errorf("resume: job %s: work %v, want at least its progress %v", from.Spec(id).Name, works[id], from.Progress(id))
			}
		}
	}
	*s = Sim{
		cfg: *cfg, jobs: rest.Future, first: first, works: works, state: state, finish: s.finish, wake: cluster.Never,
		left: len(from.Pending()) + len(from.Running()) + len(rest.Future), events: s.events[:0], log: Log{off: true},
		scratch: scratch{ended: s.ended[:0], touched: append(s.touched[:0], from.Running()...), launched: s.launched[:0]},
	}
	if s.cfg.Physics == nil {
		s.cfg.Physics = physics.Ideal()
	}
	if state.Profile() == nil {
		state.SetProfile(s.cfg.Misprofile.Profiled(s.cfg.Physics))
	}
	if rest.Wake > from.Now() {
		s.wake = rest.Wake
	}
	s.resumeClocks()
	s.resumeJobs()
	return nil
}

func (r *Rest) validate(now time.Duration) error {
	if len(r.Future) > math.MaxInt32/2 {
		return fmt.Errorf("%d jobs to come, want at most %d", len(r.Future), math.MaxInt32/2)
	}
	for i := range r.Future {
		j := &r.Future[i]
		if err := j.Validate(); err != nil {
			return err
		}
		if j.Work < 0 {
			return fmt.Errorf("job %s: work %v, want 0 or more", j.Name, j.Work)
		}
		if j.Submit < now {
			return fmt.Errorf("job %s: submitted at %v, want not before now (%v) and than the one before", j.Name, j.Submit, now)
		}
		now = j.Submit
	}
	return nil
}

// resumeClocks sets what happens without the scheduler's doing going from now on.
func (s *Sim) resumeClocks() {
	now := s.state.Now()
	s.offered = s.state.Offer()
	if owed, deadline := s.state.Owed(); owed > 0 {
		s.due = deadline
	}
	if len(s.cfg.Demand) > 0 {
		s.offers = offersAfter(s.cfg.Demand)
		for s.demand < len(s.cfg.Demand) && s.cfg.Demand[s.demand].At <= now {
			s.demand++
		}
		s.ahead = s.demand
	}
	if len(s.cfg.Outages) > 0 {
		s.faults = faults(s.cfg.Outages)
		for s.fault < len(s.faults) && s.faults[s.fault].at <= now {
			s.fault++
		}
	}
}

// resumeJobs says when the running jobs finish.
func (s *Sim) resumeJobs() {
	s.finish.heap = s.finish.heap[:0]
	s.finish.place = grow(s.finish.place, s.state.Jobs())
	for _, id := range s.state.Pending() {
		s.finish.place[id] = -1
	}
	for _, id := range s.state.Running() {
		s.finish.place[id] = -1
		done, from, rate := s.state.Course(id)
		s.finish.set(id, max(s.ends(id, done, from, rate), s.state.Now()))
	}
	for i := range s.jobs {
		s.finish.place[int(s.first)+i] = -1
	}
}

// grow returns a slice of n elements of any value, in the same memory if that will do.
func grow[T any](old []T, n int) []T { return slices.Grow(old[:0], n)[:n] }
