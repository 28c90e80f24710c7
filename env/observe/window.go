package observe

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// order is the key by which the window is sorted: the estimated remaining time, or the submit time if there is no estimate. Ties
// go to the lower id.
func order(s *cluster.View, id cluster.JobID) time.Duration {
	if left, ok := s.Remaining(id); ok {
		return left
	}
	return s.Spec(id).Submit
}

// ranked is a waiting job and its sort key.
type ranked struct {
	job cluster.JobID
	key time.Duration
}

func (c ranked) compare(o ranked) int {
	return cmp.Or(cmp.Compare(c.key, o.key), cmp.Compare(c.job, o.job))
}

// fill chooses the jobs of the window. Unused places are -1.
func (e *Standard) fill(s *cluster.View, window []cluster.JobID) {
	e.ready, e.held = e.ready[:0], e.held[:0]
	n := len(window)
	for _, id := range s.Pending() {
		c := ranked{id, order(s, id)}
		if e.startable(id) {
			e.ready = keep(e.ready, c, n)
		} else {
			e.held = keep(e.held, c, n)
		}
	}
	ready := min(len(e.ready), max(n-len(e.held), n-n/4))
	held := min(len(e.held), n-ready)
	k := 0
	for r, h := 0, 0; r < ready || h < held; k++ {
		if h == held || r < ready && e.ready[r].compare(e.held[h]) < 0 {
			window[k] = e.ready[r].job
			r++
		} else {
			window[k] = e.held[h].job
			h++
		}
	}
	for ; k < n; k++ {
		window[k] = -1
	}
}

// keep inserts c into best, the sorted list of the n lowest.
func keep(best []ranked, c ranked, n int) []ranked {
	if len(best) == n {
		if c.compare(best[n-1]) > 0 {
			return best
		}
		best = best[:n-1]
	}
	at, _ := slices.BinarySearchFunc(best, c, ranked.compare)
	return slices.Insert(best, at, c)
}

// startable reports whether the whole gang fits now with the amounts that it requests.
func (e *Standard) startable(id cluster.JobID) bool {
	spec := e.fits.state.Spec(id)
	return e.fits.of(id, spec.Request).total >= int64(spec.Workers)
}

// learn collects the data that the rows need about jobs.
func (e *Standard) learn(s *cluster.View, jobs []cluster.JobID) {
	e.shown = slices.Grow(e.shown[:0], len(jobs))[:len(jobs)]
	for k, id := range jobs {
		if id >= 0 {
			left, known := s.Remaining(id)
			e.shown[k] = shown{left, known, e.speeds.of(s, id)}
		}
	}
}

// rankAll computes, for each of the jobs, the number of waiting jobs before it by order and by submit time.
func (e *Standard) rankAll(s *cluster.View, jobs []cluster.JobID) {
	e.rank = e.place(s, jobs, e.rank, order)
	e.turn = e.place(s, jobs, e.turn, submitted)
}

// pace computes the mean relative speed of the jobs in the window for each GPU type.
func (e *Standard) pace(s *cluster.View, window []cluster.JobID) {
	types := len(s.Types())
	e.typeSpeed = slices.Grow(e.typeSpeed[:0], types)[:types]
	for t := range types {
		sum, count := float32(0), float32(0)
		for k, id := range window {
			if id >= 0 && e.shown[k].kind != nil && e.shown[k].kind.asked[t] > 0 {
				sum += e.shown[k].kind.asked[t]
				count++
			}
		}
		if e.typeSpeed[t] = 1; count > 0 {
			e.typeSpeed[t] = sum / count
		}
	}
}

func submitted(s *cluster.View, id cluster.JobID) time.Duration { return s.Spec(id).Submit }

// mark is a job of the window and its index there.
type mark struct {
	ranked
	place int
}

// place returns, for each job of the window, the number of waiting jobs that come before it by a key.
func (e *Standard) place(s *cluster.View, window []cluster.JobID, dst []int32,
	key func(*cluster.View, cluster.JobID) time.Duration,
) []int32 {
	dst = slices.Grow(dst[:0], len(window))[:len(window)]
	e.marks = e.marks[:0]
	for k, id := range window {
		if id >= 0 {
			e.marks = append(e.marks, mark{ranked{id, key(s, id)}, k})
		}
	}
	slices.SortFunc(e.marks, func(a, b mark) int { return a.compare(b.ranked) })
	e.before = slices.Grow(e.before[:0], len(e.marks)+1)[:len(e.marks)+1]
	clear(e.before)
	for _, id := range s.Pending() {
		e.before[after(e.marks, key(s, id), id)]++
	}
	sum := int32(0)
	for i, m := range e.marks {
		sum += e.before[i]
		dst[m.place] = sum
	}
	return dst
}

// after returns how many marks do not come after a job with the given key and id.
func after(marks []mark, key time.Duration, id cluster.JobID) int {
	low, high := 0, len(marks)
	if high > 0 && marks[high-1].key < key { // true for most jobs of a long queue
		return high
	}
	for low < high {
		mid := (low + high) / 2
		if m := &marks[mid]; m.key < key || m.key == key && m.job <= id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}
