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

// Rest holds a caller's assumptions about the future of a cluster.
type Rest struct {
	// Work returns the total isolated run time of a job that waits or runs. It must be at least the job's progress. A job whose
	// progress equals its work ends at once.
	Work func(id cluster.JobID) time.Duration
	// Future lists the jobs still to come by submit time, none before the state's instant. Resume keeps the slice without copying
	// and never changes it. The ids of these jobs follow the ids of all jobs of the state, including jobs that the state itself
	// still expects.
	Future []trace.Job
	// Wake is the future instant, if any, for which the scheduler requested a call before the state's open transaction; 0 means
	// none. The caller must supply it because a state does not contain it.
	Wake time.Duration
}

// Resume makes s an episode that continues from a given state. Running jobs stay on their exact GPUs and keep their progress,
// attained service, number of starts and restart pauses; waiting jobs keep waiting. Resume only reads the state. It also copies
// the state's open transaction, which the caller must commit first, as after Fork: call Continue, or schedule and Commit. Resume
// reuses the memory of s, which may be the zero Sim. s keeps no log. After an error, s is an episode that is over.
//
// The cluster is that of the state, and all times in cfg are on the state's clock. The simulator assumes that outages and demand
// up to the state's instant have already taken effect. It uses past demand only to find offers that are still within Grace, in
// addition to the servers that the state reports as owed. Jobs run at the rates of the state until the first Commit, and at those
// of Physics afterwards. Schedulers see the speeds of the state's profile, or those of Physics if the state has no profile.
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
		scratch: scratch{ended: s.ended[:0], touched: append(s.touched[:0], from.Running()...), launched: s.launched[:0],
			readings: s.readings[:0]},
	}
	if s.cfg.Physics == nil {
		s.cfg.Physics = physics.Ideal()
	}
	if known := state.Profile(); known != nil {
		state.SetProfile(known) // also if it was what a scheduler expects
	} else {
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

// resumeClocks skips the demand and the outages up to now, which have already happened.
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

// resumeJobs computes when the running jobs finish.
func (s *Sim) resumeJobs() {
	s.finish.heap = s.finish.heap[:0]
	s.finish.place = grow(s.finish.place, s.state.Jobs())
	for _, id := range s.state.Pending() {
		s.finish.place[id] = -1
	}
	for _, id := range s.state.Running() {
		s.finish.place[id] = -1
		done, from, rate := s.state.Course(id)
		s.finish.set(id, max(ends(s.work(id), done, from, rate), s.state.Now()))
	}
	for i := range s.jobs {
		s.finish.place[int(s.first)+i] = -1
	}
}

// grow returns a slice of n elements with arbitrary contents. It reuses old's memory if that is large enough.
func grow[T any](old []T, n int) []T { return slices.Grow(old[:0], n)[:n] }
