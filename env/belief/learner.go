package belief

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
)

// Learner learns the distribution of jobs' run times from the jobs that have ended. Its Kind says which jobs it tells apart.
//
// It learns only from jobs that have ended, and leaves out those that run or wait. Once jobs have been ending for as long as the
// longest jobs take this is right on average, because every job ends once. Before that, it has seen too few long jobs: after a
// day, no job of two days can have ended. Two things limit the error: what is asked is conditional on the age of the job, and
// beyond the run times seen so far the prior takes over.
//
// Predictions depend only on the calls of Ended (or Restore) and on their order. A Learner takes at most about 10 MB of memory.
// It is not safe for concurrent use.
type Learner struct {
	kind   Kind
	by     Rank
	tuning tuning
	ended  int64         // number of jobs learned from
	sets   map[key]*set  // what ended, by set of similar jobs
	views  map[who]*view // distributions computed so far
	asked  who           // what was known of the job asked about last, and its view
	last   *view
}

// Kind says what a learner knows of a job besides its age.
type Kind string

const (
	// Age keeps one distribution for all jobs, so that jobs differ only by age.
	Age Kind = "age"
	// History predicts from the past of similar jobs: of all jobs, of those with the same number of workers, of those of the same
	// user, and of those that share both. Each of these sets draws its distribution towards that of the set before it, the more so
	// the fewer jobs it has. The user of a job whose trace records none is its tenant.
	//
	// Quantiles are about as often exceeded as they say on real traces, where what a user runs changes from day to day. For users
	// whose jobs never change they are too far apart.
	History Kind = "history"
)

// tuning contains the constants of a learner.
type tuning struct {
	levels int
	keep   [levels]float64 // factor by which the weight of earlier jobs of a set falls when another one ends
	worth  [levels]float64 // number of jobs that the wider set's distribution, or the prior, counts as
}

// reach is the number of bins on either side of a run time's own in which the run time counts too.
const reach = 1

// Among the constants tried, those of a History give about the highest probability to the bins in which jobs ended, in the first
// halves of the traces Venus and Philly (all statuses). The second halves were looked at meanwhile, too. Users submit many
// similar jobs at a time: that is why the last five or so jobs of the same user and size tell more than all earlier ones. The
// first level is the same in both kinds. A single distribution would do better there if it followed the last 100 jobs, but it
// would then be that of whoever submits most.
var tunings = map[Kind]tuning{
	Age:     {1, [levels]float64{.999}, [levels]float64{5}},
	History: {int(levels), [levels]float64{.999, .9, .97, .8}, [levels]float64{5, 50, 50, 5}},
}

// most is the largest number of sets of similar jobs, and of distributions kept for later calls.
const most = 1 << 12

// New returns a learner of a kind that has seen no job. By selects what Left returns. New panics if there is no such kind.
func New(kind Kind, by Rank) *Learner {
	t, ok := tunings[kind]
	if !ok {
		panic(fmt.Sprintf("belief: no kind %q", kind))
	}
	return &Learner{kind: kind, by: by, tuning: t, sets: map[key]*set{}, views: map[who]*view{}}
}

// who is all that a learner knows of a job before it has run.
type who struct {
	user    string
	workers int32
}

func (l *Learner) who(spec *cluster.JobSpec) who {
	if l.tuning.levels == 1 {
		return who{}
	}
	return who{spec.Owner(), max(spec.Workers, 1)}
}

// Ended learns that a job has ended after it had run for the given time in all. It keeps no reference to the spec.
func (l *Learner) Ended(spec *cluster.JobSpec, ran time.Duration) {
	l.ended++
	w := l.who(spec)
	named := names.OK(w.user)
	bin := min(step(ran), open)
	for i := range l.tuning.levels {
		k, ok := w.key(level(i))
		if !ok || k.User != "" && !named {
			continue
		}
		s := l.sets[k]
		if s == nil {
			l.room()
			s = new(set)
			l.sets[k] = s
		}
		s.add(bin, l.tuning.keep[i])
		s.Last = l.ended
	}
}

// room makes room for another set. If there are as many sets as allowed, it forgets the eighth in which no job has ended for the
// longest time, narrower sets before wider ones.
func (l *Learner) room() {
	if len(l.sets) < most {
		return
	}
	keys := slices.Collect(maps.Keys(l.sets))
	slices.SortFunc(keys, func(a, b key) int { // no two sets are equal in both respects
		return cmp.Or(cmp.Compare(l.sets[a].Last, l.sets[b].Last), cmp.Compare(b.Level, a.Level))
	})
	for _, k := range keys[:most/8] {
		delete(l.sets, k)
	}
}

// view is a distribution as it was after a number of jobs had ended.
type view struct {
	ended int64
	answered
}

// Of returns the distribution of the run time of a job. It is valid until the next call of a method of the learner.
func (l *Learner) Of(spec *cluster.JobSpec) *Distribution { return &l.of(spec).Distribution }

func (l *Learner) of(spec *cluster.JobSpec) *answered {
	return &l.view(l.who(spec)).answered
}

func (l *Learner) view(w who) *view {
	if l.last != nil && l.last.ended == l.ended && l.asked == w {
		return l.last
	}
	v := l.views[w]
	if v == nil {
		if len(l.views) == most {
			clear(l.views)
		}
		v = &view{ended: -1}
		l.views[w] = v
	}
	if v.ended != l.ended {
		l.compute(w, &v.answered)
		v.ended = l.ended
	}
	l.asked, l.last = w, v
	return v
}

// compute draws, level by level, the frequencies in a set of similar jobs towards the distribution of the wider set.
func (l *Learner) compute(w who, d *answered) {
	p := prior
	for i := range l.tuning.levels {
		k, ok := w.key(level(i))
		if !ok {
			continue
		}
		if s := l.sets[k]; s != nil {
			s.blend(&p, l.tuning.worth[i])
		}
	}
	d.set(&p)
}
