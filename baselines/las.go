package baselines

import (
	"math"
	"math/bits"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// levels say at which attained service, in GPU-time, a job sinks to the next level (Tiresias, NSDI 2019, §3.3: discretised
// two-dimensional least attained service, without its promotion of starved jobs).
type levels struct {
	kind  levelKind
	first time.Duration // the service at which a job leaves the highest of the levels that double
}

// levelKind is how wide levels are.
type levelKind string

const (
	doubling levelKind = "doubling" // each but the first is as wide as all above it
	single   levelKind = "single"   // two levels, as in §6 of Tiresias
)

// singleLevel is the one bound of Tiresias' §6.
const singleLevel = 3200 * time.Second

// firstLevel is the service at which a job leaves the highest level: an own choice, by validation windows of Venus, Philly and
// their mix.
const firstLevel = 5 * time.Minute

// of returns the level of a job that has attained so much, 0 for the highest.
func (l *levels) of(got time.Duration) int {
	switch {
	case l.kind == single && got >= singleLevel:
		return 1
	case l.kind == single:
		return 0
	}
	return bits.Len64(uint64(max(got, 0) / l.first))
}

// next returns the service at which a job leaves its level; ok is false on the lowest.
func (l *levels) next(got time.Duration) (bound time.Duration, ok bool) {
	n := l.of(got)
	switch {
	case l.kind == single && n == 0:
		return singleLevel, true
	case l.kind == single || n >= l.of(math.MaxInt64):
		return 0, false
	}
	return l.first << n, true
}

// order is the level that a job will have once it has held its GPUs for extra longer.
func (l *levels) order(s *cluster.View, id cluster.JobID, extra time.Duration) (time.Duration, error) {
	return time.Duration(l.of(s.Attained(id) + held(s, id, extra))), nil
}

// sinks returns when a running job will reach the next level.
func (l *levels) sinks(s *cluster.View, id cluster.JobID) (time.Duration, bool) {
	bound, ok := l.next(s.Attained(id))
	if !ok {
		return 0, false
	}
	short := float64(bound-s.Attained(id)) / s.Placement(id).GPUs()
	if short > float64(cluster.Never/2) {
		return 0, false
	}
	return s.Now() + time.Duration(math.Ceil(short)), true
}
