package elastic

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
)

// AFSRule says which job of two deserves the next worker more.
type AFSRule string

// The rules.
const (
	// Pairwise is AFS's: between two jobs, of which a would end first, b gets the worker if (p'b-pb)/p'b > (p'a-pa)/pa, where p
	// is the throughput with the workers that a job has and p' that with one more. For it minimises the sum of their completion
	// times if nothing else ever happens and a hands on the worker when it ends. Gains count for each GPU of a worker.
	Pairwise AFSRule = "pairwise"
	// Gain is Lyra's description of AFS: the larger gain p'-p for each GPU.
	Gain AFSRule = "gain"
)

// AFSConfig are the options of AFS.
type AFSConfig struct {
	// Rule is reconstructed: the inequality follows from the assumption of AFS (NSDI 2021) on two jobs, and public
	// re-implementations have it; the paper's text was not at hand. Gain is Lyra (EuroSys 2023), §7.1.
	Rule AFSRule
	// Submission hands out the base demand in the order of submission instead of shortest remaining time first; where nobody
	// has an estimate the two are one. Own choice: Lyra §7.1 says that every job gets its base, not in which order.
	Submission bool
	// Scaling is the throughput that gains are taken from. Own choice.
	Scaling Scaling
}

// DefaultAFS returns the defaults.
func DefaultAFS() AFSConfig { return AFSConfig{Rule: Pairwise, Scaling: Profiled} }

// afs is AFS-style (Hwang et al., NSDI 2021, as Lyra, EuroSys 2023, §7.1, compares with it): base demand for every job, then
// again and again one worker for the job that deserves it more than any other.
//
// The pairwise rule is not transitive, and public versions of AFS go once through the jobs in any order; here they meet in
// a knock-out tournament, so that handing out a worker costs the logarithm of the number of jobs and not their number. A
// job that one more worker would not speed up, gets none; one without an estimate counts as longer than those with one,
// and as long as others without.
type afs struct{ AFSConfig }

// NewAFS returns the policy.
func NewAFS(c AFSConfig) Policy {
	c.Scaling.check()
	if c.Rule != Pairwise && c.Rule != Gain {
		panic("elastic: no AFS rule " + string(c.Rule))
	}
	return &afs{c}
}

func (*afs) Name() string { return "afs" }
func (*afs) Reset(uint64) {}

// deserves is what the rules look at in a job.
type deserves struct {
	ends   float64 // time left with the workers that it has
	gain   float64 // p'-p for each GPU
	before float64 // (p'-p)/p for each GPU
	after  float64 // (p'-p)/p' for each GPU
}

func (a *afs) standing(t throughput, j *Job) (d deserves) {
	p, more := t.at(j.Want), t.at(j.Want+1)
	gpus := float64(j.GPUMilli) / cluster.WholeGPU
	d.gain = (more - p) / gpus
	d.before, d.after = d.gain/p, d.gain/more
	d.ends = math.Inf(1)
	if j.Left > 0 {
		d.ends = float64(j.Left) * t.at(j.Workers) / p
	}
	return d
}

func (a *afs) Allocate(s *cluster.View, jobs []Job) {
	if !a.Submission {
		byWorkLeft(jobs)
	}
	left := newBudget(s, jobs)
	left.bases(jobs)

	standings := make([]deserves, len(jobs))
	left.grow(s, jobs, a.Scaling, func(i int32, t throughput) bool {
		standings[i] = a.standing(t, &jobs[i])
		return standings[i].gain > 0
	}, func(i, k int32) bool { return a.beats(&standings[i], &standings[k]) })
}

// beats reports whether the first deserves a worker as much as the second or more.
func (a *afs) beats(x, y *deserves) bool {
	switch {
	case a.Rule == Gain:
		return x.gain >= y.gain
	case x.ends <= y.ends:
		return x.before >= y.after
	default:
		return x.after > y.before
	}
}
