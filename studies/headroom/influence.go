package headroom

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// influence is the false information that the search gives a scheduler: other estimates and later submissions of jobs. It changes
// the scheduler's order of jobs and makes it keep servers free, without any change to the scheduler. The simulator itself uses
// the true values.
type influence struct {
	told  []time.Duration // the estimate that the scheduler sees, by job
	until []time.Duration // the time at which the scheduler learns of the job, by job; 0: at its submission
}

func (w *influence) clone() *influence {
	return &influence{slices.Clone(w.told), slices.Clone(w.until)}
}

// truth returns the influence that changes nothing: the scenario's own estimates, or, if known is true, the true run times.
func truth(jobs []trace.Job, known bool) *influence {
	w := &influence{told: make([]time.Duration, len(jobs)), until: make([]time.Duration, len(jobs))}
	for i := range jobs {
		if w.told[i] = jobs[i].Estimate; known {
			w.told[i] = max(jobs[i].Work, 1)
		}
	}
	return w
}

// jobs returns the jobs with the estimates that the scheduler sees.
func (w *influence) jobs(real []trace.Job) []trace.Job {
	told := slices.Clone(real)
	for i := range told {
		told[i].Estimate = w.told[i]
	}
	return told
}

// influenced wraps a scheduler. It withholds the arrivals of jobs as an influence says.
type influenced struct {
	inner   cluster.Scheduler
	until   []time.Duration
	waiting []cluster.JobID // jobs that the scheduler has not been told of
	events  []cluster.Event
	asked   time.Duration // the wake-up that the inner scheduler requested; 0 for none
}

// Name implements cluster.Scheduler.
func (w *influenced) Name() string { return w.inner.Name() }

// Reset implements cluster.Scheduler.
func (w *influenced) Reset(seed uint64) error {
	w.waiting, w.asked = w.waiting[:0], 0
	return w.inner.Reset(seed)
}

// Schedule implements cluster.Scheduler.
func (w *influenced) Schedule(tx *cluster.Txn) error {
	s, now := tx.View(), tx.Now()
	w.events = w.events[:0]
	for _, e := range tx.Events() {
		if (e.Kind == cluster.Arrived || e.Kind == cluster.Interrupted) && w.until[e.Job] > now {
			w.waiting = append(w.waiting, e.Job)
			continue
		}
		w.events = append(w.events, e)
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(id cluster.JobID) bool {
		if s.Phase(id) != cluster.Pending { // the scheduler can start the job without its event, since it reads the state
			return true
		}
		if w.until[id] > now {
			return false
		}
		w.events = append(w.events, cluster.Event{Kind: cluster.Arrived, Job: id})
		return true
	})
	tx.Tell(w.events)
	if w.asked <= now {
		w.asked = 0
	}
	if err := w.inner.Schedule(tx); err != nil {
		return err
	}
	if at, ok := tx.Wake(); ok && (w.asked == 0 || at < w.asked) {
		w.asked = at
	}
	if w.asked > 0 {
		tx.WakeAt(w.asked) // the simulator keeps only the earliest of the requested wake-ups
	}
	for _, id := range w.waiting {
		tx.WakeAt(w.until[id])
	}
	return nil
}
