package elastic

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
)

// AFSRule decides which of two jobs gets the next worker.
type AFSRule string

// The values of AFSRule.
const (
	// Pairwise is the rule of AFS. Let p be a job's throughput with its present workers and p' that with one more. Of two jobs, of
	// which a would end first, b gets the worker if (p'b-pb)/p'b > (p'a-pa)/pa. This minimises the sum of their completion times if
	// nothing else happens and a passes its workers on when it ends. Gains are per GPU of a worker.
	Pairwise AFSRule = "pairwise"
	// Gain is Lyra's description of AFS: the job with the larger gain p'-p per GPU gets the worker.
	Gain AFSRule = "gain"
)

// AFSConfig are the options of AFS.
type AFSConfig struct {
	// Rule is reconstructed: the inequality follows from the assumption of AFS (NSDI 2021) on two jobs, and public
	// re-implementations use it; the paper's text was not available. Gain is from Lyra (EuroSys 2023), §7.1.
	Rule AFSRule
	// Submission gives jobs their base demand (their least workers) in the order of submission; false gives it to the job with the
	// shortest remaining time first. Without any estimates both are the same. Own choice: Lyra §7.1 says that every job gets its
	// base, but not in which order.
	Submission bool
	// Scaling predicts the throughput from which gains are computed. Own choice.
	Scaling Scaling
}

// DefaultAFS returns the default options of AFS.
func DefaultAFS() AFSConfig { return AFSConfig{Rule: Pairwise, Scaling: Profiled} }

// afs is AFS-style (Hwang et al., NSDI 2021, as Lyra, EuroSys 2023, §7.1, compares with it). Every job gets its base demand;
// then afs gives single workers to the job that wins against all others, one worker after the other.
//
// The pairwise rule is not transitive, and public versions of AFS compare the jobs once, in any order. Here they meet in a
// knock-out tournament, so that the cost of giving out a worker grows with the logarithm of the number of jobs. A job that one
// more worker would not speed up gets none. A job without an estimate counts as longer than every job with one, and as long as
// other jobs without.
type afs struct{ AFSConfig }

// NewAFS returns the policy AFS.
func NewAFS(c AFSConfig) Policy {
	c.Scaling.check()
	if c.Rule != Pairwise && c.Rule != Gain {
		panic("elastic: no AFS rule " + string(c.Rule))
	}
	return &afs{c}
}

func (*afs) Name() string { return "afs" }
func (*afs) Reset(uint64) {}

// deserves contains the values of a job that the rules compare.
type deserves struct {
	ends   float64 // time left with the present workers
	gain   float64 // p'-p per GPU
	before float64 // (p'-p)/p per GPU
	after  float64 // (p'-p)/p' per GPU
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

// beats reports whether x deserves a worker at least as much as y.
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
