package scenario

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
)

// pool is a workload from which windows are cut.
type pool struct {
	workload trace.Workload // limited, mixed and fitted to the cluster, in id order
	arrivals []int32        // indices of workload.Jobs in order of arrival
	oversize int            // the number of jobs dropped or clamped
	origins  []origin       // the files of the jobs, or the generator
}

// span is a window as ranks among the arrivals: [warm, from) fill the cluster, and [from, to) are the window's jobs.
type span struct{ warm, from, to int }

// submit returns the time of the arrival with the given rank. For the rank after the last, it returns a nanosecond after the last
// arrival.
func (p *pool) submit(rank int) time.Duration {
	if rank == len(p.arrivals) {
		return p.workload.Jobs[p.arrivals[rank-1]].Submit + 1
	}
	return p.workload.Jobs[p.arrivals[rank]].Submit
}

// at returns the first rank from lo to hi-1 whose arrival is at t or later, or hi if there is none.
func (p *pool) at(t time.Duration, lo, hi int) int {
	return lo + sort.Search(hi-lo, func(i int) bool { return p.submit(lo+i) >= t })
}

// bounds returns the arrivals [from, to) of a split.
func (p *pool) bounds(fractions []float64) (from, to int) {
	if len(fractions) != 2 {
		return 0, 0
	}
	n := float64(len(p.arrivals))
	return int(fractions[0]*n + 1e-6), int(fractions[1]*n + 1e-6) // 1e-6 corrects rounding errors: 0.7 of 10 arrivals is 7
}

// spans returns the windows of a split. All arrivals of a window, including those that warm it up, are within the split. No
// arrival is part of two test windows, not even to warm one up, unless they are resampled.
func (w *Windows) spans(p *pool, split Split) []span {
	from, to := p.bounds(w.fractions(split))
	if from == to {
		return nil
	}
	if w.Duration > 0 {
		return w.byTime(p, split, from, to)
	}
	if n := w.Resample.windows(split); n > 0 {
		return w.resampled(split, n, from, to)
	}
	var all []span
	stride := w.Stride
	if split == Test || stride == 0 {
		stride = w.Arrivals + w.Warm
	}
	for at := from; at+w.Warm+w.Arrivals <= to; at += stride {
		all = append(all, span{at, at + w.Warm, at + w.Warm + w.Arrivals})
	}
	return all
}

// resampled draws n windows, one in each of n equal parts of the split after its first Warm arrivals. If the parts are at least
// as long as a window, each contains its window completely, so no job is in two windows; only arrivals that warm up one window
// may be in another. Otherwise each part contains only the beginning of its window.
func (w *Windows) resampled(split Split, n, from, to int) []span {
	first := from + w.Warm
	room, least := to-first, w.Arrivals
	if room/n < least {
		room, least = room-w.Arrivals+1, 1
	}
	if room < n {
		return nil
	}
	stream := rng.Stream(0, "scenario", "resample", string(split))
	all := make([]span, n)
	for i := range all {
		lo, hi := i*room/n, (i+1)*room/n
		at := first + lo + stream.IntN(hi-lo-least+1)
		all[i] = span{at - w.Warm, at, at + w.Arrivals}
	}
	return all
}

// byTime returns the windows of length Duration. It skips those without arrivals.
func (w *Windows) byTime(p *pool, split Split, from, to int) []span {
	var all []span
	if from+w.Warm >= to {
		return nil
	}
	every := w.Every
	if split == Test || every == 0 {
		every = w.Duration
	}
	end := p.submit(to)
	first := from + w.Warm // the first arrival that may begin a window
	for t := p.submit(first); t+w.Duration <= end; {
		lo := p.at(t, first, to)
		hi := p.at(t+w.Duration, lo, to)
		t += every
		if lo == hi {
			continue
		}
		all = append(all, span{lo - w.Warm, lo, hi})
		if split == Test && w.Warm > 0 {
			if first = hi + w.Warm; first >= to {
				break
			}
			t = max(t, p.submit(first))
		}
	}
	return all
}

// shortOf returns an error that says why a split has no window.
func (w *Windows) shortOf(p *pool, split Split) error {
	from, to := p.bounds(w.fractions(split))
	want := fmt.Sprintf("the %d of one window", w.Arrivals)
	if w.Warm > 0 {
		want = fmt.Sprintf("the %d of one window after %d to warm it up", w.Arrivals, w.Warm)
	}
	if n := w.Resample.windows(split); n > 0 {
		want = fmt.Sprintf("%d for %d resampled windows that begin apart", w.Warm+w.Arrivals+n-1, n)
	}
	if w.Duration > 0 {
		span := time.Duration(0)
		if from < to {
			span = p.submit(to) - p.submit(from)
		}
		want = fmt.Sprintf("one window of %v (they last %v) after %d to warm it up", w.Duration, span, w.Warm)
	}
	return fmt.Errorf("window.%s %v holds %d of the %d arrivals of %s, want at least %s. %s",
		split, w.fractions(split), to-from, len(p.arrivals), p.workload.Name, want, w.more(p, split))
}

// cut returns copies of the arrivals [from, to) in id order, with submit times counted from zero.
func (p *pool) cut(from, to int, zero time.Duration) []trace.Job {
	picked := slices.Clone(p.arrivals[from:to])
	slices.Sort(picked)
	jobs := make([]trace.Job, len(picked))
	for k, id := range picked {
		jobs[k] = p.workload.Jobs[id]
		jobs[k].SubmitAt(jobs[k].Submit - zero)
	}
	return jobs
}
