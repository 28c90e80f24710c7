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
// about the job's user and number of workers.
func (l *Learner) Left(spec *cluster.JobSpec, age time.Duration) (left, again time.Duration) {
	age = max(age, 0)
	d := l.Of(spec)
	i := step(age)
	at, next := edges[i], cluster.Never
	if i+1 < len(edges) {
		next = edges[i+1]
	}
	switch l.by {
	case Gittins:
		return d.Gittins(at), next
	case Median:
		left = d.Quantile(at, 0.5)
	default:
		left = d.Mean(at)
	}
	if next == cluster.Never {
		return left, next
	}
	return max(left-(age-at), (next-age)/2, 1), next
}
