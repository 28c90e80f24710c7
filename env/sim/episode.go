package sim

import (
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// Episode is all that an episode begins with.
type Episode struct {
	Config  Config
	Jobs    []trace.Job // kept, not copied, and not changed; a job's id is its index
	Running []Running   // where jobs submitted at 0 run already
}

// New returns the episode before its scheduler's first decision.
func (e *Episode) New() (*Sim, error) {
	s, err := New(e.Config, e.Jobs)
	if err != nil {
		return nil, err
	}
	return s, s.warmUp(e.Running)
}

// Running is where a job ran when the episode began.
type Running struct {
	Job       cluster.JobID
	Placement cluster.Placement
}

// warmUp makes the episode begin on a busy cluster: the jobs, submitted at 0, already run where it says when the scheduler is
// first called, which is told of them as Found. Call it before Next and at most once.
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
	s.warm = true
	return nil
}
