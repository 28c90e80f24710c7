package headroom

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/policy"
)

// Worth is what the best rival would gain if it were told something that the scenario hides. The rival is the best one by mean
// JCT among those with fixed demand and with the menu.
type Worth struct {
	Of     string      `json:"of"` // "run times", "speeds" or "both"
	Rival  string      `json:"rival"`
	Policy string      `json:"policy"` // the same rival that is told
	Mean   eval.Number `json:"mean_jct_s"`
	// Difference is the mean JCT of Policy relative to that of Rival, in percent.
	Difference *eval.Difference `json:"mean_jct_vs_rival_pct,omitempty"`
	// Share is the gain in percent of that of Policy with both; absent unless that one gains something.
	Share *eval.Number `json:"share_of_both_pct,omitempty"`
}

// told plays the best rival as if it were told what the scenario hides, piece by piece and all together.
func (m *measuring) told(ctx context.Context, r *Report, rivals []eval.Result) ([]eval.Result, error) {
	hidden, rival := m.plan.Hidden, m.best(rivals)
	if rival == "" {
		return nil, nil
	}
	run := eval.Plan{
		Suites: []eval.Suite{m.plan.Suite}, Workers: m.plan.Workers, Keep: func(eval.Case) bool { return false },
		Overlap: m.plan.Overlap,
	}
	for _, piece := range []struct {
		name string
		baselines.Truth
	}{
		{"run times", baselines.Truth{Times: true}}, {"speeds", baselines.Truth{Speeds: true}},
		{"both", baselines.Truth{Times: true, Speeds: true}},
	} {
		if piece.Times && !hidden.Times || piece.Speeds && !hidden.Speeds {
			continue
		}
		p, err := (&policy.Finder{Fits: true}).Load(toldName(rival, piece.Truth))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(m.plan.Rivals, func(r Rival) bool { return r.Name == p.Name }) {
			continue // it is in the table already
		}
		run.Policies = append(run.Policies, *p)
		r.Told = append(r.Told, Worth{Of: piece.name, Rival: rival, Policy: p.Name})
	}
	if len(run.Policies) == 0 {
		return nil, nil
	}
	results, err := eval.Run(ctx, run, nil)
	if err != nil {
		return nil, fmt.Errorf("tell %s what the scenario hides: %w", rival, err)
	}
	return results, nil
}

// toldName returns the name of the policy that differs from the named one only in that it is told some truth, as a reference.
func toldName(name string, t baselines.Truth) string {
	inner, behind, knows := name, "", strings.Contains(name, baselines.KnowSuffix)
	var options []string
	if knows {
		at := strings.LastIndex(name, baselines.KnowSuffix)
		inner, behind = name[:at], name[at+len(baselines.KnowSuffix):]
		end := strings.IndexByte(behind+"+", '+')
		options, behind = strings.Split(behind[:end], ":")[1:], behind[end:]
	} else if !t.Times {
		options = []string{"time=told"}
	}
	options = slices.DeleteFunc(options, func(o string) bool {
		key, _, _ := strings.Cut(o, "=")
		return t.Times && key == "time" || t.Speeds && key == "speed"
	})
	if t.Speeds {
		options = append(options, "speed=truth")
	}
	if t.Times {
		options = append(options, "time=truth")
	}
	return strings.Join(append([]string{inner + baselines.KnowSuffix}, options...), ":") + behind
}

// best returns the name of the best rival that can be told more, "" if there is none.
func (m *measuring) best(results []eval.Result) string {
	sums := map[string]float64{}
	for i := range results {
		sums[results[i].Policy] += float64(results[i].MeanJCT)
	}
	best := ""
	for _, p := range m.plan.Rivals {
		sum, played := sums[p.Name]
		bears := p.Rule == p.Name && baselines.Known(p.Rule) // the name of what it is
		if !played || p.Group != Fixed && p.Group != Menu || !bears || p.Needs.Truth != (baselines.Truth{}) {
			continue
		}
		if best == "" || sum < sums[best] {
			best = p.Name
		}
	}
	return best
}

// worth fills in what each piece of information is worth, from a comparison of all policies and one with the rival.
func (r *Report) worth(results []eval.Result) error {
	if len(r.Told) == 0 {
		return nil
	}
	c, err := eval.Compare(results, r.Told[0].Rival)
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	for i := range r.Told {
		w := &r.Told[i]
		w.Mean, w.Difference = metric(summary(&c, w.Policy), "mean_jct_s").Mean, relative(&c, w.Policy, "mean_jct_s")
	}
	if both := r.Told[len(r.Told)-1].Difference; len(r.Told) > 1 && both != nil && both.Mean < -0.01 {
		for i := range r.Told[:len(r.Told)-1] {
			share := 100 * r.Told[i].Difference.Mean / both.Mean
			r.Told[i].Share = &share
		}
	}
	return nil
}

// worths says in a sentence what each piece of information is worth, "" if nothing is hidden.
func (r *Report) worths() string {
	var parts []string
	for i := range r.Told {
		w := &r.Told[i]
		if w.Difference == nil {
			continue
		}
		text := strings.TrimSpace("with " + w.Of + " " + strings.Join(difference(w.Difference), " "))
		if w.Share != nil {
			text += " (" + percent(*w.Share) + " of both)"
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("If %s were told what the scenario hides, its mean JCT would differ by (%%): %s.\n", r.Told[0].Rival,
		strings.Join(parts, ", "))
}
