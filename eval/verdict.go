package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Verdict returns what a comparison comes to, in a few sentences: which policy has the lowest cost by the first objective, or the
// lowest mean JCT, which policies can be told apart from the baseline, and how the best one does by the other objectives, or in
// the 99th percentile. It is nil for a single policy.
func (c *Comparison) Verdict() []string {
	others := slices.DeleteFunc(slices.Clone(c.Policies), func(p Summary) bool { return p.Policy == c.Baseline })
	if len(others) == 0 {
		return nil
	}
	what, rank := "mean JCT", c.ranking()
	if len(c.costs) > 0 {
		what = "cost by " + c.Ranking()
	}
	mean := func(p *Summary) *Difference { return p.Metrics[rank].Relative }
	slices.SortStableFunc(others, func(a, b Summary) int { return cmp.Compare(a.Metrics[rank].Mean, b.Metrics[rank].Mean) })
	best := &others[0]
	said := []string{fmt.Sprintf("Of %d policies besides %s, %s has the lowest %s: %s.", len(others), c.Baseline, best.Policy, what,
		c.against(mean(best)))}
	if len(others) == 1 {
		said[0] = fmt.Sprintf("%s%s of %s: %s.", strings.ToUpper(what[:1]), what[1:], best.Policy, c.against(mean(best)))
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
	if len(c.costs) > 0 {
		for i, q := range c.costs[1:] {
			said = append(said, fmt.Sprintf("By %s, %s is %s.", q.Label, best.Policy, c.against(best.Metrics[rank+1+i].Relative)))
		}
		return said
	}
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
