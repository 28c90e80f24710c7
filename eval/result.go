package eval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/stats"
)

// Result is a case and its measurements.
type Result struct {
	Case
	Metrics
	// JCTPercentiles are the percentiles 0 to 100 of the completion times of the finished jobs, in seconds.
	JCTPercentiles []float64 `json:"jct_percentiles_s,omitempty"`
	Log            *sim.Log  `json:"-"` // nil unless Plan.Keep asked for it
	Timing         *Timing   `json:"-"` // nil unless Plan.Clock is set
}

// Timing is how long a case took on the wall clock. It differs from run to run, so it is stored apart from results.
type Timing struct {
	Wall      float64 `json:"wall_s"`          // the whole case, in seconds
	Decisions int     `json:"decisions"`       // calls of the scheduler
	P50       float64 `json:"decision_p50_us"` // of the time of a call, in microseconds; so below
	P99       float64 `json:"decision_p99_us"`
	Max       float64 `json:"decision_max_us"`
}

// play runs one case.
func (p *Plan) play(ctx context.Context, t *task) (*Result, error) {
	began := p.now()
	start, err := p.Suites[t.suite].Windows[t.window].Episode(t.Seed)
	if err != nil {
		return nil, err
	}
	sched, err := p.Policies[t.policy].New()
	if err != nil {
		return nil, err
	}
	episode, err := start.New()
	if err != nil {
		return nil, err
	}
	watch := watched{Scheduler: sched, clock: p.Clock}
	if p.Clock != nil {
		sched = &watch
	}
	if err := episode.Run(ctx, sched, t.Seed); err != nil {
		return nil, err
	}
	log := episode.Log()
	log.Scheduler = t.Policy // as the plan calls it: options and files may stand in its own name, or not
	out := &Result{Case: t.Case, Metrics: Measure(log), JCTPercentiles: percentiles(log)}
	out.Refused = episode.Refused()
	if p.keeps(t) {
		out.Log = log
	}
	if p.Clock != nil {
		out.Timing = watch.timing(p.now() - began)
	}
	return out, nil
}

func (p *Plan) now() time.Duration {
	if p.Clock == nil {
		return 0
	}
	return p.Clock()
}

// percentiles are those of the finished jobs' completion times, nil if none finished.
func percentiles(log *sim.Log) []float64 {
	var jct []float64
	for _, r := range Rows(log) {
		if r.Finished {
			jct = append(jct, r.JCT().Seconds())
		}
	}
	if len(jct) == 0 {
		return nil
	}
	slices.Sort(jct)
	out := make([]float64, 101)
	for i := range out {
		out[i] = stats.QuantileSorted(jct, float64(i)/100)
	}
	return out
}

// watched measures how long a scheduler's decisions take.
type watched struct {
	cluster.Scheduler
	clock func() time.Duration
	took  []float64 // microseconds
}

func (w *watched) Schedule(tx *cluster.Txn) error {
	began := w.clock()
	err := w.Scheduler.Schedule(tx)
	w.took = append(w.took, float64(w.clock()-began)/float64(time.Microsecond))
	return err
}

func (w *watched) timing(wall time.Duration) *Timing {
	t := &Timing{Wall: wall.Seconds(), Decisions: len(w.took)}
	if len(w.took) > 0 {
		slices.Sort(w.took)
		t.P50, t.P99 = stats.QuantileSorted(w.took, .5), stats.QuantileSorted(w.took, .99)
		t.Max = w.took[len(w.took)-1]
	}
	return t
}

// CDF returns the distribution of a policy's job completion times: for each x of xs, in seconds, the fraction of its jobs whose
// completion time is at most x. All jobs of all results weigh the same, and the curve is linear between percentiles. It ends
// below 1 if episodes were cut off.
func CDF(results []Result, policy string, xs []float64) []float64 {
	done, jobs := make([]float64, len(xs)), 0
	for i := range results {
		r := &results[i]
		if r.Policy != policy {
			continue
		}
		jobs += r.Jobs
		for k, x := range xs {
			done[k] += float64(r.Finished) * shareWithin(r.JCTPercentiles, x)
		}
	}
	for k := range done {
		done[k] /= float64(max(jobs, 1))
	}
	return done
}

// shareWithin is the share of a distribution, given by its percentiles, at or below x.
func shareWithin(percentiles []float64, x float64) float64 {
	n := len(percentiles)
	if n == 0 || x < percentiles[0] {
		return 0
	}
	// The first percentile above x: equal ones count in full.
	i, _ := slices.BinarySearchFunc(percentiles, x, func(p, x float64) int {
		if p <= x {
			return -1
		}
		return 1
	})
	if i == n {
		return 1
	}
	lo, hi := percentiles[i-1], percentiles[i]
	return (float64(i-1) + (x-lo)/(hi-lo)) / float64(n-1)
}

// failure is an error of one case.
func (t *task) failure(err error) error { return fmt.Errorf("evaluate %v: %w", t.Case, err) }

// CDFTimes returns n times in seconds for CDF, which cover the completion times of all results. They are evenly spaced in their
// logarithm, and the first is at least a second. n must be 2 or more.
func CDFTimes(results []Result, n int) []float64 {
	lo, hi := math.Inf(1), 1.0
	for i := range results {
		if p := results[i].JCTPercentiles; len(p) > 0 {
			lo, hi = min(lo, p[0]), max(hi, p[len(p)-1])
		}
	}
	lo = min(max(lo, 1), hi/10)
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = lo * math.Pow(hi/lo, float64(i)/float64(n-1))
	}
	xs[n-1] = hi // exactly: the longest job counts
	return xs
}
