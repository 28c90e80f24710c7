package eval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/stats"
	"github.com/clustergym/clustergym/policy"
)

// Result is a case with its metrics.
type Result struct {
	Case
	Metrics
	// JCTPercentiles are the percentiles 0 to 100 of the completion times of the finished jobs, in seconds.
	JCTPercentiles []float64 `json:"jct_percentiles_s,omitempty"`
	// Costs are what the case costs by each of the plan's objectives.
	Costs  []objectives.Bill `json:"costs,omitempty"`
	Log    *sim.Log          `json:"-"` // nil unless Plan.Keep selects the case
	Timing *Timing           `json:"-"` // nil unless Plan.Clock is set
}

// Timing is the wall-clock time of a case. It differs from run to run, so the journal stores it apart from the results.
type Timing struct {
	Wall      float64 `json:"wall_s"`          // the whole case, in seconds
	Decisions int     `json:"decisions"`       // number of calls of the scheduler
	P50       float64 `json:"decision_p50_us"` // quantile of the time of one call, in microseconds; likewise below
	P99       float64 `json:"decision_p99_us"`
	Max       float64 `json:"decision_max_us"`
}

// play runs one case under its policy, which has been fitted.
func (p *Plan) play(ctx context.Context, t *task, by *policy.Policy) (*Result, error) {
	began := p.now()
	start, err := p.Suites[t.suite].Windows[t.window].Episode(t.Seed)
	if err != nil {
		return nil, err
	}
	start.Tell(by.Needs.Truth.Times, by.Needs.Truth.Speeds)
	sched, err := by.New()
	if err != nil {
		return nil, err
	}
	episode, err := start.New()
	if err != nil {
		return nil, err
	}
	costs := watchCosts(episode, &start, p.Objectives)
	watch := watched{Scheduler: sched, clock: p.Clock}
	if p.Clock != nil {
		sched = &watch
	}
	if err := episode.Run(ctx, sched, t.Seed); err != nil {
		return nil, err
	}
	log := episode.Log()
	log.Scheduler = t.Policy // the plan's name for it; the scheduler's own name may differ, for example by options or files
	out := &Result{Case: t.Case, Metrics: Measure(log), JCTPercentiles: percentiles(log)}
	out.Refused, out.Costs = episode.Refused(), costs.end(episode, &start)
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

// percentiles returns the percentiles 0 to 100 of the finished jobs' completion times, or nil if no job finished.
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

var _ interface{ Unwrap() cluster.Scheduler } = (*watched)(nil) // so that cluster.Within finds what is watched

// Unwrap returns the scheduler that is watched.
func (w *watched) Unwrap() cluster.Scheduler { return w.Scheduler }

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

// CDF returns the cumulative distribution of a policy's job completion times: for each x of xs, in seconds, the fraction of its
// jobs that completed within x. All jobs of all results have the same weight. CDF interpolates linearly between percentiles. The
// curve ends below 1 if episodes were truncated.
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

// shareWithin returns the fraction of a distribution at or below x. The parameter percentiles describes the distribution.
func shareWithin(percentiles []float64, x float64) float64 {
	n := len(percentiles)
	if n == 0 || x < percentiles[0] {
		return 0
	}
	// Find the first percentile above x, so that percentiles equal to x count in full.
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

// failure wraps an error with the case that failed.
func (t *task) failure(err error) error { return fmt.Errorf("evaluate %v: %w", t.Case, err) }

// CDFTimes returns n times in seconds, for CDF, that cover the completion times of all results. They are evenly spaced on a
// logarithmic scale, and the first is at least one second. n must be at least 2.
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
	xs[n-1] = hi // exactly, without rounding, so that CDF counts the longest job
	return xs
}
