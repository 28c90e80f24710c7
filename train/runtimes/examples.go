package runtimes

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/trace"
)

// Example is what was known of a job at an instant, and how long it then ran.
type Example struct {
	// X contains the inputs of the network for the bins in which the job could have ended, [bins,belief.Inputs], and Base the
	// logarithms of the odds by a belief.History, [bins]. The first bin is the one that the job had reached.
	X, Base []float32
	Ended   bool // the job ended in the last of the bins; otherwise it ran on beyond them, and nothing more is known
}

// player plays jobs to learners.
type player struct {
	jobs  []trace.Job // in order of submission
	end   time.Duration
	edges []time.Duration
}

// newPlayer returns a player of the jobs, of which is known what happened up to their last submission.
func newPlayer(jobs []trace.Job) *player {
	p := &player{edges: belief.Edges()}
	for _, i := range (trace.Workload{Jobs: jobs}).Arrivals() {
		p.jobs = append(p.jobs, jobs[i])
	}
	if n := len(p.jobs); n > 0 {
		p.end = p.jobs[n-1].Submit
	}
	return p
}

// teach tells the learner of the jobs that had ended by an instant, in the order in which they ended, as if none had waited.
func (p *player) teach(l *belief.Learner, until time.Duration) {
	ended := func(j *trace.Job) time.Duration { return j.Submit + j.Work }
	var before []*trace.Job
	for i := range p.jobs {
		if ended(&p.jobs[i]) <= until {
			before = append(before, &p.jobs[i])
		}
	}
	slices.SortStableFunc(before, func(a, b *trace.Job) int { return cmp.Compare(ended(a), ended(b)) })
	for _, j := range before {
		l.Ended(&j.JobSpec, j.Work)
	}
}

// The kinds of events of a part, in the order in which events of the same instant happen.
type kind int

const (
	ends  kind = iota
	lasts      // the job has run for some time
	arrives
	starts // a job that waited begins
)

type event struct {
	at   time.Duration
	kind kind
	job  int
	age  time.Duration // lasts
}

// part plays the submissions lo to hi-1 to a learner that was taught what came before, and tells it of the jobs that run at the
// beginning. It calls ask about each job when the job is submitted, with the job's age and how long it can be watched in all.
// With a stream, jobs wait for a while before they run, about half of them not at all, and it calls ask also when they begin and
// at an instant at which they run.
func (p *player) part(l *belief.Learner, lo, hi int, draw *rand.Rand, ask func(j *trace.Job, age, seen time.Duration)) {
	begin, until := p.jobs[lo].Submit, p.jobs[hi-1].Submit
	begun := make([]time.Duration, hi) // when jobs begin to run
	var running []int
	var events []event
	for i := range hi {
		j := &p.jobs[i]
		begun[i] = j.Submit
		if i < lo {
			if j.Submit+j.Work <= begin {
				continue
			}
			l.Arrived(&j.JobSpec)
			running = append(running, i)
		} else {
			events = append(events, event{at: j.Submit, kind: arrives, job: i})
			if draw != nil {
				events = p.wait(events, i, begun, draw)
			}
		}
		events = append(events, event{at: begun[i] + j.Work, kind: ends, job: i})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind)) })
	for _, e := range events {
		if e.at > until {
			return
		}
		j := &p.jobs[e.job]
		switch e.kind {
		case ends:
			l.Ended(&j.JobSpec, j.Work)
			running = slices.DeleteFunc(running, func(i int) bool { return i == e.job })
			continue
		case arrives:
			l.Arrived(&j.JobSpec)
		}
		for _, i := range running {
			if p.jobs[i].Owner() == j.Owner() {
				l.Runs(&p.jobs[i].JobSpec, e.at-begun[i])
			}
		}
		ask(j, e.age, p.end-begun[e.job])
		if e.kind == starts || e.kind == arrives && begun[e.job] == j.Submit {
			running = append(running, e.job)
		}
	}
}

// wait draws how long a job waits, and an age at which there is an example of it.
func (p *player) wait(events []event, i int, begun []time.Duration, draw *rand.Rand) []event {
	j := &p.jobs[i]
	if draw.IntN(2) == 0 {
		begun[i] += uniform(draw, 10*time.Second, 6*time.Hour)
		events = append(events, event{at: begun[i], kind: starts, job: i})
	}
	if age := p.edges[p.bin(uniform(draw, 10*time.Second, 12*time.Hour))]; age < j.Work {
		events = append(events, event{at: begun[i] + age, kind: lasts, job: i, age: age})
	}
	return events
}

// uniform draws a time whose logarithm is uniformly distributed.
func uniform(draw *rand.Rand, low, high time.Duration) time.Duration {
	return time.Duration(float64(low) * math.Pow(float64(high)/float64(low), draw.Float64()))
}

// bin returns the bin of a run time.
func (p *player) bin(t time.Duration) int {
	i, found := slices.BinarySearch(p.edges, t)
	if found {
		return i
	}
	return i - 1
}

// Settings of the examples.
const (
	partJobs = 200 // submissions of a part of the training split
	passes   = 4   // how often each job is submitted, with other jobs known and after another wait
)

// training returns examples of the training split. Each part of it is played to a learner that has seen the jobs which ended up
// to an instant drawn from the time before the part: policies that begin an episode know the jobs of the training split, but not
// those between it and the episode.
func training(jobs []trace.Job, draw *rand.Rand) []Example {
	p := newPlayer(jobs)
	var all []Example
	for range passes {
		for lo := 0; lo < len(p.jobs); lo += partJobs {
			l := belief.NewLearned(new(belief.Network), belief.Mean)
			first := p.jobs[0].Submit
			p.teach(l, first+time.Duration(draw.Float64()*float64(p.jobs[lo].Submit-first)))
			p.part(l, lo, min(lo+partJobs, len(p.jobs)), draw, p.collect(l, &all))
		}
	}
	return all
}

// validation returns examples of a split that follows the training split.
func validation(past, jobs []trace.Job, draw *rand.Rand) []Example {
	p := newPlayer(jobs)
	var all []Example
	for lo := 0; lo < len(p.jobs); lo += partJobs {
		l := belief.NewLearned(new(belief.Network), belief.Mean)
		newPlayer(past).teach(l, forever)
		p.part(l, lo, min(lo+partJobs, len(p.jobs)), draw, p.collect(l, &all))
	}
	return all
}

// forever is later than all jobs end.
const forever = time.Duration(math.MaxInt64)

// collect returns a function that appends examples of jobs to all.
func (p *player) collect(l *belief.Learner, all *[]Example) func(*trace.Job, time.Duration, time.Duration) {
	var x [belief.Hazards * belief.Inputs]float32
	var base [belief.Hazards]float32
	return func(j *trace.Job, age, seen time.Duration) {
		from, to, ended := p.bin(age), p.bin(max(min(j.Work, seen), 0)), j.Work <= seen
		if ended = ended && to < belief.Hazards; ended { // all jobs end in the open bin that reach it
			to++
		}
		if to > from && l.Inputs(&j.JobSpec, &x, &base) {
			const w = belief.Inputs
			*all = append(*all, Example{slices.Clone(x[from*w : to*w]), slices.Clone(base[from:to]), ended})
		}
	}
}

// some returns at most n of the examples, drawn at random.
func some(all []Example, n int, draw *rand.Rand) []Example {
	draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}
