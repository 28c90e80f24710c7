package eval

import (
	"math/bits"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Timeline describes an episode over time. It divides [0, Until) into parts of equal length, rounded to nanoseconds. Its slices
// have one element for each part. A job that starts the instant it is submitted does not count as waiting. After the log's last
// record no job waits or holds GPUs; Open, Lent and Need keep their last values.
type Timeline struct {
	Until   time.Duration
	Waiting []float64 // the largest number of GPUs that waiting jobs asked for at one time
	Queue   []float64 // the largest number of jobs that waited at one time
	Held    []float64 // mean number of GPUs that jobs held
	Open    []float64 // mean number of GPUs that training jobs could use
	Lent    []float64 // mean number of inference servers on loan
	Need    []float64 // mean number of servers that the inference pool needed
}

// NewTimeline returns the timeline of a log with the given number of parts, truncated or extended to end at until. If until is 0
// or negative, all elements are 0.
func NewTimeline(log *sim.Log, until time.Duration, parts int) Timeline {
	t := Timeline{Until: until}
	for _, s := range []*[]float64{&t.Waiting, &t.Queue, &t.Held, &t.Open, &t.Lent, &t.Need} {
		*s = make([]float64, parts)
	}
	if until <= 0 || parts == 0 {
		return t
	}
	now := newLevel(log)
	since := time.Duration(0)
	for i := range log.Records {
		r := &log.Records[i]
		if at := min(r.At, until); at > since {
			t.fill(since, at, &now)
			since = at
		}
		now.follow(log, r)
	}
	now.queue, now.waiting, now.held = 0, 0, 0
	t.fill(since, until, &now)
	for i := range parts {
		if width := float64(t.bound(i+1) - t.bound(i)); width > 0 {
			for _, s := range [][]float64{t.Held, t.Open, t.Lent, t.Need} {
				s[i] /= width
			}
		}
	}
	return t
}

// bound returns the time at which part i begins.
func (t *Timeline) bound(i int) time.Duration {
	hi, lo := bits.Mul64(uint64(t.Until), uint64(i))
	at, _ := bits.Div64(hi, lo, uint64(len(t.Held)))
	return time.Duration(at)
}

// part returns the index of the first part that ends after the time at. The parameter at must be before Until.
func (t *Timeline) part(at time.Duration) int {
	hi, lo := bits.Mul64(uint64(at), uint64(len(t.Held)))
	i, _ := bits.Div64(hi, lo, uint64(t.Until))
	for t.bound(int(i)+1) <= at { // bounds are rounded down
		i++
	}
	return int(i)
}

// fill adds the state n, which lasts over [from, to), to the parts that overlap this interval.
func (t *Timeline) fill(from, to time.Duration, n *level) {
	if from >= to {
		return
	}
	for i := t.part(from); from < to; i++ {
		end := min(t.bound(i+1), to)
		if d := float64(end - from); d > 0 {
			t.Waiting[i] = max(t.Waiting[i], float64(n.waiting)/cluster.WholeGPU)
			t.Queue[i] = max(t.Queue[i], float64(n.queue))
			t.Held[i] += d * float64(n.held) / cluster.WholeGPU
			t.Open[i] += d * float64(n.open)
			t.Lent[i] += d * float64(n.onLoan)
			t.Need[i] += d * float64(n.need) / thousand
		}
		from = end
	}
}
