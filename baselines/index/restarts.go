package index

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// restarts learns from what it sees how long restarts take and how much of its work a job loses that is stopped.
type restarts struct {
	pause time.Duration                   // the longest seen
	lost  float64                         // the mean fraction of its work that a stopped job lost
	stops float64                         // over so many stops
	begun map[cluster.JobID]time.Duration // jobs that were started, whose restart has not been seen
	was   map[cluster.JobID]float64       // what jobs had lost before they were stopped
}

// least returns how long a job runs at least before it is stopped: four restarts, and twice as long after each stop, so that jobs
// cannot stop each other for ever, whatever is believed of them.
func (r *restarts) least(v *cluster.View, id cluster.JobID) time.Duration {
	stops, _, _ := v.Changes(id)
	return max(4*r.pause, time.Minute) << min(max(stops-8, 0), 16)
}

// see learns from the jobs that were started or stopped before.
func (r *restarts) see(v *cluster.View) {
	for id, at := range r.begun {
		if v.Phase(id) == cluster.Running {
			r.pause = max(r.pause, v.Since(id)-at)
		}
	}
	clear(r.begun)
	for id, was := range r.was {
		r.stops++
		r.lost += (min(v.Lost(id)-was, 1) - r.lost) / r.stops
	}
	clear(r.was)
}

// note remembers what the transaction started and stopped.
func (r *restarts) note(tx *cluster.Txn) {
	if r.begun == nil {
		r.begun, r.was = map[cluster.JobID]time.Duration{}, map[cluster.JobID]float64{}
	}
	for _, o := range tx.Ops() {
		switch o.Kind {
		case cluster.OpPlace:
			r.begun[o.Job] = tx.Now()
		case cluster.OpPreempt:
			r.was[o.Job] = tx.View().Lost(o.Job)
		}
	}
}
