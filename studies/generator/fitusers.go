package generator

import (
	"cmp"
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/trace"
)

// A job of a user recurs if one of the user's last recurLook jobs has the same number of workers and the logarithms of the two
// durations differ by at most recurLog.
const (
	recurLog  = .25
	recurLook = 5
)

// fitUsers fits how the jobs are distributed over users and how often users repeat a job. It treats users of different workloads
// as different, even if their names are equal.
func fitUsers(workloads []trace.Workload) (trace.UserParams, int) {
	type key struct {
		workload int
		name     string
	}
	counts := map[key]int{}
	recent := map[key][]*trace.Job{}
	var jobs, pairs, same, repeats float64
	var diffs []float64
	for k, w := range workloads {
		var last string
		for _, i := range w.Arrivals() {
			j := &w.Jobs[i]
			if j.User == "" {
				continue
			}
			who := key{k, j.User}
			if last != "" {
				pairs++
				if last == j.User {
					same++
				}
			}
			last = j.User
			counts[who]++
			jobs++
			if diff, ok := recurrence(recent[who], j); ok {
				repeats++
				diffs = append(diffs, diff)
			}
			r := append(recent[who], j)
			recent[who] = r[max(0, len(r)-recurLook):]
		}
	}
	if jobs == 0 {
		return trace.UserParams{Count: 1}, 0
	}
	var ranked []float64
	for _, c := range counts {
		ranked = append(ranked, float64(c))
	}
	slices.SortFunc(ranked, func(a, b float64) int { return cmp.Compare(b, a) })
	var meet float64 // probability that two independent jobs have the same user
	for _, c := range ranked {
		meet += (c / jobs) * (c / jobs)
	}
	u := trace.UserParams{Count: len(ranked), Zipf: round(fitZipf(ranked), 4), Repeat: round(min(.999, repeats/jobs), 4)}
	if pairs > 0 && meet < 1 {
		u.Sticky = round(min(.999, max(0, (same/pairs-meet)/(1-meet))), 4)
	}
	if len(diffs) > 0 {
		// The median of the absolute difference of two normals is .954 of their common standard deviation.
		slices.Sort(diffs)
		u.Spread = round(nearestRank(diffs, .5)/.954, 4)
	}
	return u, len(ranked)
}

// recurrence finds, among a user's recent jobs with the same number of workers, the one with the closest duration. It returns the
// difference of the logarithms and whether the job counts as a recurrence.
func recurrence(recent []*trace.Job, j *trace.Job) (float64, bool) {
	best := math.Inf(1)
	for _, r := range recent {
		if r.Workers == j.Workers {
			best = min(best, math.Abs(math.Log(max(1, r.Work.Seconds())/max(1, j.Work.Seconds()))))
		}
	}
	return best, best <= recurLog
}

// fitZipf returns the maximum-likelihood Zipf exponent for counts in descending order.
func fitZipf(ranked []float64) float64 {
	var n, logs float64
	for k, c := range ranked {
		n += c
		logs += c * math.Log(float64(k+1))
	}
	// The derivative of the likelihood decreases in s, so bisect for its zero.
	lo, hi := 0.0, 5.0
	for range 50 {
		s := (lo + hi) / 2
		var z, dz float64
		for k := range ranked {
			l := math.Log(float64(k + 1))
			w := math.Exp(-s * l)
			z += w
			dz += w * l
		}
		if n*dz/z > logs {
			lo = s
		} else {
			hi = s
		}
	}
	return (lo + hi) / 2
}
