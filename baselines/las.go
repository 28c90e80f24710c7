package baselines

import (
	"math"
	"math/bits"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// levels say at which attained service, in GPU-time, a job sinks to the next level (Tiresias, NSDI 2019, §3.3: discretised
// two-dimensional least attained service, without its promotion of starved jobs).
type levels struct {
	kind  levelKind
	first time.Duration // the service at which a job leaves the highest of the levels that double
}

// levelKind is how wide levels are.
type levelKind string

const (
	doubling levelKind = "doubling" // each but the first is as wide as all above it
	single   levelKind = "single"   // two levels, as in §6 of Tiresias
)

// singleLevel is the one bound of Tiresias' §6.
const singleLevel = 3200 * time.Second

// of returns the level of a job that has attained so much, 0 for the highest.
func (l *levels) of(got time.Duration) int {
	switch {
	case l.kind == single && got >= singleLevel:
		return 1
	case l.kind == single:
		return 0
	}
	return bits.Len64(uint64(max(got, 0) / l.first))
}

// next returns the service at which a job leaves its level; ok is false on the lowest.
func (l *levels) next(got time.Duration) (bound time.Duration, ok bool) {
	n := l.of(got)
	switch {
	case l.kind == single && n == 0:
		return singleLevel, true
	case l.kind == single || n >= l.of(math.MaxInt64):
		return 0, false
	}
	return l.first << n, true
}

// order is the level of a job.
func (l *levels) order(s *cluster.View, id cluster.JobID) (time.Duration, error) {
	return time.Duration(l.of(s.Attained(id))), nil
}

// sinks returns when a running job will reach the next level.
func (l *levels) sinks(s *cluster.View, id cluster.JobID) (time.Duration, bool) {
	bound, ok := l.next(s.Attained(id))
	if !ok {
		return 0, false
	}
	short := float64(bound-s.Attained(id)) / s.Placement(id).GPUs()
	if short > float64(cluster.Never/2) {
		return 0, false
	}
	return s.Now() + time.Duration(math.Ceil(short)), true
}

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
