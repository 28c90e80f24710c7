// Package gittins orders jobs of unknown size by the Gittins index of the service that they have attained. It learns the
// distribution of service from the jobs that have ended: the discretised 2D-Gittins of Tiresias (Gu et al., NSDI 2019, §3.2 and
// §3.3). It does not place jobs: package baselines makes a preemptive scheduler of it.
package gittins

import (
	"slices"
	"time"
)

// Config are the options of an index.
type Config struct {
	// Bound is the GPU-time at which a job sinks from the first queue into the second. 3,200 GPU-seconds are from the source (§6).
	// With 0 there is one queue for all jobs.
	Bound time.Duration
	// Queues puts jobs of the first queue before those of the second and orders by the index within a queue, as the simulator that
	// the authors published does. With false only the index counts.
	Queues bool
	// Unit and Growth determine the attained services at which the index is computed: 0, Unit, Unit·Growth, Unit·Growth² and so on.
	// Between them it does not change. Own choice: the source computes it again at every event.
	Unit   time.Duration
	Growth float64
	// Least is the number of jobs, including History, that must have ended before the index is used. Until then the number of a
	// job's queue is its rank, which is least attained service. Own choice: the source assumes a known distribution.
	Least int
	// Window is the number of the latest ended jobs that the index remembers, up to 65,536. Own choice.
	Window int
	// History contains the GPU-times of jobs that ended before the episode.
	History []time.Duration
}

// Default returns the default options.
func Default() Config {
	return Config{Bound: 3200 * time.Second, Queues: true, Unit: time.Minute, Growth: 1.25, Least: 50, Window: 2000}
}

// index ranks attained service by the Gittins index. The index of a job that has attained a is
//
//	max over Δ of P(S - a ≤ Δ | S > a) / E[min(S - a, Δ) | S > a]
//
// where S is distributed like the total service of the jobs observed. It is the best rate of completions per service that one
// can have by going on with the job for some Δ. The rank is its inverse, a time: the expected service per completion. If a
// exceeds the service of all observed jobs, the job ranks last.
//
// Both a and a + Δ are points determined by Config; a + Δ may also be infinite. If Δ were arbitrary, a few jobs that happened to
// end right after a point would make that point look good; the simulator that the authors published uses one fixed Δ. All
// arithmetic is in whole milliseconds, so that ranks do not depend on the machine.
type index struct {
	c      Config
	points []time.Duration // attained services at which ranks are computed, ascending from 0
	ranks  []time.Duration // by point; in the queue that begins at the point or contains it
	ring   []int64         // observed total services, in ms
	next   int             // place of the oldest in ring, once it is full
	stale  int             // number of observations since ranks were computed
	sorted []int64
	sum    []int64 // prefix sums of sorted
	ended  []int   // by point: the number of elements of sorted up to it
}

// span separates the queues: ranks are below span in the first queue and below twice span in the second.
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

// Reset forgets everything except the history.
func (x *index) Reset() {
	x.ring, x.next, x.stale, x.ranks = x.ring[:0], 0, 0, x.ranks[:0]
	for _, s := range x.c.History {
		x.Observe(s)
	}
}

// Observe learns the total service, as GPU-time, of a job that has ended.
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

// Rank returns the rank of a job with the given attained service; smaller ranks go first. The rank changes where Next says, and
// from time to time after further jobs have been observed.
func (x *index) Rank(attained time.Duration) time.Duration {
	if !x.learn() {
		return x.queue(attained)
	}
	return x.ranks[x.at(attained)]
}

// Next returns the attained service at which the rank changes next, and false if it will not change.
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

// queue returns 0 for the first queue and 1 for the second.
func (x *index) queue(attained time.Duration) time.Duration {
	if x.c.Bound > 0 && attained >= x.c.Bound {
		return 1
	}
	return 0
}

// at returns the index of the last point that the attained service has reached.
func (x *index) at(attained time.Duration) int {
	i, found := slices.BinarySearch(x.points, max(attained, 0))
	if !found {
		i--
	}
	return i
}

// learn computes the ranks if enough jobs have been observed, and computes them again after further observations: a sixteenth of
// those remembered. It reports whether there are ranks.
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

// perCompletion returns the least expected service per completion over all ways to go on from a point.
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
