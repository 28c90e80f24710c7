package beliefs

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
)

// RunTime is what is believed of the run time of a new job. Times are in seconds.
type RunTime struct {
	User    string  `json:"user"`    // "" for all
	Workers int32   `json:"workers"` // of the job, 0 for any
	Ended   int     `json:"ended"`   // jobs of the user that have ended; those with so many workers if Each returns it; 0 if saved
	Counts  float64 `json:"counts"`  // number of similar jobs: see belief.Learner.Counted
	Low     float64 `json:"p10_s"`
	Median  float64 `json:"p50_s"`
	High    float64 `json:"p90_s"`
	of      *belief.Distribution
}

// runTime asks a learner about a new job.
func runTime(l *belief.Learner, user string, workers int32, ended int) RunTime {
	spec := cluster.JobSpec{User: user, Workers: workers}
	d := *l.Of(&spec)
	q := func(q float64) float64 { return d.Quantile(0, q).Seconds() }
	return RunTime{user, workers, ended, l.Counted(&spec), q(.1), q(.5), q(.9), &d}
}

// Everyone returns what is believed of a new job of which nothing is known.
func (b *Beliefs) Everyone() RunTime {
	if b.saved != nil {
		return runTime(b.all, "", 0, b.saved.ended)
	}
	return runTime(b.all, "", 0, len(b.ran))
}

// Users returns what is believed of a new job of each user of whom a job has ended: those with most ended jobs first, at most the
// given number. The job has as many workers as most jobs of the user.
func (b *Beliefs) Users(most int) (list []RunTime) {
	if b.saved != nil {
		users := b.saved.users()
		for _, user := range users[:min(most, len(users))] {
			if sizes := b.saved.sizes(user); len(sizes) > 0 { // of many users, those of some are forgotten
				list = append(list, runTime(b.times, user, sizes[0], 0))
			}
		}
		return list
	}
	ended := map[string]int{}
	for id := range b.ran {
		ended[b.state.Spec(id).Owner()]++
	}
	delete(ended, "")
	users := slices.SortedFunc(maps.Keys(ended), func(x, y string) int {
		return cmp.Or(cmp.Compare(ended[y], ended[x]), cmp.Compare(x, y))
	})
	for _, user := range users[:min(most, len(users))] {
		sizes, _ := b.sizes(user)
		list = append(list, runTime(b.times, user, sizes[0], ended[user]))
	}
	return list
}

// Each returns what is believed of a new job of a user for each number of workers that jobs of the user had, the most frequent
// number first.
func (b *Beliefs) Each(user string) (list []RunTime) {
	if b.saved != nil {
		for _, workers := range b.saved.sizes(user) {
			list = append(list, runTime(b.times, user, workers, 0))
		}
		return list
	}
	sizes, ended := b.sizes(user)
	for _, workers := range sizes {
		list = append(list, runTime(b.times, user, workers, ended[workers]))
	}
	return list
}

// sizes returns the numbers of workers of a user's submitted jobs, the most frequent first and the smaller one if two are as
// frequent, and how many of these jobs have ended.
func (b *Beliefs) sizes(user string) (sizes []int32, ended map[int32]int) {
	ended = map[int32]int{}
	jobs := map[int32]int{}
	for _, id := range b.submitted(user) {
		workers := b.state.Spec(id).Workers
		jobs[workers]++
		if _, ok := b.ran[id]; ok {
			ended[workers]++
		}
	}
	return slices.SortedFunc(maps.Keys(jobs), func(x, y int32) int {
		return cmp.Or(cmp.Compare(jobs[y], jobs[x]), cmp.Compare(x, y))
	}), ended
}

// Left is what is believed of how much longer a job runs. Times are in seconds.
type Left struct {
	Age     float64 `json:"age_s"`
	Mean    float64 `json:"mean_s"`
	Median  float64 `json:"median_s"`
	Gittins float64 `json:"gittins_s"` // see belief.Gittins
	Low     float64 `json:"p10_s"`     // between Low and High with a probability of 80 %
	High    float64 `json:"p90_s"`
}

func (b *Beliefs) left(id cluster.JobID) *Left {
	spec, age := b.state.Spec(id), b.state.Age(id)
	rank, _ := b.times.Left(spec, age)
	d := b.times.Of(spec)
	q := func(q float64) float64 { return d.Quantile(age, q).Seconds() }
	return &Left{age.Seconds(), d.Mean(age).Seconds(), q(.5), rank.Seconds(), q(.1), q(.9)}
}

// Curve returns n run times in ascending order, in seconds, at the same distances in logarithms, and the probability of a new
// job to end within each.
func (r *RunTime) Curve(n int) (x, y []float64) {
	lo, hi := r.of.Quantile(0, .005), r.of.Quantile(0, .99)
	for i := range n {
		at := geometric(lo.Seconds(), hi.Seconds(), float64(i)/float64(n-1))
		x = append(x, at)
		y = append(y, r.of.EndsWithin(0, time.Duration(at*1e9)))
	}
	return x, y
}
