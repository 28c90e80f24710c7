package trace

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// FirstGuess is what Profiled says of a job before any other has ended: the order of a typical job of the public traces.
const FirstGuess = 10 * time.Minute

// history is what is known of jobs alike that have ended.
type history struct {
	jobs int
	logs float64 // sum of the logarithms of their Work in seconds
}

// likeness names a set of jobs that are taken to be alike. Only the fields of its level are set.
type likeness struct {
	level       uint8
	group, user string
	workers     int32
}

// likenesses lists the sets that a job is in, the narrowest first: runs of its Group, its User's jobs of as many Workers,
// all jobs of as many Workers, all jobs.
func likenesses(j *Job) [4]likeness {
	return [4]likeness{
		{level: 3, group: j.Group},
		{level: 2, user: j.User, workers: j.Workers},
		{level: 1, workers: j.Workers},
		{},
	}
}

// profile estimates the Work of every job by the geometric mean over those that would have ended by its Submit had they
// started at once (Submit + Work of the past job <= Submit): the true end is later still, so no more is told than a
// profiler could know. It takes the narrowest set of likenesses in which a job has ended, FirstGuess where none has. Sums
// run in order of those ends, ties by index, so that a job that ends later changes no bit of them.
func profile(jobs []Job) {
	ends := make([]int32, len(jobs))
	for i := range ends {
		ends[i] = int32(i)
	}
	slices.SortStableFunc(ends, func(a, b int32) int {
		return cmp.Compare(jobs[a].Submit+jobs[a].Work, jobs[b].Submit+jobs[b].Work)
	})
	known := map[likeness]history{}
	for _, i := range (Workload{Jobs: jobs}).Arrivals() {
		j := &jobs[i]
		for len(ends) > 0 && jobs[ends[0]].Submit+jobs[ends[0]].Work <= j.Submit {
			past := &jobs[ends[0]]
			for _, k := range likenesses(past) {
				h := known[k]
				h.jobs++
				h.logs += math.Log(past.Work.Seconds())
				known[k] = h
			}
			ends = ends[1:]
		}
		j.Estimate = FirstGuess
		for _, k := range likenesses(j) {
			if h := known[k]; h.jobs > 0 && (k.level != 3 || k.group != "") {
				j.Estimate = roundEstimate(math.Exp(h.logs / float64(h.jobs)))
				break
			}
		}
	}
}
