// Package history finds out from decision logs which jobs a cluster had, and how long they ran.
package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// History is what decision logs say of the jobs of a cluster: when each was submitted, what it asked for, and how long it ran. A
// History takes some 500 bytes for each job. The zero History is empty. It is not safe for concurrent use.
type History struct {
	Counts
	jobs   []trace.Job
	used   map[string]bool // the names of jobs
	before instant         // the instant before now, until settle has compared the two
	now    instant
}

// instant is what snapshots show of one instant.
type instant struct {
	at   time.Duration
	live map[string]*seen // by name; nil if there was no snapshot
	away map[string]bool  // jobs that have not ended, although they may be missing
}

// Counts counts what a History has seen.
type Counts struct {
	Snapshots int `json:"snapshots"`              // those of one instant count once
	Earlier   int `json:"snapshots_out_of_order"` // earlier than the one before, and left out for that
	Ended     int `json:"ended"`                  // jobs that ran and ended
	Cancelled int `json:"cancelled"`              // jobs that disappeared before they ever ran
	Unseen    int `json:"unseen_ends"`            // jobs that disappeared while nobody looked for more than an hour
	Live      int `json:"live"`                   // jobs of the last snapshot
}

// seen is a job as a snapshot shows it.
type seen struct {
	trace.Job
	age  time.Duration // how long it has run
	runs bool
	rate float64 // how fast it runs, relative to as it asked; 0 if it waits
}

// longestUnseen is the longest time between two snapshots after which the end of a job that has disappeared counts as known.
const longestUnseen = time.Hour

// Add adds the next snapshot of a log. The jobs in away have not ended, even if the snapshot lacks them. Snapshots of one instant
// are taken together, because clustergym-kube decides on jobs of one priority after the other, and shows only those so far.
//
// A job that ran and is gone has ended. Nobody saw when; Add takes the time of the snapshot that lacks it. After more than an
// hour without a snapshot that would be too wrong, and the job is left out. A job of the same name that was submitted at another
// time is another job.
func (h *History) Add(s *cluster.View, away []string) {
	switch {
	case h.now.live != nil && s.Now() < h.now.at:
		h.Earlier++
		return
	case h.now.live == nil || s.Now() > h.now.at:
		h.settle()
		h.before, h.now = h.now, instant{s.Now(), map[string]*seen{}, map[string]bool{}}
		h.Snapshots++
	}
	for _, ids := range [][]cluster.JobID{s.Running(), s.Pending()} {
		for _, id := range ids {
			spec := s.Spec(id)
			j := &seen{Job: trace.Job{JobSpec: *spec}, age: s.Age(id), runs: s.Phase(id) == cluster.Running}
			if j.runs {
				j.rate = s.PlannedRate(id)
			}
			h.now.live[spec.Name] = j
		}
	}
	for _, name := range away {
		h.now.away[name] = true
	}
	h.Live = len(h.now.live)
}

// settle counts the jobs that are gone since the instant before.
func (h *History) settle() {
	var gone []*seen
	for name, j := range h.before.live {
		now := h.now.live[name]
		switch {
		case now != nil && now.Submit == j.Submit:
			now.age = max(now.age, j.age) // a job that was stopped has run before
		case now == nil && h.now.away[name]:
			j.runs, j.rate = false, 0
			h.now.live[name] = j
		default:
			gone = append(gone, j)
		}
	}
	slices.SortFunc(gone, func(a, b *seen) int { return cmp.Compare(a.Name, b.Name) })
	for _, j := range gone {
		h.end(j, h.now.at-h.before.at)
	}
	h.before, h.Live = instant{}, len(h.now.live)
}

// end counts a job that is gone, and keeps it if it is known how long it ran.
func (h *History) end(j *seen, since time.Duration) {
	switch {
	case !j.runs && j.age == 0:
		h.Cancelled++
		return
	case j.runs && since > longestUnseen:
		h.Unseen++
		return
	}
	h.Ended++
	j.Work = max(j.age+cluster.Scale(since, j.rate), time.Second)
	if h.used == nil {
		h.used = map[string]bool{}
	}
	for name, n := j.Name, 2; h.used[j.Name]; n++ {
		j.Name = fmt.Sprintf("%s~%d", name, n)
	}
	h.used[j.Name] = true
	j.Estimate, j.Ran, j.Where = 0, 0, nil
	h.jobs = append(h.jobs, j.Job)
}

// Jobs returns the jobs that have ended, in the order in which they were submitted. The first is submitted at 0. Call it when all
// snapshots have been added, and read the counts after it.
func (h *History) Jobs() []trace.Job {
	h.settle()
	all := slices.Clone(h.jobs)
	slices.SortFunc(all, func(a, b trace.Job) int { return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.Name, b.Name)) })
	for i := len(all) - 1; i >= 0; i-- {
		all[i].Submit -= all[0].Submit
	}
	return all
}
