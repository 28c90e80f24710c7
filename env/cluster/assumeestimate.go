package cluster

import "time"

// Assume gives an estimate to each job that has none, and returns how many these are. It does nothing if the estimate is 0.
func (s *State) Assume(estimate time.Duration) (n int) {
	for i := range s.Jobs() {
		id := JobID(i)
		if s.Phase(id) != Pending && s.Phase(id) != Running {
			continue
		}
		if spec := *s.Spec(id); spec.Estimate == 0 && estimate > 0 {
			spec.Estimate = estimate
			s.Revise(id, &spec)
			n++
		}
	}
	return n
}
