package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
)

// Level is the confidence level of all intervals.
const Level = 0.95

const (
	resamples     = 10_000
	bootstrapSeed = 1
)

// Comparison compares all policies of one scenario with one of them, the baseline.
//
// The unit of the statistics is the window. The seeds of a window share its arrivals, so Compare averages them before it compares
// and counts windows. Intervals are those of stats.PairedCI at Level. Only Metric.Middle uses the seeds one by one.
type Comparison struct {
	Scenario string    `json:"scenario"`
	Split    string    `json:"split,omitempty"`
	Baseline string    `json:"baseline"`
	Windows  []string  `json:"windows"`
	Note     string    `json:"windows_note,omitempty"` // Suite.Note
	Few      string    `json:"few_windows,omitempty"`  // Suite.Few
	Seeds    []uint64  `json:"seeds"`
	Level    float64   `json:"level"`
	Policies []Summary `json:"policies"` // by the cost of the first objective, or else in the order of the results

	costs []Quantity // those of objectives
}

// CostKeys returns the keys of the costs by objectives.
func (c *Comparison) CostKeys() (keys []string) {
	for _, q := range c.costs {
		keys = append(keys, q.Key)
	}
	return keys
}

// quantities returns all quantities of the comparison in the order of Summary.Metrics.
func (c *Comparison) quantities() []Quantity { return append(Quantities(), c.costs...) }

// Ranking returns the label of the metric by which policies are ranked.
func (c *Comparison) Ranking() string { return c.quantities()[c.ranking()].Label }

// Ranked returns the metric of a policy by which it is ranked.
func (c *Comparison) Ranked(p *Summary) *Metric { return &p.Metrics[c.ranking()] }

// ranking returns the index of the metric by which policies are ranked: the cost of the first objective, or else the mean JCT.
func (c *Comparison) ranking() int {
	if len(c.costs) > 0 {
		return len(Quantities())
	}
	return 0
}

// Summary describes one policy over all windows and seeds of a comparison.
type Summary struct {
	Policy    string   `json:"policy"`
	Truncated int      `json:"truncated"` // cases truncated before all jobs finished; their JCTs look too good
	Metrics   []Metric `json:"metrics"`   // in the order of Quantities, then of the objectives: cost.NAME
	// Costs are the means over all cases of what an episode costs by each objective, and of the parts of it.
	Costs []objectives.Bill `json:"costs,omitempty"`
}

// Metric is one quantity of one policy, and how it differs from the baseline's.
type Metric struct {
	Key  string `json:"key"`  // the Quantity's Key
	Mean Number `json:"mean"` // over windows, in the quantity's unit
	// Interval is that of the mean, for costs by objectives; nil for other quantities.
	Interval *Difference `json:"interval,omitempty"`
	// Diff is the difference from the baseline in the quantity's unit. Relative is the difference in percent of the baseline's value
	// in the same window; it is nil if one of these values is 0. Its interval begins at -100 or above, as no quantity is negative.
	// Both are nil for the baseline itself.
	Diff     *Difference `json:"diff,omitempty"`
	Relative *Difference `json:"relative_pct,omitempty"`
	// Middle is the interquartile mean of the differences in percent, with one difference for each window and seed. Its interval is
	// a bootstrap over seeds, stratified by window. Middle shows the typical difference, without the influence of a few extreme
	// windows, and its interval shows how much depends on the seeds.
	Middle *Difference `json:"iqm_relative_pct,omitempty"`
	// Wins counts the windows in which the policy is better than the baseline, Ties those in which both are equal.
	Wins int `json:"wins"`
	Ties int `json:"ties"`
}

// Difference is the mean over windows of the paired differences, policy minus baseline, with its confidence interval.
type Difference struct {
	Mean Number `json:"mean"`
	Lo   Number `json:"lo"`
	Hi   Number `json:"hi"`
}

// Separable reports whether the interval excludes 0. It returns false for nil.
func (d *Difference) Separable() bool { return d != nil && (d.Lo > 0 || d.Hi < 0) }

// Number is a float64 that JSON encodes as null if it is not finite, such as the ends of an interval over a single window.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// CompareAll returns one comparison for each scenario in results: with the baseline, or with the first policy where the baseline
// has no results, because its cases failed. See Compare for errors.
func CompareAll(results []Result, baseline string) ([]Comparison, error) {
	var all []Comparison
	for _, some := range ByScenario(results) {
		with := baseline
		if !slices.ContainsFunc(some, func(r Result) bool { return r.Policy == baseline }) {
			with = some[0].Policy
		}
		c, err := Compare(some, with)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// ByScenario splits the results of a plan by scenario, in the order of the plan. The returned slices share the memory of results.
func ByScenario(results []Result) [][]Result {
	var all [][]Result
	for from := 0; from < len(results); {
		to := from + 1
		for to < len(results) && results[to].Scenario == results[from].Scenario {
			to++
		}
		all = append(all, results[from:to:to])
		from = to
	}
	return all
}

// Compare compares the results of one scenario with the baseline, which must be the name of one of the policies. Compare returns
// an error unless every policy has exactly one result for every window and seed.
func Compare(results []Result, baseline string) (Comparison, error) {
	g, err := arrange(results)
	if err != nil {
		return Comparison{}, fmt.Errorf("compare: %w", err)
	}
	base := slices.Index(g.policies, baseline)
	if base < 0 {
		return Comparison{}, fmt.Errorf("compare: baseline %q is not among the policies %q", baseline, g.policies)
	}
	c := Comparison{
		Scenario: results[0].Scenario, Split: results[0].Split, Baseline: baseline,
		Windows: g.windows, Seeds: g.seeds, Level: Level, costs: ofCosts(results),
	}
	for p, name := range g.policies {
		s := Summary{Policy: name, Truncated: g.truncated(p), Costs: objectives.MeanBills(g.costs(p))}
		for _, q := range c.quantities() {
			m := compare(q, g.perWindow(p, q), g.perWindow(base, q), p == base)
			if p != base {
				m.Middle = g.middle(p, base, q)
			}
			s.Metrics = append(s.Metrics, m)
		}
		c.Policies = append(c.Policies, s)
	}
	if rank := c.ranking(); len(c.costs) > 0 {
		slices.SortStableFunc(c.Policies, func(a, b Summary) int { return cmp.Compare(a.Metrics[rank].Mean, b.Metrics[rank].Mean) })
	}
	return c, nil
}

// compare computes one quantity's Metric from a policy's values and the baseline's, window by window. same marks the baseline
// itself.
func compare(q Quantity, own, base []float64, same bool) Metric {
	m := Metric{Key: q.Key, Mean: Number(stats.Mean(own))}
	if q.cost > 0 {
		m.Interval = difference(own, q.Key)
		m.Interval.Lo = max(m.Interval.Lo, 0)
	}
	if same {
		m.Ties = len(own)
		return m
	}
	diffs, percents := make([]float64, len(own)), make([]float64, len(own))
	for i := range own {
		diffs[i] = own[i] - base[i]
		percents[i] = 100 * diffs[i] / base[i]
		switch {
		case diffs[i] == 0:
			m.Ties++
		case diffs[i] > 0 == q.Higher:
			m.Wins++
		}
	}
	m.Diff = difference(diffs, q.Key)
	switch {
	case q.cost > 0:
		m.Relative = ratio(own, base, q.Key)
	case !slices.Contains(base, 0):
		m.Relative = difference(percents, q.Key).possible()
	}
	return m
}

// possible cuts the interval of a difference in percent at -100. No quantity is negative, so the true difference lies above, and
// the cut interval contains it as often as the whole one. The ends of an interval over a single window stay infinite.
func (d *Difference) possible() *Difference {
	if d != nil && !math.IsInf(float64(d.Lo), 0) {
		d.Lo = max(d.Lo, -100)
	}
	return d
}

func difference(diffs []float64, name string) *Difference {
	lo, hi := stats.PairedCI(diffs, Level, resamples, rng.Stream(bootstrapSeed, "eval", name))
	return &Difference{Number(stats.Mean(diffs)), Number(lo), Number(hi)}
}

// Best returns the policy with the lowest cost by the first objective or, without objectives, with the lowest mean JCT, the
// baseline excluded; it returns the baseline if there is no other policy.
func (c *Comparison) Best() string {
	best, lowest := c.Baseline, Number(0)
	for _, p := range c.Policies {
		if cost := c.Ranked(&p).Mean; p.Policy != c.Baseline && (best == c.Baseline || cost < lowest) {
			best, lowest = p.Policy, cost
		}
	}
	return best
}

// Subtitle returns a line that names the windows, seeds and baseline of the comparison.
func (c *Comparison) Subtitle() string {
	windows := phrase.Count(len(c.Windows), "window")
	if c.Split != "" {
		windows += " of the " + c.Split + " split, which shares no job with the other splits"
	}
	return fmt.Sprintf("The same arrivals, seeds and initial state under every policy: %s, %s each. Baseline: %s.",
		windows, phrase.Count(len(c.Seeds), "seed"), c.Baseline)
}
