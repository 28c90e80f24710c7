package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
)

// Episode holds everything that determines an episode, except for the scheduler and its seed.
type Episode struct {
	Config  Config
	Jobs    []trace.Job   // not copied and never changed; a job's id is its index
	Running []Running     // the jobs submitted at 0 that already run, and where
	Clock   time.Duration // the time of day at 0, counted from the first job of the trace if the trace does not tell the hour
}

// New returns the simulator of the episode, before the scheduler's first decision.
func (e *Episode) New() (*Sim, error) {
	s, err := New(e.Config, e.Jobs)
	if err != nil {
		return nil, err
	}
	s.state.SetClock(e.Clock)
	return s, s.warmUp(e.Running)
}

// Meter returns a meter of what the episode costs by an objective, told the truth, before the episode begins. charged may be nil:
// see objectives.Options.
func (e *Episode) Meter(o *objectives.Objective, charged func(id cluster.JobID, cost float64)) *objectives.Meter {
	return objectives.NewMeter(o, objectives.Options{
		RunTime: func(id cluster.JobID) time.Duration { return e.Jobs[id].Work },
		Spec:    func(id cluster.JobID) *cluster.JobSpec { return &e.Jobs[id].JobSpec },
		Jobs:    len(e.Jobs), Warm: e.Config.Warm, Charged: charged,
	})
}

// Tell lets schedulers know the true run times of the episode, the true speeds and models, or both, whatever was hidden. Use it
// for a policy that is a reference for others. Jobs that run from the beginning keep their ages.
func (e *Episode) Tell(times, speeds bool) {
	if speeds {
		e.Config.Hidden, e.Config.Misprofile = Hidden{}, physics.Misprofile{}
	}
	if times {
		e.Jobs = slices.Clone(e.Jobs)
		for i := range e.Jobs {
			e.Jobs[i].Estimate = max(e.Jobs[i].Work, 1)
		}
	}
}

// Running gives the placement of a job that already runs when the episode begins.
type Running struct {
	Job       cluster.JobID
	Placement cluster.Placement
}

// warmUp makes the episode begin on a busy cluster. The listed jobs, which must be submitted at 0, already run on the given
// placements when the scheduler is first called; its first call reports them as events of kind Found. Call warmUp before Next and
// at most once.
func (s *Sim) warmUp(running []Running) error {
	if len(running) == 0 {
		return nil
	}
	if s.state.Now() != 0 || len(s.log.Records) > 0 || s.outcome != (Outcome{}) {
		return fmt.Errorf("simulate: warm start after the episode began")
	}
	tx, ok := s.Next()
	if !ok || tx.Now() != 0 {
		return fmt.Errorf("simulate: warm start with %d running jobs, but nothing is submitted at 0", len(running))
	}
	for _, r := range running {
		if err := tx.Place(r.Job, r.Placement); err != nil {
			return fmt.Errorf("simulate: warm start: %w", err)
		}
	}
	s.Commit()
	s.found()
	return nil
}
