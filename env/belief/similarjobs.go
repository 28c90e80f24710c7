package belief

import (
	"cmp"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// level says which jobs a set of similar jobs contains: all, or those that share the number of workers, the user, or both. The
// levels are in the order in which a history goes from all jobs to the most similar ones.
type level uint8

const (
	allJobs level = iota
	sameWorkers
	sameUser
	sameBoth
	levels
)

var levelNames = [levels]string{"all", "workers", "user", "user-workers"}

// key identifies a set of similar jobs. Only the fields of its level are set.
type key struct {
	Level   level  `belief:"of,need,level"`
	User    string `belief:"user,given"`
	Workers int32  `belief:"workers,1.."`
}

// compareKeys orders keys by level, user and number of workers.
func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.User, b.User), cmp.Compare(a.Workers, b.Workers))
}

// shares returns whether the jobs of a set of the level share the user, and the number of workers.
func (l level) shares() (user, workers bool) {
	return l == sameUser || l == sameBoth, l == sameWorkers || l == sameBoth
}

// key returns the set of a level that contains the job; ok is false if there is none, because the job has no user.
func (w who) key(at level) (k key, ok bool) {
	k.Level = at
	user, workers := at.shares()
	if user {
		if k.User = w.user; k.User == "" {
			return k, false
		}
	}
	if workers {
		k.Workers = w.workers
	}
	return k, true
}

// set contains what is remembered of the ended jobs of a set of similar jobs.
type set struct {
	Last int64         `belief:"last,need,1.."`          // the job that ended last: how many had ended with it
	Jobs [Bins]float64 `belief:"jobs,need,0..maxWeight"` // weight of jobs that ended in each bin
	sum  float64       // of Jobs, in their order
}

// Counted returns the number of jobs in the narrowest set of jobs similar to the given one in which any has ended. Earlier jobs
// count as less than one, so that the number has a limit, which differs by set. It is 0 if no job has ended.
func (l *Learner) Counted(spec *cluster.JobSpec) float64 {
	w := l.who(spec)
	for i := l.tuning.levels - 1; i >= 0; i-- {
		if k, ok := w.key(level(i)); ok && l.sets[k] != nil {
			return l.sets[k].sum
		}
	}
	return 0
}

// add learns that a job ended in a bin. The weight 1 of the job is spread over the bins within reach, in a triangle; what would
// lie outside of the bins counts in the first or last one.
func (s *set) add(bin int, keep float64) {
	for i := range s.Jobs {
		s.Jobs[i] *= keep
	}
	const part = 1.0 / ((reach + 1) * (reach + 1))
	for off := -reach; off <= reach; off++ {
		s.Jobs[min(max(bin+off, 0), open)] += part * float64(reach+1-max(off, -off))
	}
	s.total()
}

func (s *set) total() {
	s.sum = 0
	for _, w := range s.Jobs {
		s.sum += w
	}
}

// blend replaces the probabilities of a wider set, which count as the given number of jobs, by those of this set.
func (s *set) blend(p *[Bins]float64, worth float64) {
	n := 1 / (s.sum + worth)
	for i := range p {
		p[i] = (s.Jobs[i] + worth*p[i]) * n
	}
}

// prior is what is believed before any job has ended. The chance to last longer than t is m / (m + t) · d / (d + t), where m,
// about the median, is 10 minutes, and d is a day. Up to a day this is a log-logistic distribution, about as broad as a
// log-normal one whose logarithm has standard deviation 1.8. From a day on, the chance falls to that of the Pareto distribution
// of the open bin, so that a job that has lasted longer than all before it is expected to last the longer, the older it is.
var prior = func() (p [Bins]float64) {
	m, d := float64(10*time.Minute), float64(24*time.Hour)
	for i := range p {
		p[i] = m / (m + starts[i]) * (d / (d + starts[i]))
		if i > 0 {
			p[i-1] -= p[i]
		}
	}
	return p
}()
