package sweep

import (
	"cmp"
	"slices"
)

// rungs returns the numbers of updates at which points are compared, ascending. The last is the number of updates of a whole run.
// With a factor eta above 0, a rung stands at updates/eta, updates/eta² and so on, rounded up to a multiple of every, as often as
// the number of points can be divided by eta. Rungs that coincide count once.
func rungs(updates, every, eta, points int) []int {
	all := []int{updates}
	if eta < 2 {
		return all
	}
	for parts := eta; parts <= points; parts *= eta {
		at := (updates + parts - 1) / parts
		at = (at + every - 1) / every * every
		if at < all[0] {
			all = slices.Insert(all, 0, at)
		}
	}
	return all
}

// survivors returns how many points train up to each rung, if one in eta goes on at every rung, rounded down, and at least one.
func survivors(points, rungs, eta int) []int {
	all := []int{points}
	for len(all) < rungs {
		points = max(points/eta, 1)
		all = append(all, points)
	}
	return all
}

// best returns the n points with the lowest scores, in ascending order of their numbers. Of points with equal scores it prefers
// those with lower numbers; tie reports whether one of the others is as good as one of them.
func best(points []int, score func(point int) float64, n int) (kept []int, tie bool) {
	ranked := slices.Clone(points)
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Or(cmp.Compare(score(a), score(b)), cmp.Compare(a, b)) })
	kept = ranked[:n]
	tie = n < len(ranked) && score(ranked[n]) == score(ranked[n-1])
	slices.Sort(kept)
	return kept, tie
}
