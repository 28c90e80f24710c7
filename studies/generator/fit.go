// Package generator fits the parameters from which trace.Generate draws workloads to real traces.
package generator

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// Report reports the data that Fit used and how well the parameters match it.
type Report struct {
	Jobs    int
	Users   int // distinct users; 0 if no trace has users: trace.Params.Users is then one user without recurrence
	Days    float64
	Classes []ClassFit // one for each duration class
}

// ClassFit compares a duration class with the jobs from which it was fitted.
type ClassFit struct {
	MaxWorkers int32
	Jobs       int
	Seen       []float64 // seconds at trace.ClassQuantiles, of the jobs
	Fitted     []float64 // seconds at trace.ClassQuantiles, of the fitted mixture
	KS         float64   // Kolmogorov-Smirnov distance between the two distributions
}

// Fit estimates generator parameters from the pooled jobs of one or more workloads. Traces do not give a time zone, so Fit shifts
// the daily cycle of each later workload by whole hours to match the earlier ones. Hour 0 is time 0 of the first workload. The
// arrival rate is the average rate of the workloads; trace.Params.WithLoad changes it. The caller fills Name and Source. Fit
// returns an error unless each workload has two jobs and a span above 0.
func Fit(workloads ...trace.Workload) (trace.Params, Report, error) {
	var jobs int
	for _, w := range workloads {
		jobs += len(w.Jobs)
		if w.Span() == 0 {
			return trace.Params{}, Report{}, errors.New("fit " + strconv.Quote(w.Name) + ": its jobs span no time")
		}
	}
	if jobs == 0 {
		return trace.Params{}, Report{}, errors.New("fit: no workloads")
	}
	var p trace.Params
	rep := Report{Jobs: jobs}
	p.Arrivals, rep.Days = fitArrivals(workloads)
	p.Sizes = fitSizes(workloads)
	p.Durations, rep.Classes = fitDurations(workloads)
	p.Users, rep.Users = fitUsers(workloads)
	return p, rep, p.Validate()
}

// fitArrivals fits the arrival rates of all workloads together. It takes the factors of hours and days from the numbers of jobs
// that arrive in them, and then fits the variation that remains in the gaps between arrivals.
func fitArrivals(workloads []trace.Workload) (trace.ArrivalParams, float64) {
	a := trace.ArrivalParams{Hourly: make([]float64, 24)}
	var total, days, dayLogs, dayN, cvs, cvN float64
	for _, w := range workloads {
		times := arrivalSeconds(w)
		hourly := make([]float64, 24)
		daily := make([]float64, int(times[len(times)-1]/86400)+1)
		for _, t := range times {
			hourly[int(t/3600)%24]++
			daily[int(t/86400)]++
		}
		turn := bestTurn(a.Hourly, hourly)
		for h := range hourly {
			a.Hourly[h] += hourly[(h+turn)%24]
		}
		n := float64(len(times))
		span := w.Span().Hours() / 24
		total, days = total+n, days+span
		if whole := daily[:len(daily)-1]; len(whole) > 1 { // the last day is incomplete
			logs := make([]float64, len(whole))
			for i, c := range whole {
				logs[i] = math.Log(c + 1)
			}
			slices.Sort(logs)
			// Use quartiles, not moments, so that a single day on which the cluster stood still does not distort the spread.
			dayLogs += (nearestRank(logs, .75) - nearestRank(logs, .25)) / 1.349 * float64(len(whole))
			dayN += float64(len(whole))
		}
		cvs += n * gapCV(operational(times, hourly, daily))
		cvN += n
	}
	a.PerDay = round(total/days, 5)
	for h := range a.Hourly {
		a.Hourly[h] = round(max(.02, a.Hourly[h]*24/total), 3)
	}
	if dayN > 0 {
		a.DaySpread = round(min(3, dayLogs/dayN), 4)
	}
	a.CV = round(min(20, max(.05, cvs/cvN)), 4)
	return a, days
}

// arrivalSeconds returns the sorted submit times in seconds from the workload's time 0.
func arrivalSeconds(w trace.Workload) []float64 {
	times := make([]float64, 0, len(w.Jobs))
	for _, i := range w.Arrivals() {
		times = append(times, w.Jobs[i].Submit.Seconds())
	}
	return times
}

// bestTurn returns the shift in hours with which the parameter turn best matches base, or 0 while base is empty.
func bestTurn(base, turn []float64) int {
	best, at := math.Inf(-1), 0
	for shift := range 24 {
		var dot float64
		for h := range base {
			dot += base[h] * turn[(h+shift)%24]
		}
		if dot > best {
			best, at = dot, shift
		}
	}
	return at
}

// operational transforms arrival times to a clock on which all hours and days have the same rate.
func operational(times, hourly, daily []float64) []float64 {
	out := make([]float64, len(times))
	var passed float64 // time passed on that clock up to the start of the current hour
	hour := 0
	for i, t := range times {
		for ; hour < int(t/3600); hour++ {
			passed += hourly[hour%24] * daily[hour/24]
		}
		out[i] = passed + hourly[hour%24]*daily[hour/24]*math.Mod(t, 3600)/3600
	}
	return out
}

// fitSizes counts gangs by number of workers and GPU share. The CPU and memory of a size are the medians of its jobs.
func fitSizes(workloads []trace.Workload) []trace.SizeParams {
	type shape struct{ workers, milli int32 }
	members := map[shape][]cluster.Amount{}
	var shapes []shape
	var total float64
	for _, w := range workloads {
		for i := range w.Jobs {
			j := &w.Jobs[i]
			s := shape{j.Workers, j.Request.GPUMilli}
			if members[s] == nil {
				shapes = append(shapes, s)
			}
			members[s] = append(members[s], j.Request)
			total++
		}
	}
	slices.SortFunc(shapes, func(a, b shape) int {
		return cmp.Or(cmp.Compare(a.workers, b.workers), cmp.Compare(a.milli, b.milli))
	})
	var sizes []trace.SizeParams
	for _, s := range shapes {
		var cpu, mem []int32
		for _, r := range members[s] {
			cpu, mem = append(cpu, r.CPUMilli), append(mem, r.MemMiB)
		}
		slices.Sort(cpu)
		slices.Sort(mem)
		sizes = append(sizes, trace.SizeParams{
			Workers: s.workers, GPUMilli: s.milli, CPUMilli: nearestRank(cpu, .5), MemMiB: nearestRank(mem, .5),
			Share: round(float64(len(cpu))/total, 5),
		})
	}
	return sizes
}

// fitDurations groups gangs by powers of two, merges groups that are too small to fit, and fits a duration class to each.
func fitDurations(workloads []trace.Workload) ([]trace.DurationClass, []ClassFit) {
	const fewest = 100 // jobs in a class, unless there are fewer altogether
	groups := map[int32][]*trace.Job{}
	var tops []int32
	for _, w := range workloads {
		for i := range w.Jobs {
			top := int32(1)
			for top < w.Jobs[i].Workers {
				top *= 2
			}
			if groups[top] == nil {
				tops = append(tops, top)
			}
			groups[top] = append(groups[top], &w.Jobs[i])
		}
	}
	slices.Sort(tops)
	var classes []trace.DurationClass
	var fits []ClassFit
	var pending, left []*trace.Job
	for i, top := range tops {
		pending = append(pending, groups[top]...)
		left = left[:0]
		for _, t := range tops[i+1:] {
			left = append(left, groups[t]...)
		}
		if len(left) > 0 && (len(pending) < fewest || len(left) < fewest) {
			continue
		}
		d, f := fitClass(pending, top)
		classes, fits = append(classes, d), append(fits, f)
		pending = nil
	}
	return classes, fits
}

func fitClass(jobs []*trace.Job, top int32) (trace.DurationClass, ClassFit) {
	d := trace.DurationClass{MaxWorkers: top}
	logs := make([]float64, len(jobs))
	var ends [4]float64
	for i, j := range jobs {
		logs[i] = math.Log(max(1, j.Work.Seconds()))
		ends[j.Status&3]++
	}
	slices.Sort(logs)
	n := float64(len(jobs))
	d.Max = round(math.Exp(logs[len(logs)-1]), 9)
	d.Passed, d.Failed = round(ends[trace.Passed]/n, 4), round(ends[trace.Failed]/n, 4)
	d.Killed = round(ends[trace.Killed]/n, 4)
	parts := 1
	switch {
	case len(jobs) >= 150:
		parts = 3
	case len(jobs) >= 50:
		parts = 2
	}
	for _, m := range fitMixture(logs, parts) {
		d.Mixture = append(d.Mixture, trace.Lognormal{
			Weight: max(1e-4, round(m.Weight, 4)), Mu: round(m.Mu, 4), Sigma: round(m.Sigma, 4),
		})
	}
	f := ClassFit{MaxWorkers: top, Jobs: len(jobs)}
	for _, p := range trace.ClassQuantiles() {
		f.Seen = append(f.Seen, round(math.Exp(nearestRank(logs, p)), 6))
		f.Fitted = append(f.Fitted, round(math.Exp(d.Quantile(p)), 6))
	}
	for i, x := range logs {
		c := d.CDF(x)
		f.KS = max(f.KS, math.Abs(c-float64(i+1)/n), math.Abs(c-float64(i)/n))
	}
	d.Quantiles = f.Seen
	return d, f
}

// round keeps the given number of significant digits, so that files of parameters stay readable.
func round(x float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return r
}

// nearestRank returns the smallest value in the sorted slice such that at least a fraction p of the values are less than or equal
// to it.
func nearestRank[T any](sorted []T, p float64) T {
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(p*float64(len(sorted))))-1))]
}

// gapCV returns the coefficient of variation of the gaps between sorted times, 0 for fewer than three gaps.
func gapCV(sorted []float64) float64 {
	if len(sorted) < 3 || sorted[len(sorted)-1] == sorted[0] {
		return 0
	}
	gaps := make([]float64, len(sorted)-1)
	for i := range gaps {
		gaps[i] = sorted[i+1] - sorted[i]
	}
	mean, sd := meanSD(gaps)
	return sd / mean
}
