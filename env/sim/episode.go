package sim

import "github.com/clustergym/clustergym/env/trace"

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
	return s, s.Warm(e.Running)
}
