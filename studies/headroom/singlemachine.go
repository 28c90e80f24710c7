package headroom

import (
	"cmp"
	"container/heap"
	"slices"
)

// sumOfLargest returns the sum of the n largest numbers.
func sumOfLargest(xs []float64, n int) float64 {
	xs = slices.Clone(xs)
	slices.Sort(xs)
	total := 0.0
	for i := len(xs) - 1; i >= max(0, len(xs)-n); i-- {
		total += xs[i]
	}
	return total
}

// ready is a heap of items, ordered by their remaining volume or by their whole volume.
type ready struct {
	left []float64 // remaining volume, by item
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

// single simulates the items on one machine that does one second of volume per second, with preemption. The machine always serves
// the item with the smallest key: its remaining volume if remaining is true, otherwise its whole volume. single calls run for
// every period of service.
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

// isolated returns a lower bound on the sum of completion times: no job waits or slows down.
func isolated(items []item) float64 {
	sum := 0.0
	for i := range items {
		sum += items[i].least
	}
	return sum
}

// shortest returns a lower bound from one machine that stands for the whole cluster and can serve one job with all its capacity.
// On one machine, shortest remaining processing time first is optimal (Schrage, Operations Research 1968), and any schedule of
// the cluster is also a schedule of the machine, with its capacity divided between jobs.
func shortest(items []item) float64 {
	sum := 0.0
	single(items, true, func(i int, _, to float64, last bool) {
		if last {
			sum += to - items[i].submit
		}
	})
	return sum
}

// busy returns a lower bound from mean busy times. Let x(t) be the fraction of its work that a job does per second at t. The
// integral of x is 1, and x never exceeds 1/least. Let M, the mean busy time, be the integral of t·x(t). For a completion at C, M
// is largest if x is 1/least just before C, so C ≥ M + least/2. The sum of M over jobs is smallest on one machine that always
// serves the job with the smallest volume among those submitted, preemptively (Goemans, Queyranne, Schulz, Skutella and Wang,
// SIAM J. Discrete Mathematics 2002, lemma 3.1). If all jobs are submitted at 0, this is the bound of Eastman, Even and Isaacs
// (Management Science 1964), from which the term least/2 comes.
//
// Work that a failure destroys is not part of x; leaving it out can only lower the bound.
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

// latest returns a lower bound on the last finish: for each job, its submission plus its least time, and plus the volume of all
// jobs submitted from then on.
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
