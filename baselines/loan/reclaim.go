package loan

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// reclaim chooses n of so many servers on loan, or all if there are fewer: it returns their numbers in the order in which
// they were chosen, and the jobs that have to be stopped for that, ascending. Every other job loses its workers on them and
// keeps running. It takes only what the policy and the options about reclaiming say; draw is read by Random alone.
//
// All policies but Optimal begin with the servers that stop nobody, idle ones first, then those with the fewest workers to
// scale in. Which servers qualify depends on those chosen before: a job loses no more than job.Flexible workers in all.
// Optimal looks at all servers at once.
func (c Config) reclaim(servers int, jobs []job, n int, draw *rand.Rand) (returned, preempted []int) {
	n = min(n, servers)
	if c.Policy == Optimal {
		returned, preempted, _ = c.search(servers, jobs, n)
		return returned, preempted
	}
	l := newLedger(c.Cost, servers, jobs, c.Flexible)
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

// rest completes the choice of a policy that chooses all at once.
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
