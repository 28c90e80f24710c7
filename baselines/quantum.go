package baselines

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// quantum keeps jobs from being stopped where that does not pay, by two rules. It learns how long restarts take by watching
// jobs, so that it needs to be told nothing.
//
// A job that was started is not stopped before the start has paid: before the job has run for times as long as a restart
// takes. If stops cost jobs their work, a job that has lost some also runs until it has done twice as much. So it loses work
// only a few times.
//
// After that, a running job is stopped only for a waiting one that is ahead of it by more than gain restarts. Such a cost of
// switching is charged to the job that would be switched to in the index policies of Asawa and Teneketzis (Multi-armed bandits
// with switching penalties, IEEE Transactions on Automatic Control 41(3), 1996).
//
// Evictions change the default of gain, which is 4 by validation windows of Philly and of its mix with Venus.
type quantum struct {
	times   float64                         // 0 lets a job be stopped at once; below 0: see chosen
	gain    float64                         // 0 lets a job be stopped for any job ahead of it; below 0: see gained
	evict   bool                            // whether jobs are also stopped where only single servers lack room, see evictor
	cost    time.Duration                   // the longest restart seen so far
	begun   map[cluster.JobID]time.Duration // when jobs were started whose restart has not been seen
	stopped map[cluster.JobID]bool          // jobs that were stopped and whose loss has not been seen
	lost    map[cluster.JobID]time.Duration // the most work that each job has lost
}

// Defaults of orders by predicted run times. Predictions change between arrivals and ends of jobs, too, so that without a quantum
// jobs whose restarts take long could stop each other for ever. Among many jobs of about the same age the predictions for those
// that run grow, so that without a gain they would take turns, at a restart each.
const (
	predictedQuantum = 4
	predictedGain    = 4
)

// chosen returns the setting if it is at least 0. Otherwise it returns predicted if run times are predicted, and 0 if they are
// told.
func chosen(setting float64, s *cluster.View, predicted float64) float64 {
	switch {
	case setting >= 0:
		return setting
	case s.Believes():
		return predicted
	}
	return 0
}

// gained returns by how many restarts a job must be ahead of one that is stopped for it. Evictions are many, so that each must
// pay for a restart also where run times are told.
func (q *quantum) gained(s *cluster.View) float64 {
	if q.evict && q.gain < 0 {
		return predictedGain
	}
	return chosen(q.gain, s, predictedGain)
}

// used reports whether jobs are kept from being stopped at all. Where the cluster forbids preemption, nothing needs to.
func (q *quantum) used(s *cluster.View) bool {
	return !s.NoPreemption() && (chosen(q.times, s, predictedQuantum) > 0 || q.gained(s) > 0)
}

func (q *quantum) reset() {
	q.cost, q.begun = 0, map[cluster.JobID]time.Duration{}
	q.stopped, q.lost = map[cluster.JobID]bool{}, map[cluster.JobID]time.Duration{}
}

// see learns from the jobs that were started or stopped before.
func (q *quantum) see(s *cluster.View) {
	if !q.used(s) {
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
	if !q.used(tx.View()) {
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
		at = s.Since(id) + q.restarts(chosen(q.times, s, predictedQuantum))
	}
	if again := 2*q.lost[id] - s.Progress(id); again > 0 {
		at = max(at, max(s.Since(id), s.Now())+time.Duration(min(float64(again)/s.PlannedRate(id), float64(cluster.Never/4))))
	}
	return at
}

// extra returns how much longer a job counts as taking in the order: by what a stop must gain if it waits, 0 if it runs.
func (q *quantum) extra(s *cluster.View, id cluster.JobID) time.Duration {
	if s.Phase(id) == cluster.Running {
		return 0
	}
	return q.restarts(q.gained(s))
}

// restarts returns how long so many restarts take.
func (q *quantum) restarts(n float64) time.Duration { return time.Duration(n * float64(q.cost)) }

// held returns the GPU-time that a job holds in so much time if it runs as requested.
func held(s *cluster.View, id cluster.JobID, d time.Duration) time.Duration {
	return time.Duration(math.Round(float64(d) * s.Spec(id).GPUs()))
}

// quantum declares the options for how long a started job runs at least, and for what it is stopped later.
func (s *Settings) quantum(q *quantum) {
	const predicted = "; -1 stands for 4 where run times are predicted (" + KnowSuffix + ") and for 0 where they are told"
	s.Float(&q.times, "quantum", -1, 1000, "a job runs for so many times what restarts take before it is stopped; with 0 it may be"+
		" stopped at once"+predicted,
		"own choice; the 4 of las by validation windows of Venus, Philly and their mix with restarts of 1 and 30 minutes")
	s.Bool(&q.evict, "evict", "whether it also stops running jobs for one ahead of them that fits the cluster's totals, but finds"+
		" no place on its servers", "own choice, by training windows of openb, Venus and Philly")
	s.Float(&q.gain, "gain", -1, 1e6, "a running job is stopped only for one ahead of it by more than so many restarts"+predicted,
		"own choice; objectives that mind stops and lost work want hundreds")
}
