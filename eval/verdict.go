package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Verdict returns what a comparison comes to, in at most three sentences: which policy has the lowest mean JCT, which policies
// can be told apart from the baseline, and how the best one does in the 99th percentile. It is nil for a single policy.
func (c *Comparison) Verdict() []string {
	others := slices.DeleteFunc(slices.Clone(c.Policies), func(p Summary) bool { return p.Policy == c.Baseline })
	if len(others) == 0 {
		return nil
	}
	mean := func(p *Summary) *Difference { return p.Metrics[0].Relative }
	slices.SortStableFunc(others, func(a, b Summary) int { return cmp.Compare(a.Metrics[0].Mean, b.Metrics[0].Mean) })
	best := &others[0]
	said := []string{fmt.Sprintf("Of %d policies besides %s, %s has the lowest mean JCT: %s.", len(others), c.Baseline, best.Policy,
		c.against(mean(best)))}
	if len(others) == 1 {
		said[0] = fmt.Sprintf("Mean JCT of %s: %s.", best.Policy, c.against(mean(best)))
	}
	var lower, higher, same []string
	for i := range others {
		switch d := mean(&others[i]); {
		case !d.Separable():
			same = append(same, others[i].Policy)
		case d.Mean < 0:
			lower = append(lower, others[i].Policy)
		default:
			higher = append(higher, others[i].Policy)
		}
	}
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
	}{{"lower for", lower}, {"higher for", higher}, {"not told apart for", same}} {
		if len(part.names) > 0 {
			parts = append(parts, part.what+" "+strings.Join(part.names, ", "))
		}
	}
	said = append(said, fmt.Sprintf("By its %g %% interval it is %s.", 100*c.Level, strings.Join(parts, "; ")))
	tail := best.Metrics[slices.Index(quantityKeys(), "p99_jct_s")].Relative
	return append(said, fmt.Sprintf("The 99th percentile of JCT under %s is %s.", best.Policy, c.against(tail)))
}

// against says a difference from the baseline in words.
func (c *Comparison) against(d *Difference) string {
	if d == nil {
		return "not comparable, as that of " + c.Baseline + " is 0 in some window"
	}
	cell := d.cell()
	text := strings.TrimSpace(cell.Text + " % " + cell.Range)
	switch {
	case !d.Separable():
		return text + " against " + c.Baseline + ", a tie"
	case d.Mean < 0:
		return text + " against " + c.Baseline + ", lower"
	}
	return text + " against " + c.Baseline + ", higher"
}
