package elastic

import "slices"

// group is an elastic job in the knapsack. At most one of its items is chosen; item k, from 1 to extra, stands for k flexible
// workers.
type group struct {
	weight int64   // of one worker
	base   int32   // workers
	extra  int32   // most flexible workers
	work   float64 // work left, in worker-nanoseconds
}

// gain returns by how many nanoseconds the k-th flexible worker shortens the job [L §5.2]. It falls with k.
func (g *group) gain(k int32) float64 {
	return g.work / (float64(g.base+k-1) * float64(g.base+k))
}

// knapsack solves the multiple-choice knapsack problem of [L §5.2] exactly, up to rounding of sums. Of all choices that fit it
// takes one with the largest sum of values, of these one with the least weight. If workers of equal weight compete for that, the
// earlier group comes first.
//
// The paper's dynamic program goes over capacities, groups and items. Because gains fall within a group, it is optimal to give
// out workers of equal weight one by one to the group that gains most, and the value of n of them is concave in n. The program
// here therefore needs one step per weight, not per group. A step need not try every number of workers, because the best number
// moves in one direction as the capacity grows.
type knapsack struct {
	chosen  []int32
	classes []class // one for each weight
	heap    []marginal
	best    []float64 // value, by capacity
	before  []float64 // the same without the present class
}

// class is the set of workers of equal weight.
type class struct {
	weight int64
	order  []int32   // groups in the order in which they get workers
	worth  []float64 // value of the first n workers
	taken  []int32   // by capacity: the best number of workers of the class
}

// marginal is the next worker that a group could get.
type marginal struct {
	group, k int32
	gain     float64
}

func (m *marginal) ahead(n *marginal) bool {
	if m.gain != n.gain {
		return m.gain > n.gain
	}
	return m.group < n.group
}

// solve returns the number of flexible workers of each group; the result is valid until the next call. Weights must be above 0.
func (z *knapsack) solve(groups []group, capacity int64) []int32 {
	z.chosen = slices.Grow(z.chosen[:0], len(groups))[:len(groups)]
	all := int64(0)
	for i := range groups {
		z.chosen[i] = groups[i].extra
		all += groups[i].weight * int64(groups[i].extra)
	}
	if all <= capacity {
		return z.chosen
	}
	clear(z.chosen)
	if capacity <= 0 {
		return z.chosen
	}
	z.sort(groups, capacity)
	if len(z.classes) == 1 {
		z.hand(&z.classes[0], len(z.classes[0].order))
		return z.chosen
	}
	unit := int64(0)
	for i := range z.classes {
		unit = gcd(z.classes[i].weight, unit)
	}
	full := int(capacity / unit)
	z.best = append(z.best[:0], make([]float64, full+1)...)
	z.before = append(z.before[:0], z.best...)
	for i := range z.classes {
		z.best, z.before = z.before, z.best
		z.add(&z.classes[i], int(z.classes[i].weight/unit))
	}
	c, _ := slices.BinarySearch(z.best, z.best[full]) // least capacity with the same value
	for i := len(z.classes) - 1; i >= 0; i-- {
		n := int(z.classes[i].taken[c])
		z.hand(&z.classes[i], n)
		c -= n * int(z.classes[i].weight/unit)
	}
	return z.chosen
}

// sort fills the classes, each with as many workers as fit.
func (z *knapsack) sort(groups []group, capacity int64) {
	z.classes = z.classes[:0]
	for i := range groups {
		w := groups[i].weight
		if slices.ContainsFunc(z.classes, func(c class) bool { return c.weight == w }) {
			continue
		}
		if len(z.classes) == cap(z.classes) {
			z.classes = append(z.classes, class{})
		} else {
			z.classes = z.classes[:len(z.classes)+1]
		}
		c := &z.classes[len(z.classes)-1]
		c.weight, c.order, c.worth = w, c.order[:0], append(c.worth[:0], 0)
		z.rank(c, groups, capacity/w)
	}
}

// rank gives out up to the parameter workers of a class, one by one to the group that gains most.
func (z *knapsack) rank(c *class, groups []group, workers int64) {
	z.heap = z.heap[:0]
	for i := range groups {
		if g := &groups[i]; g.weight == c.weight && g.extra > 0 {
			z.heap = append(z.heap, marginal{int32(i), 1, g.gain(1)})
		}
	}
	h := heapify(z.heap, (*marginal).ahead)
	for n := int64(0); n < workers && h.len() > 0 && h.items[0].gain > 0; n++ {
		m := &h.items[0]
		c.order = append(c.order, m.group)
		c.worth = append(c.worth, c.worth[n]+m.gain)
		if m.k == groups[m.group].extra {
			h.pop()
			continue
		}
		m.k++
		m.gain = groups[m.group].gain(m.k)
		h.sink(0)
	}
}

func (z *knapsack) hand(c *class, workers int) {
	for _, g := range c.order[:workers] {
		z.chosen[g]++
	}
}

// add updates best: from before, the best values without the class, to those with it. Each of its workers weighs weight units.
func (z *knapsack) add(c *class, weight int) {
	c.taken = slices.Grow(c.taken[:0], len(z.best))[:len(z.best)]
	for r := range min(weight, len(z.best)) { // treat capacities that differ by whole workers together
		rows := (len(z.best) - r + weight - 1) / weight
		z.split(c, weight, r, 0, rows, 0, rows-1)
	}
}

// split computes the slice best at the capacities r + m·weight, for m from low to below high. m workers of the class would fit
// into such a capacity; the best choice takes n of them. The caller knows that m - n lies between least and most.
func (z *knapsack) split(c *class, weight, r, low, high, least, most int) {
	if low >= high {
		return
	}
	m := (low + high) / 2
	value, left := -1.0, 0
	for j := min(m, most); j >= max(least, m-len(c.order)); j-- {
		if v := z.before[r+j*weight] + c.worth[m-j]; v > value {
			value, left = v, j
		}
	}
	z.best[r+m*weight], c.taken[r+m*weight] = value, int32(m-left)
	z.split(c, weight, r, low, m, least, left)
	z.split(c, weight, r, m+1, high, left, most)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
