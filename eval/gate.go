package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/clustergym/clustergym/policy"
)

// Gate is a list of bounds that the results of an evaluation must satisfy, for example before a policy is released.
type Gate struct {
	Bounds []Bound `yaml:"bounds"`
}

// Bound is the range in which one figure of a comparison must lie.
type Bound struct {
	Scenario string   `yaml:"scenario"` // empty: every scenario of the plan
	Policy   string   `yaml:"policy"`
	Metric   string   `yaml:"metric"` // the Key of a Quantity
	Of       string   `yaml:"of"`     // "mean", or "relative": the difference from the baseline in percent
	At       string   `yaml:"at"`     // which number of a relative difference: its "mean", or the "lo" or "hi" end of its interval
	Min      *float64 `yaml:"min"`    // nil for no lower limit
	Max      *float64 `yaml:"max"`    // nil for no upper limit
	// Why says where the bound comes from: what was measured, when, and how much room it leaves.
	Why string `yaml:"why"`
}

// The valid values of Bound.Of and Bound.At.
var (
	boundOf = []string{"mean", "relative"}
	boundAt = []string{"mean", "lo", "hi"}
)

// maxGate is the largest size of a gate file, in bytes.
const maxGate = 1 << 20

// ReadGate reads a gate from YAML. It returns an error for unknown keys, for bounds without a limit or without a reason, and for
// a metric that is not the key of a Quantity. The error names the bound.
func ReadGate(r io.Reader) (*Gate, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxGate+1))
	if err != nil {
		return nil, fmt.Errorf("read gate: %w", err)
	}
	if len(text) > maxGate {
		return nil, fmt.Errorf("read gate: more than %d bytes", maxGate)
	}
	var g Gate
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&g); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read gate: %w", err)
	}
	if len(g.Bounds) == 0 {
		return nil, fmt.Errorf("read gate: no bounds, want at least one")
	}
	for i := range g.Bounds {
		if err := g.Bounds[i].complete(); err != nil {
			return nil, fmt.Errorf("read gate: bounds[%d]: %w", i, err)
		}
	}
	return &g, nil
}

// complete fills in defaults of a bound and checks the rest.
func (b *Bound) complete() error {
	if b.Of == "" {
		b.Of = boundOf[0]
	}
	if b.At == "" {
		b.At = boundAt[0]
	}
	finite := func(x *float64) bool { return x == nil || !math.IsNaN(*x) && !math.IsInf(*x, 0) }
	switch {
	case b.Policy == "":
		return errors.New("no policy, want its name in the comparison")
	case !slices.ContainsFunc(Quantities(), func(q Quantity) bool { return q.Key == b.Metric }):
		return fmt.Errorf("metric %q, want one of %s", b.Metric, strings.Join(quantityKeys(), ", "))
	case !slices.Contains(boundOf, b.Of):
		return fmt.Errorf("of %q, want one of %s", b.Of, strings.Join(boundOf, ", "))
	case !slices.Contains(boundAt, b.At):
		return fmt.Errorf("at %q, want one of %s", b.At, strings.Join(boundAt, ", "))
	case b.Of == "mean" && b.At != "mean":
		return fmt.Errorf("at %q of a mean, which has no interval: want of: relative", b.At)
	case b.Min == nil && b.Max == nil:
		return errors.New("neither min nor max, want at least one")
	case !finite(b.Min) || !finite(b.Max) || b.Min != nil && b.Max != nil && *b.Min > *b.Max:
		return fmt.Errorf("min %s and max %s, want finite numbers in that order", limit(b.Min), limit(b.Max))
	case strings.TrimSpace(b.Why) == "":
		return errors.New("no why: say where the bound comes from")
	}
	return nil
}

func quantityKeys() []string {
	var keys []string
	for _, q := range Quantities() {
		keys = append(keys, q.Key)
	}
	return keys
}

func limit(x *float64) string {
	if x == nil {
		return "none"
	}
	return fmt.Sprintf("%g", *x)
}

// Fits returns an error for the first bound whose policy or scenario is not part of the plan, or that compares the baseline with
// itself. Call it before Run, so that a mistake shows before hours of simulation.
func (g *Gate) Fits(plan *Plan, baseline string) error {
	for i := range g.Bounds {
		b := &g.Bounds[i]
		if !slices.ContainsFunc(plan.Policies, func(p policy.Policy) bool { return p.Name == b.Policy }) {
			return fmt.Errorf("gate: bounds[%d]: policy %q is not compared", i, b.Policy)
		}
		if b.Of == "relative" && b.Policy == baseline {
			return fmt.Errorf("gate: bounds[%d]: policy %q is the baseline, which differs from itself by nothing", i, b.Policy)
		}
		if b.Scenario != "" && !slices.ContainsFunc(plan.Suites, func(s Suite) bool { return s.Scenario == b.Scenario }) {
			return fmt.Errorf("gate: bounds[%d]: scenario %q is not compared", i, b.Scenario)
		}
	}
	return nil
}

// Verdict is a bound, the figure that it limits, and whether the figure is within the bound.
type Verdict struct {
	Scenario string   `json:"scenario"`
	Policy   string   `json:"policy"`
	Metric   string   `json:"metric"`
	Of       string   `json:"of"`
	At       string   `json:"at"`
	Value    Number   `json:"value"` // null if there is no such figure; the bound is then broken
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	Met      bool     `json:"met"`
	Why      string   `json:"why"`
}

func (v *Verdict) String() string {
	state := "broken"
	if v.Met {
		state = "met"
	}
	what := v.Metric
	if v.Of == "relative" {
		what += " against the baseline, %"
		if v.At != "mean" {
			what += " (" + v.At + ")"
		}
	}
	return fmt.Sprintf("%s: %s under %s: %s is %g, want %s to %s (%s)",
		state, v.Scenario, v.Policy, what, float64(v.Value), limit(v.Min), limit(v.Max), v.Why)
}

// Check returns a verdict for each bound in each comparison that it applies to. A difference from another policy than the
// baseline, of which cases failed, does not count. A figure that does not exist breaks its bound: for example, the end of an
// interval over one window, or the mean of a policy whose cases failed.
func (g *Gate) Check(comparisons []Comparison, baseline string) []Verdict {
	var all []Verdict
	for i := range g.Bounds {
		b := &g.Bounds[i]
		for k := range comparisons {
			c := &comparisons[k]
			if b.Scenario != "" && b.Scenario != c.Scenario {
				continue
			}
			v := Verdict{c.Scenario, b.Policy, b.Metric, b.Of, b.At, Number(c.figure(b, baseline)), b.Min, b.Max, false, b.Why}
			x := float64(v.Value)
			v.Met = !math.IsNaN(x) && !math.IsInf(x, 0) && (b.Min == nil || x >= *b.Min) && (b.Max == nil || x <= *b.Max)
			all = append(all, v)
		}
	}
	return all
}

// figure returns the number that a bound limits, or NaN if the comparison does not have it.
func (c *Comparison) figure(b *Bound, baseline string) float64 {
	p := c.summary(b.Policy)
	if p == nil {
		return math.NaN()
	}
	m := &p.Metrics[slices.Index(quantityKeys(), b.Metric)]
	if b.Of == "mean" {
		return float64(m.Mean)
	}
	if m.Relative == nil || c.Baseline != baseline {
		return math.NaN()
	}
	switch b.At {
	case "lo":
		return float64(m.Relative.Lo)
	case "hi":
		return float64(m.Relative.Hi)
	}
	return float64(m.Relative.Mean)
}
