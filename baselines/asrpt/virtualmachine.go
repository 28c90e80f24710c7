package asrpt

import (
	"iter"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// virtual is a single machine of unit speed that runs jobs by preemptive shortest remaining processing time. Ties go to the job
// released first, then to the lower id. Times are exact. Releasing and completing a job take logarithmic time.
//
// The machine does not observe the cluster. A job that really ends before it completes here goes on here and delays the jobs
// behind it; a job that really takes longer completes here all the same. The zero value is an idle machine at time 0. It is not
// safe for concurrent use.
type virtual struct {
	now  time.Duration
	jobs []virtualJob // binary heap; the running job is on top
	done []completion // completions that Advance has not yet returned
	rest []virtualJob // scratch of Projected
}

// completion is the completion of a job on a virtual machine.
type completion struct {
	Job cluster.JobID
	At  time.Duration
}

type virtualJob struct {
	left     time.Duration // of the job on top: at time now; the others' does not change
	released time.Duration
	id       cluster.JobID
}

func (a *virtualJob) before(b *virtualJob) bool {
	if a.left != b.left {
		return a.left < b.left
	}
	if a.released != b.released {
		return a.released < b.released
	}
	return a.id < b.id
}

// Reset makes the machine idle at time 0.
func (v *virtual) Reset() { *v = virtual{jobs: v.jobs[:0], done: v.done[:0], rest: v.rest} }

// Add runs the machine up to the time release and then releases a job with the given work, 0 or more. A time in the machine's
// past counts as its present.
func (v *virtual) Add(id cluster.JobID, release, work time.Duration) {
	v.run(release)
	v.jobs = append(v.jobs, virtualJob{max(work, 0), v.now, id})
	h := v.jobs
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].before(&h[parent]) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// Advance runs the machine up to and including the time to. It returns the completions since the last call, in order. The result
// is read only and valid until the next call of Add or Advance.
func (v *virtual) Advance(to time.Duration) []completion {
	v.run(to)
	done := v.done
	v.done = v.done[:0]
	return done
}

func (v *virtual) run(to time.Duration) {
	for len(v.jobs) > 0 {
		at, _ := v.Next()
		if at > to {
			break
		}
		v.now = at
		v.done = append(v.done, completion{v.jobs[0].id, at})
		v.jobs = pop(v.jobs)
	}
	if to > v.now {
		if len(v.jobs) > 0 {
			v.jobs[0].left -= to - v.now
		}
		v.now = to
	}
}

// Next returns when the next job completes if no other is released; ok is false if the machine is idle. It ignores completions
// that Advance has not yet returned. The result is at most the largest time.Duration.
func (v *virtual) Next() (at time.Duration, ok bool) {
	if len(v.jobs) == 0 {
		return 0, false
	}
	return later(v.now, v.jobs[0].left), true
}

// Len returns the number of jobs that have not completed.
func (v *virtual) Len() int { return len(v.jobs) }

// Projected yields, in order, the completions of the unfinished jobs if no other is released. It works on a copy of the machine;
// each completion takes logarithmic time. Only one iteration at a time may be in progress.
func (v *virtual) Projected() iter.Seq[completion] {
	return func(yield func(completion) bool) {
		at := v.now
		v.rest = append(v.rest[:0], v.jobs...)
		for rest := v.rest; len(rest) > 0; rest = pop(rest) {
			at = later(at, rest[0].left)
			if !yield(completion{rest[0].id, at}) {
				return
			}
		}
	}
}

// pop removes the top of a heap.
func pop(h []virtualJob) []virtualJob {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if h[child].before(&h[first]) {
				first = child
			}
		}
		if first == i {
			return h
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}

// later returns at + by, at most the largest time.Duration.
func later(at, by time.Duration) time.Duration {
	if by > math.MaxInt64-at {
		return math.MaxInt64
	}
	return at + by
}
