package trace

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// FirstGuess is the Profiled estimate of a job before any similar job has ended: the order of magnitude of a typical job in the
// public traces.
const FirstGuess = 10 * time.Minute

// history summarises the ended jobs of a likeness.
type history struct {
	jobs int
	logs float64 // sum of the logarithms of their Work in seconds
}

// likeness identifies a set of similar jobs. Only the fields of its level are set.
type likeness struct {
	level       uint8
	group, user string
	workers     int32
}

// likenesses lists the sets of similar jobs that contain a job, the narrowest first: runs of its Group, jobs of its User with the
// same number of workers, all jobs with the same number of workers, all jobs. A Group that a Mix dealt does not count: it depends
// on the job's Work, which the estimate must not know.
func likenesses(j *Job) [4]likeness {
	group := j.Group
	if j.Dealt {
		group = ""
	}
	return [4]likeness{
		{level: 3, group: group},
		{level: 2, user: j.User, workers: j.Workers},
		{level: 1, workers: j.Workers},
		{},
	}
}

// profile estimates the Work of every job by the geometric mean over the similar jobs that would have ended by its Submit had
// they started at once, that is with past.Submit + past.Work <= Submit. This is the most that a profiler could know: jobs that
// queue end even later. profile uses the narrowest set of similar jobs in which a job has ended, or FirstGuess if there is none.
// It adds up jobs in the order of those ends, ties by index, so that a job that ends later does not change a single bit of
// earlier estimates.
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
			if h := known[k]; h.jobs > 0 && (k.level < 3 || k.group != "") {
				j.Estimate = roundEstimate(math.Exp(h.logs / float64(h.jobs)))
				break
			}
		}
	}
}
