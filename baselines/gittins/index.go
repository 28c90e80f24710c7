// Package gittins orders jobs of unknown size by the Gittins index of the service they have attained, learned from the jobs
// that have ended: the discretised 2D-Gittins of Tiresias (Gu et al., NSDI 2019, §3.2 and §3.3). It knows nothing of
// placements: package baselines makes a preemptive scheduler of it.
package gittins

import (
	"slices"
	"time"
)

// Config is the options of an index.
type Config struct {
	// Bound is the GPU-time at which a job sinks from the first queue into the second. 3,200 GPU-seconds are of the source
	// (§6). 0 is one queue for all.
	Bound time.Duration
	// Queues puts jobs of the first queue before those of the second and orders by the index within a queue, as the simulator
	// that the authors published does. Otherwise the index alone counts.
	Queues bool
	// Unit and Growth say at which attained services the index is worked out: 0, Unit, Unit·Growth, Unit·Growth² and so on.
	// In between it stays what it was. Own choice: the source works it out anew at every event.
	Unit   time.Duration
	Growth float64
	// Least is how many jobs must have ended, History included, before the index is used; until then a job's queue is its
	// rank, which is least attained service. Own choice: the source takes the distribution as given.
	Least int
	// Window is how many jobs that ended last are remembered, up to 65,536. Own choice.
	Window int
	// History is the GPU-time of jobs that ended before the episode.
	History []time.Duration
}

// Default returns the default options.
func Default() Config {
	return Config{Bound: 3200 * time.Second, Queues: true, Unit: time.Minute, Growth: 1.25, Least: 50, Window: 2000}
}

// index ranks attained service by the Gittins index of what the total may be. The index of a job that attained a is
//
//	max over Δ of P(S - a ≤ Δ | S > a) / E[min(S - a, Δ) | S > a]
//
// where S is distributed as the total service of the jobs that were observed: the best rate of completions per service that
// can be had from going on with the job for some Δ. Its inverse, the rank, is a time: the expected service per completion.
// What no observed job has exceeded ranks last.
//
// Both a and a + Δ are among the points of Config, a + Δ also without end. If any Δ were allowed, jobs that by chance were
// seen to end right after a point would make it look good; the simulator that the authors published has one fixed Δ. All
// arithmetic is in whole milliseconds, so that ranks do not depend on the machine.
type index struct {
	c      Config
	points []time.Duration // attained services at which ranks are worked out, ascending from 0
	ranks  []time.Duration // at points, of the queue that starts there or lies around
	ring   []int64         // total services that were observed, ms
	next   int             // in ring, once it is full
	stale  int             // observations since ranks were worked out
	sorted []int64
	sum    []int64 // of the first so many of sorted
	ended  []int   // by point, how many of sorted it reaches
}

// Ranks of the index lie below span in the first queue and below twice that in the second.
const span = time.Duration(1) << 60

// newIndex returns an index that has observed the history.
func newIndex(c Config) *index {
	x := &index{c: c}
	x.c.Window = min(max(c.Window, 1), 1<<16)
	unit, growth := max(c.Unit, time.Millisecond), max(c.Growth, 1.01)
	x.points = []time.Duration{0}
	for at := float64(unit); at < float64(span); at *= growth {
		x.points = append(x.points, time.Duration(at).Truncate(time.Millisecond))
	}
	if c.Bound > 0 {
		x.points = append(x.points, c.Bound)
	}
	slices.Sort(x.points)
	x.points = slices.Compact(x.points)
	x.Reset()
	return x
}

// Reset forgets all but the history.
func (x *index) Reset() {
	x.ring, x.next, x.stale, x.ranks = x.ring[:0], 0, 0, x.ranks[:0]
	for _, s := range x.c.History {
		x.Observe(s)
	}
}

// Observe learns the total service of a job that has ended, as GPU-time.
func (x *index) Observe(service time.Duration) {
	ms := max(service, 0).Milliseconds()
	x.stale++
	if len(x.ring) < x.c.Window {
		x.ring = append(x.ring, ms)
		return
	}
	x.ring[x.next] = ms
	x.next = (x.next + 1) % len(x.ring)
}

// Rank returns the rank of a job that has attained so much service; smaller ranks go first. It changes only when more jobs
// are observed, and then only now and again, and where Next says.
func (x *index) Rank(attained time.Duration) time.Duration {
	if !x.learn() {
		return x.queue(attained)
	}
	return x.ranks[x.at(attained)]
}

// Next returns the attained service at which the rank changes, if it will.
func (x *index) Next(attained time.Duration) (time.Duration, bool) {
	if !x.learn() {
		return x.c.Bound, attained < x.c.Bound
	}
	at := x.at(attained)
	for i := at + 1; i < len(x.points); i++ {
		if x.ranks[i] != x.ranks[at] {
			return x.points[i], true
		}
	}
	return 0, false
}

// queue is 0 for the first queue and 1 for the second.
func (x *index) queue(attained time.Duration) time.Duration {
	if x.c.Bound > 0 && attained >= x.c.Bound {
		return 1
	}
	return 0
}

// at returns the last point that the attained service has reached.
func (x *index) at(attained time.Duration) int {
	i, found := slices.BinarySearch(x.points, max(attained, 0))
	if !found {
		i--
	}
	return i
}

// learn works the ranks out where enough jobs were observed to do it, and enough since the last time to do it again: a
// sixteenth of those remembered. It reports whether there are ranks.
func (x *index) learn() bool {
	n := len(x.ring)
	if n < max(x.c.Least, 1) {
		return false
	}
	if len(x.ranks) > 0 && 16*x.stale < n {
		return true
	}
	x.stale = 0
	x.sorted = append(x.sorted[:0], x.ring...)
	slices.Sort(x.sorted)
	x.ranks = x.ranks[:0]
	x.sum = append(x.sum[:0], 0)
	for _, ms := range x.sorted {
		x.sum = append(x.sum, x.sum[len(x.sum)-1]+ms)
	}
	x.ended = x.ended[:0]
	done := 0
	for _, p := range x.points {
		for done < n && x.sorted[done] <= p.Milliseconds() {
			done++
		}
		x.ended = append(x.ended, done)
	}
	for i, p := range x.points {
		rank := x.perCompletion(i)
		if x.c.Queues {
			rank += x.queue(p) * span
		}
		x.ranks = append(x.ranks, rank)
	}
	return true
}

// perCompletion returns the least expected service per completion that going on from a point can have.
func (x *index) perCompletion(from int) time.Duration {
	n, before, a := len(x.sorted), x.ended[from], x.points[from].Milliseconds()
	best := int64(span/time.Millisecond) - 1
	for to := from + 1; before < n && to <= len(x.points); to++ {
		by, b := n, int64(0)
		if to < len(x.points) {
			by, b = x.ended[to], x.points[to].Milliseconds()
		}
		if done := int64(by - before); done > 0 {
			spent := x.sum[by] - x.sum[before] - done*a + int64(n-by)*(b-a)
			best = min(best, spent/done)
		}
		if by == n {
			break
		}
	}
	return time.Duration(best) * time.Millisecond
}
