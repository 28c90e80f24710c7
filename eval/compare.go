package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
)

// Level is the confidence level of every interval.
const Level = 0.95

const (
	resamples     = 10_000
	bootstrapSeed = 1
)

// Comparison sets every policy of some results against one of them.
//
// The unit of the statistics is the window: seeds of one window share its arrivals, so they are averaged before windows are
// compared and counted. Intervals are those of stats.PairedCI at Level.
type Comparison struct {
	Scenario string    `json:"scenario"`
	Split    string    `json:"split,omitempty"`
	Baseline string    `json:"baseline"`
	Windows  []string  `json:"windows"`
	Seeds    []uint64  `json:"seeds"`
	Level    float64   `json:"level"`
	Policies []Summary `json:"policies"` // in the order of the results
}

// Summary is one policy over all cases.
type Summary struct {
	Policy    string   `json:"policy"`
	Truncated int      `json:"truncated"` // cases cut off before every job finished: their JCTs flatter
	Metrics   []Metric `json:"metrics"`   // in the order of Quantities
}

// Metric is one quantity of one policy.
type Metric struct {
	Key  string `json:"key"` // of the Quantity
	Mean Number `json:"mean"`
	// Diff is the difference from the baseline in the quantity's unit. Relative is it in percent of the baseline in the same
	// window, absent where a baseline is 0. Both are absent for the baseline itself.
	Diff     *Difference `json:"diff,omitempty"`
	Relative *Difference `json:"relative_pct,omitempty"`
	// Wins, Ties and the rest count windows in which the policy is better than, equal to and worse than the baseline.
	Wins int `json:"wins"`
	Ties int `json:"ties"`
}

// Difference is a mean over windows of paired differences, policy - baseline, with its confidence interval.
type Difference struct {
	Mean Number `json:"mean"`
	Lo   Number `json:"lo"`
	Hi   Number `json:"hi"`
}

// Separable reports whether the interval excludes 0.
func (d *Difference) Separable() bool { return d != nil && (d.Lo > 0 || d.Hi < 0) }

// Number is a float64 that JSON shows as null where it is not finite: an interval from one window has no ends.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Quantity is one thing that comparisons tell of every policy.
type Quantity struct {
	Key    string // as in the JSON of Metrics
	Label  string // of a column
	Unit   string // "" for a count; "%" for a fraction, shown times 100
	Higher bool   // is better
	get    func(*Metrics) float64
	rare   bool // told only where it is not 0
}

// Quantities lists what comparisons tell, in order.
func Quantities() []Quantity {
	return []Quantity{
		{"mean_jct_s", "mean JCT", "s", false, func(m *Metrics) float64 { return m.MeanJCT }, false},
		{"p50_jct_s", "p50 JCT", "s", false, func(m *Metrics) float64 { return m.P50JCT }, false},
		{"p95_jct_s", "p95 JCT", "s", false, func(m *Metrics) float64 { return m.P95JCT }, false},
		{"p99_jct_s", "p99 JCT", "s", false, func(m *Metrics) float64 { return m.P99JCT }, false},
		{"mean_queueing_s", "queueing", "s", false, func(m *Metrics) float64 { return m.MeanQueueing }, false},
		{"mean_slowdown", "slowdown", "x", false, func(m *Metrics) float64 { return m.MeanSlowdown }, false},
		{"makespan_s", "makespan", "s", false, func(m *Metrics) float64 { return m.Makespan }, false},
		{"gpu_utilisation", "utilisation", "%", true, func(m *Metrics) float64 { return m.Utilisation }, false},
		{"preemptions", "preemptions", "", false, func(m *Metrics) float64 { return float64(m.Preemptions) }, false},
		{"interruptions", "interruptions", "", false, func(m *Metrics) float64 { return float64(m.Interruptions) }, true},
		{"mean_lent", "lent", "servers", true, func(m *Metrics) float64 { return m.MeanLent }, true},
		{"unserved", "unserved", "%", false, func(m *Metrics) float64 { return m.Unserved }, true},
	}
}

// Arrow points where better values lie.
func (q Quantity) Arrow() string {
	if q.Higher {
		return "↑"
	}
	return "↓"
}

// Compare summarises the results of one plan against the baseline, one of its policies. Every policy must have a result for
// every window and seed.
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
		Windows: g.windows, Seeds: g.seeds, Level: Level,
	}
	for p, name := range g.policies {
		s := Summary{Policy: name, Truncated: g.truncated(p)}
		for _, q := range Quantities() {
			s.Metrics = append(s.Metrics, compare(q, g.perWindow(p, q), g.perWindow(base, q), p == base))
		}
		c.Policies = append(c.Policies, s)
	}
	return c, nil
}

// compare pairs one quantity of a policy with the baseline's, window by window.
func compare(q Quantity, own, base []float64, same bool) Metric {
	m := Metric{Key: q.Key, Mean: Number(stats.Mean(own))}
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
	if !slices.Contains(base, 0) {
		m.Relative = difference(percents, q.Key)
	}
	return m
}

func difference(diffs []float64, name string) *Difference {
	lo, hi := stats.PairedCI(diffs, Level, resamples, rng.Stream(bootstrapSeed, "eval", name))
	return &Difference{Number(stats.Mean(diffs)), Number(lo), Number(hi)}
}

// grid is a plan's results by policy, window and seed.
type grid struct {
	policies, windows []string
	seeds             []uint64
	cells             []*Result
}

func (g *grid) at(policy, window, seed int) **Result {
	return &g.cells[(policy*len(g.windows)+window)*len(g.seeds)+seed]
}

// arrange puts results into a grid and insists that it is full.
func arrange(results []Result) (*grid, error) {
	g := &grid{}
	if len(results) == 0 {
		return nil, fmt.Errorf("no results")
	}
	for i := range results {
		r := &results[i]
		if r.Scenario != results[0].Scenario || r.Split != results[0].Split {
			return nil, fmt.Errorf("results of %s %s and of %s %s do not compare",
				results[0].Scenario, results[0].Split, r.Scenario, r.Split)
		}
		g.policies = appendNew(g.policies, r.Policy)
		g.windows = appendNew(g.windows, r.Window)
		g.seeds = appendNew(g.seeds, r.Seed)
	}
	g.cells = make([]*Result, len(g.policies)*len(g.windows)*len(g.seeds))
	for i := range results {
		r := &results[i]
		cell := g.at(slices.Index(g.policies, r.Policy), slices.Index(g.windows, r.Window), slices.Index(g.seeds, r.Seed))
		if *cell != nil {
			return nil, fmt.Errorf("two results for %v", r.Case)
		}
		*cell = r
	}
	for p, policy := range g.policies {
		for w, window := range g.windows {
			for s, seed := range g.seeds {
				if *g.at(p, w, s) == nil {
					return nil, fmt.Errorf("no result for %s under %s, seed %d", window, policy, seed)
				}
			}
		}
	}
	return g, nil
}

func appendNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// perWindow returns the policy's quantity in every window, seeds averaged.
func (g *grid) perWindow(policy int, q Quantity) []float64 {
	out := make([]float64, len(g.windows))
	for w := range out {
		for s := range g.seeds {
			out[w] += q.get(&(*g.at(policy, w, s)).Metrics)
		}
		out[w] /= float64(len(g.seeds))
	}
	return out
}

func (g *grid) truncated(policy int) int {
	n := 0
	for w := range g.windows {
		for s := range g.seeds {
			if (*g.at(policy, w, s)).Truncated != "" {
				n++
			}
		}
	}
	return n
}
