package headroom

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// influence is what a search tells a scheduler that is not so: other estimates of jobs, and later submissions. It thereby changes
// the scheduler's order of jobs and makes it hold servers free, whatever the scheduler is. The simulator knows the truth.
type influence struct {
	told  []time.Duration // the estimate, by job
	until []time.Duration // the scheduler hears of the job then; 0: at once
}

func (w *influence) clone() *influence {
	return &influence{slices.Clone(w.told), slices.Clone(w.until)}
}

// truth tells what the scenario grants, or with known how long jobs really run.
func truth(jobs []trace.Job, known bool) *influence {
	w := &influence{told: make([]time.Duration, len(jobs)), until: make([]time.Duration, len(jobs))}
	for i := range jobs {
		if w.told[i] = jobs[i].Estimate; known {
			w.told[i] = max(jobs[i].Work, 1)
		}
	}
	return w
}

// jobs returns the jobs as the scheduler is told of them.
func (w *influence) jobs(real []trace.Job) []trace.Job {
	told := slices.Clone(real)
	for i := range told {
		told[i].Estimate = w.told[i]
	}
	return told
}

// influenced is a scheduler that hears of jobs when a influence says, and that counts the completion times of those that end.
type influenced struct {
	inner   cluster.Scheduler
	until   []time.Duration
	warm    int
	waiting []cluster.JobID // that it has not heard of
	events  []cluster.Event
	asked   time.Duration // when it wants to be woken, 0 for never
	sum     time.Duration // of completion times, from job warm on
}

// Name implements cluster.Scheduler.
func (w *influenced) Name() string { return w.inner.Name() }

// Reset implements cluster.Scheduler. The sum goes on.
func (w *influenced) Reset(seed uint64) error {
	w.waiting, w.asked = w.waiting[:0], 0
	return w.inner.Reset(seed)
}

// Schedule implements cluster.Scheduler.
func (w *influenced) Schedule(tx *cluster.Txn) error {
	s, now := tx.View(), tx.Now()
	w.events = w.events[:0]
	for _, e := range tx.Events() {
		if e.Kind == cluster.Finished && int(e.Job) >= w.warm {
			w.sum += now - s.Spec(e.Job).Submit
		}
		if (e.Kind == cluster.Arrived || e.Kind == cluster.Interrupted) && w.until[e.Job] > now {
			w.waiting = append(w.waiting, e.Job)
			continue
		}
		w.events = append(w.events, e)
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(id cluster.JobID) bool {
		if s.Phase(id) != cluster.Pending { // the scheduler looks at the state itself
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
		tx.WakeAt(w.asked) // of two instants that are asked for the simulator keeps the earlier one alone
	}
	for _, id := range w.waiting {
		tx.WakeAt(w.until[id])
	}
	return nil
}
