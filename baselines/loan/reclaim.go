package loan

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// reclaim chooses n of the servers on loan, or all if there are fewer. It returns their numbers in the order of choice, and the
// jobs that must be stopped for that, ascending. Every other job loses its workers on these servers and keeps running. Of the
// options it uses only those about returning servers; only Random uses draw.
//
// All policies begin with the servers that stop no job: idle ones first, then those with the fewest workers to
// scale in. Which servers these are depends on the servers chosen before, because a job loses at most job.Flexible workers in
// all.
func (c Config) reclaim(servers int, jobs []job, n int, draw *rand.Rand) (returned, preempted []int) {
	n = min(n, servers)
	l := newLedger(servers, jobs, c.Flexible)
	for len(l.returned) < n {
		s := l.cheapest(n - len(l.returned))
		if l.hard[s] > 0 && c.Policy != Lyra {
			l.rest(c.Policy, n, draw)
			break
		}
		l.giveBack(s)
	}
	return l.returned, l.stopped()
}

// rest completes the choice of a policy that chooses all remaining servers at once.
func (l *ledger) rest(p Policy, n int, draw *rand.Rand) {
	var left []int
	for s, back := range l.back {
		if !back {
			left = append(left, s)
		}
	}
	if p == Random {
		draw.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	} else {
		slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(l.hard[a], l.hard[b]) })
	}
	for _, s := range left[:n-len(l.returned)] {
		l.giveBack(s)
	}
}
