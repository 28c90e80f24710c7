package belief

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
)

// inputNames are what the network gets about each bin for a job, in order. Odds are those that a job which reaches the bin ends
// in it, as logarithms, for all that a History predicts from sets of similar jobs, from the widest set to the narrowest. Numbers
// of jobs are logarithms of the number plus 1. Distances are numbers of bins from what is named to the bin. What is not known is
// NaN.
//
// Nothing names the job's user or says how long jobs run in general, so that the network cannot learn by heart who submits what:
// users change from week to week.
var inputNames = []string{
	"odds by all", "odds by size", "odds by user", "odds by user and size",
	"reached of all", "reached of size", "reached of user", "reached of user and size",
	"distance to last", "distance to last 2", "distance to last 3", "distance to last of size", "distance to last 2 of size",
	"last that lasted longer", "running that are older", "running of size that are older",
	"distance to oldest running", "distance to oldest running of size",
	"running", "running of size", "ended", "workers", "size against last", "size against submission before",
	"since submission before", "submitted shortly before", "bin",
}

// Inputs is the number of inputs of a Network for each bin.
const Inputs = 27

// Hazards is the number of bins that have a chance: to end in the bin for a job that has reached it. The open bin has none,
// because all jobs end there that reach it.
const Hazards = open

// Inputs writes the inputs of a job to x, a row for each bin, and to base the logarithms of the odds that a History predicts. It
// returns false, and writes nothing, for a job of which Arrived did not tell the learner.
func (l *Learner) Inputs(spec *cluster.JobSpec, x *[Hazards * Inputs]float32, base *[Hazards]float32) bool {
	j := l.live[spec]
	if j == nil {
		return false
	}
	l.inputs(j, x)
	d := &l.view(l.who(spec)).Distribution
	for i := range base {
		base[i] = float32(math.Log(d.odds(i)))
	}
	return true
}

// odds returns the odds that a job which reaches the bin ends in it.
func (d *Distribution) odds(bin int) float64 { return d.p[bin] / d.from[bin+1] }

// inputs writes the columns in the order of inputNames.
func (l *Learner) inputs(j *live, x *[Hazards * Inputs]float32) {
	w := l.who(j.spec)
	n := l.similar(w, x)
	n = j.lasts(w.workers, x, n)
	n = j.others(w.workers, x, n)
	n = j.facts(w.workers, x, n)
	for k := range Hazards {
		x[k*Inputs+n] = float32(k)
	}
}

// similar writes odds and numbers of jobs by the sets of similar jobs. It returns the number of columns written.
func (l *Learner) similar(w who, x *[Hazards * Inputs]float32) int {
	p := prior
	for i := range int(levels) {
		var s *set
		if k, ok := w.key(level(i)); ok {
			s = l.sets[k]
		}
		reached := 0.0
		if s != nil {
			s.blend(&p, l.tuning.worth[i])
			reached = s.jobs[open]
		}
		later := max(p[open], least)
		for k := Hazards - 1; k >= 0; k-- {
			if s != nil {
				reached += s.jobs[k]
			}
			x[k*Inputs+i] = float32(math.Log(p[k] / later))
			x[k*Inputs+int(levels)+i] = float32(math.Log1p(reached))
			later += p[k]
		}
	}
	return 2 * int(levels)
}

// lasts writes how the bins lie to the last jobs of the user.
func (j *live) lasts(workers int32, x *[Hazards * Inputs]float32, n int) int {
	const all, same = 3, 2
	found := 0
	var bins [all + same]int
	for i := range bins {
		bins[i] = -1
	}
	for i, e := range j.owner.ended {
		if i < all {
			bins[i] = e.bin
		}
		if e.workers == workers && found < same {
			bins[all+found] = e.bin
			found++
		}
	}
	for i, b := range bins {
		distance(x, n+i, b)
	}
	n += len(bins)
	for k := range Hazards {
		longer := 0
		for _, e := range j.owner.ended {
			if e.bin > k {
				longer++
			}
		}
		x[k*Inputs+n] = float32(longer)
	}
	return n + 1
}

// distance writes how far the bins lie beyond one, from -12 to 12. The bin is -1 if there is none.
func distance(x *[Hazards * Inputs]float32, n, bin int) {
	for k := range Hazards {
		if bin < 0 {
			x[k*Inputs+n] = float32(math.NaN())
			continue
		}
		x[k*Inputs+n] = float32(min(max(k-bin, -12), 12))
	}
}

// others writes how the bins lie to the ages of the user's running jobs.
func (j *live) others(workers int32, x *[Hazards * Inputs]float32, n int) int {
	oldest, oldestSame, all, same := -1, -1, 0, 0
	var older, olderSame [Hazards + 1]int
	for _, o := range j.owner.live {
		if o == j || o.step < 0 {
			continue
		}
		s := min(o.step, Hazards)
		all++
		oldest = max(oldest, s)
		older[s]++
		if max(o.spec.Workers, 1) == workers {
			same++
			oldestSame = max(oldestSame, s)
			olderSame[s]++
		}
	}
	a, b := older[Hazards], olderSame[Hazards]
	for k := Hazards - 1; k >= 0; k-- {
		x[k*Inputs+n], x[k*Inputs+n+1] = float32(math.Log1p(float64(a))), float32(math.Log1p(float64(b)))
		a += older[k]
		b += olderSame[k]
	}
	distance(x, n+2, oldest)
	distance(x, n+3, oldestSame)
	every(x, n+4, math.Log1p(float64(all)))
	every(x, n+5, math.Log1p(float64(same)))
	return n + 6
}

// facts writes what is the same for all bins.
func (j *live) facts(workers int32, x *[Hazards * Inputs]float32, n int) int {
	unknown := math.NaN()
	last, before, since := unknown, unknown, unknown
	if ended := j.owner.ended; len(ended) > 0 {
		last = math.Log2(float64(workers) / float64(ended[0].workers))
	}
	if b := j.before; b.workers > 0 {
		before = math.Log2(float64(workers) / float64(b.workers))
		since = math.Log1p(max(j.spec.Submit-b.at, 0).Seconds())
	}
	values := [...]float64{
		math.Log1p(float64(j.owner.count)), math.Log2(float64(workers)), last, before, since, float64(j.burst),
	}
	for i, v := range values {
		every(x, n+i, v)
	}
	return n + len(values)
}

func every(x *[Hazards * Inputs]float32, n int, v float64) {
	for k := range Hazards {
		x[k*Inputs+n] = float32(v)
	}
}
