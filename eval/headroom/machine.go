package headroom

import (
	"cmp"
	"container/heap"
	"slices"
)

// sumOfLargest adds up the n largest.
func sumOfLargest(xs []float64, n int) float64 {
	xs = slices.Clone(xs)
	slices.Sort(xs)
	total := 0.0
	for i := len(xs) - 1; i >= max(0, len(xs)-n); i-- {
		total += xs[i]
	}
	return total
}

// ready is a heap of items by what is left of their volume, or by their whole volume.
type ready struct {
	left []float64 // of all items
	key  []float64
	ids  []int
}

func (r *ready) Len() int           { return len(r.ids) }
func (r *ready) Less(i, k int) bool { return r.key[r.ids[i]] < r.key[r.ids[k]] }
func (r *ready) Swap(i, k int)      { r.ids[i], r.ids[k] = r.ids[k], r.ids[i] }
func (r *ready) Push(x any)         { r.ids = append(r.ids, x.(int)) }
func (r *ready) Pop() any {
	last := r.ids[len(r.ids)-1]
	r.ids = r.ids[:len(r.ids)-1]
	return last
}

// single plays the items on one machine that does one second of volume a second, preemptively: always the item with the
// smallest key, which with remaining is what is left of it and else its whole volume. run is called for every stretch.
func single(items []item, remaining bool, run func(i int, from, to float64, last bool)) {
	order := make([]int, len(items))
	r := ready{left: make([]float64, len(items)), key: make([]float64, len(items))}
	for i := range items {
		order[i], r.left[i], r.key[i] = i, items[i].volume, items[i].volume
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(items[a].submit, items[b].submit) })
	now := 0.0
	for next := 0; next < len(order) || r.Len() > 0; {
		if r.Len() == 0 {
			now = max(now, items[order[next]].submit)
		}
		for next < len(order) && items[order[next]].submit <= now {
			heap.Push(&r, order[next])
			next++
		}
		i := r.ids[0]
		end := now + r.left[i]
		if next < len(order) && items[order[next]].submit < end {
			end = items[order[next]].submit
			r.left[i] -= end - now
			if remaining {
				r.key[i] = r.left[i]
			}
			run(i, now, end, false)
			heap.Fix(&r, 0)
		} else {
			heap.Pop(&r)
			run(i, now, end, true)
		}
		now = end
	}
}

// isolated bounds the sum of completion times: nobody waits, nobody is slowed down.
func isolated(items []item) float64 {
	sum := 0.0
	for i := range items {
		sum += items[i].least
	}
	return sum
}

// shortest bounds it by one machine that is the whole cluster and may serve one job with all of it: shortest remaining
// processing time first is best there (Schrage, Operations Research 1968), and any schedule of the cluster is one of the
// machine that shares itself out.
func shortest(items []item) float64 {
	sum := 0.0
	single(items, true, func(i int, _, to float64, last bool) {
		if last {
			sum += to - items[i].submit
		}
	})
	return sum
}

// busy bounds it by mean busy times. Let x(t) be how much of its work a job does a second at t, as a share of all of it: the
// integral is 1, and x never exceeds 1/least. Its mean busy time M, the integral of t x(t), is the least before a completion
// at C where x is 1/least just before C: C ≥ M + least/2. The sum of M over jobs is least where one machine always does the
// job with the smallest volume among those submitted, preemptively (Goemans, Queyranne, Schulz, Skutella and Wang, SIAM J.
// Discrete Mathematics 2002, lemma 3.1). With all jobs submitted at 0 this is the bound of Eastman, Even and Isaacs
// (Management Science 1964); half of the own length is theirs.
//
// Work that a failure destroys is left out of x, which only gives way to more.
func busy(items []item) float64 {
	sum := 0.0
	single(items, false, func(i int, from, to float64, _ bool) {
		if v := items[i].volume; v > 0 {
			sum += (to - from) / v * (from + to) / 2
		}
	})
	for i := range items {
		it := &items[i]
		if it.volume > 0 {
			sum -= it.submit
		}
		sum += it.least / 2
	}
	return sum
}

// latest bounds the last finish: of a job alone, and of all that are submitted from some instant on.
func latest(items []item) float64 {
	order := slices.Clone(items)
	slices.SortFunc(order, func(a, b item) int { return cmp.Compare(b.submit, a.submit) })
	end, volume := 0.0, 0.0
	for i := range order {
		volume += order[i].volume
		end = max(end, order[i].submit+order[i].least, order[i].submit+volume)
	}
	return end
}
