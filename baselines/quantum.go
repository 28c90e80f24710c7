package baselines

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// quantum keeps a job that was started from being stopped before the start has paid: before the job has run for times as long
// as a restart takes. If stops cost jobs their work, a job that has lost some also runs until it has done twice as much. So it
// loses work only a few times. The quantum learns both by watching jobs, so that it needs to be told nothing.
type quantum struct {
	times   float64                         // 0 lets a job be stopped at once; below 0: see of
	cost    time.Duration                   // the longest restart seen so far
	begun   map[cluster.JobID]time.Duration // when jobs were started whose restart has not been seen
	stopped map[cluster.JobID]bool          // jobs that were stopped and whose loss has not been seen
	lost    map[cluster.JobID]time.Duration // the most work that each job has lost
}

// predictedQuantum is the default of orders by predicted run times. Predictions change between arrivals and ends of jobs, too, so
// that without a quantum jobs whose restarts take long could stop each other for ever.
const predictedQuantum = 4

// of returns how many times as long as a restart a job runs at least. If times is below 0, that depends on whether run times are
// predicted.
func (q *quantum) of(s *cluster.View) float64 {
	switch {
	case q.times >= 0:
		return q.times
	case s.Believes():
		return predictedQuantum
	}
	return 0
}

func (q *quantum) reset() {
	q.cost, q.begun = 0, map[cluster.JobID]time.Duration{}
	q.stopped, q.lost = map[cluster.JobID]bool{}, map[cluster.JobID]time.Duration{}
}

// see learns from the jobs that were started or stopped before.
func (q *quantum) see(s *cluster.View) {
	if q.of(s) == 0 {
		return
	}
	for id, at := range q.begun {
		if s.Phase(id) == cluster.Running {
			q.cost = max(q.cost, s.Since(id)-at)
		}
	}
	clear(q.begun)
	for id := range q.stopped {
		if lost := s.Age(id) - s.Spec(id).Ran - s.Progress(id); lost > 0 {
			q.lost[id] = lost
		}
	}
	clear(q.stopped)
}

// note remembers what the transaction started and stopped.
func (q *quantum) note(tx *cluster.Txn) {
	if q.of(tx.View()) == 0 {
		return
	}
	for _, o := range tx.Ops() {
		if o.Kind == cluster.OpPlace && tx.View().Phase(o.Job) == cluster.Running {
			q.begun[o.Job] = tx.Now()
		}
		if o.Kind == cluster.OpPreempt {
			q.stopped[o.Job] = true
		}
	}
}

// until returns the instant before which a running job may not be stopped, which may be past.
func (q *quantum) until(s *cluster.View, id cluster.JobID) time.Duration {
	at := s.Now()
	if q.cost > 0 {
		at = s.Since(id) + time.Duration(q.of(s)*float64(q.cost))
	}
	if again := 2*q.lost[id] - s.Progress(id); again > 0 {
		at = max(at, max(s.Since(id), s.Now())+time.Duration(min(float64(again)/s.PlannedRate(id), float64(cluster.Never/4))))
	}
	return at
}

// quantum declares the option for how long a started job runs at least.
func (s *Settings) quantum(q *quantum) {
	s.Float(&q.times, "quantum", -1, 1000, "a job runs for so many times what restarts take before it is stopped; with 0 it may be"+
		" stopped at once; -1 stands for 4 where run times are predicted ("+KnowSuffix+") and for 0 where they are told",
		"own choice; the 4 of las by validation windows of Venus, Philly and their mix with restarts of 1 and 30 minutes")
}
