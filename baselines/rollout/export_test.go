package rollout

// Tally counts the choices that were not the base's, by what they were.
func (r *Scheduler) Tally() map[string]int { return r.tally }
