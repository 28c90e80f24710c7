package belief

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Rank selects the remaining time by which a Learner describes a job to schedulers.
type Rank string

// The ranks.
const (
	Mean    Rank = "mean"    // the expected remaining time
	Gittins Rank = "gittins" // the least expected service per completion: Distribution.Gittins
	Median  Rank = "median"  // the remaining time that the job exceeds as likely as not
)

// By selects what Left returns from now on.
func (l *Learner) By(by Rank) { l.by = by }

// Left returns how much work a job that has done the work age without ending still has to do by the learner's Rank, at least 1
// ns, and the age, greater than age, at which to ask again because the answer changes then although no job has ended. It is
// cluster.Never if the answer does not change.
//
// The answer follows a line from one edge of a bin to the next. Mean and Median are predicted at the last edge that the job has
// reached, and fall by the work that it has done since. They stay at least half of the way to the next edge, which is the mean
// and the median if the job ends before it. Gittins is constant between edges. Left does not allocate once it has been asked
// about the job's user and number of workers by the present Rank.
func (l *Learner) Left(spec *cluster.JobSpec, age time.Duration) (left, again time.Duration) {
	age = max(age, 0)
	i := step(age)
	next := cluster.Never
	if i+1 < len(edges) {
		next = edges[i+1]
	}
	left = l.of(spec).at(i, l.by)
	if l.by == Gittins || next == cluster.Never {
		return left, next
	}
	return max(left-(age-edges[i]), (next-age)/2, 1), next
}

// answered is a distribution with what it has answered. Use set to change the distribution.
type answered struct {
	Distribution
	by   Rank
	left []time.Duration // by edge: the answer by this Rank, 0 if it is not known
}

func (a *answered) set(weights *[Bins]float64) {
	a.Set(weights)
	clear(a.left)
}

// at returns the remaining time at an edge. It computes it only if it has not done so since the distribution last changed.
func (a *answered) at(edge int, by Rank) time.Duration {
	if a.by != by {
		a.by, a.left = by, make([]time.Duration, len(edges))
	}
	if a.left[edge] == 0 {
		switch age := edges[edge]; by {
		case Gittins:
			a.left[edge] = a.Gittins(age)
		case Median:
			a.left[edge] = a.Quantile(age, 0.5)
		default:
			a.left[edge] = a.Mean(age)
		}
	}
	return a.left[edge]
}
