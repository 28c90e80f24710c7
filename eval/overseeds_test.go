package eval

import (
	"math"
	"testing"
)

// TestOverSeeds checks means and intervals over the seeds of a training by hand, and that other policies stay.
func TestOverSeeds(t *testing.T) {
	policy := func(name string, mean, percent float64) Summary {
		s := Summary{Policy: name}
		for _, q := range Quantities() {
			m := Metric{Key: q.Key, Mean: Number(mean), Wins: 2, Ties: 1}
			if name != "prior-1" {
				m.Diff = &Difference{Number(mean - 100), 0, 0}
				m.Relative = &Difference{Number(percent), 0, 0}
			}
			s.Metrics = append(s.Metrics, m)
		}
		return s
	}
	c := Comparison{Baseline: "prior-1", Policies: []Summary{
		policy("prior-1", 100, 0), policy("full-1", 90, -10), policy("a-srpt", 110, 10), policy("full-2", 94, -6),
		policy("full-10", 95, -5), policy("half-3", 99, -1),
	}}
	got := OverSeeds(&c)
	var names []string
	for _, p := range got.Policies {
		names = append(names, p.Policy)
	}
	if len(names) != 4 || names[0] != "prior-1" || names[1] != "full, 3 seeds" || names[2] != "a-srpt" || names[3] != "half-3" {
		t.Fatalf("policies %q", names)
	}
	m := got.Policies[1].Metrics[0]
	if m.Mean != 93 || m.Wins != 6 || m.Ties != 3 || m.Relative.Mean != -7 || m.Diff.Mean != -7 {
		t.Errorf("mean %v, relative %v, difference %v, %d wins, %d ties", m.Mean, m.Relative, m.Diff, m.Wins, m.Ties)
	}
	// Three values with a standard deviation of 2.6458: 4.3027 (Student, 2 degrees of freedom) standard errors to each side.
	if half := float64(m.Relative.Hi-m.Relative.Lo) / 2; math.Abs(half-4.30265*2.6457513/math.Sqrt(3)) > 1e-3 {
		t.Errorf("half of the interval is %v", half)
	}
	if len(c.Policies) != 6 || c.Policies[1].Policy != "full-1" {
		t.Error("the comparison itself has changed")
	}
}
