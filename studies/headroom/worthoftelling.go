package headroom

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/policy"
)

// Worth is what the best rival would gain if it were told something that the scenario hides. The rival is the best one by what is
// measured among those with fixed demand and with the menu.
type Worth struct {
	Of     string      `json:"of"` // "run times", "speeds" or "both"
	Rival  string      `json:"rival"`
	Policy string      `json:"policy"`     // the same rival that is told
	Mean   eval.Number `json:"mean_jct_s"` // or its cost
	// Difference is the mean JCT of Policy, or its cost, relative to that of Rival, in percent.
	Difference *eval.Difference `json:"mean_jct_vs_rival_pct,omitempty"`
	// Share is the gain in percent of that of Policy with both; absent unless that one gains something.
	Share *eval.Number `json:"share_of_both_pct,omitempty"`
}

// told plays the best rival as if it were told what the scenario hides, piece by piece and all together.
func (m *measuring) told(ctx context.Context, r *Report, rivals []eval.Result) ([]eval.Result, error) {
	hidden, rival := m.plan.Hidden, m.best(rivals)
	if rival == nil {
		return nil, nil
	}
	run := eval.Plan{
		Suites: []eval.Suite{m.plan.Suite}, Workers: m.plan.Workers, Keep: func(eval.Case) bool { return false },
		Overlap: m.plan.Overlap, Objectives: []*objectives.Objective{m.objective},
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
		told := toldMore(rival.Spec, piece.Truth)
		p, err := policy.OfBaseline(&told)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(m.plan.Rivals, func(r Rival) bool { return r.Name == p.Name }) {
			continue // it is in the table already
		}
		run.Policies = append(run.Policies, *p)
		r.Told = append(r.Told, Worth{Of: piece.name, Rival: rival.Name, Policy: p.Name})
	}
	if len(run.Policies) == 0 {
		return nil, nil
	}
	results, err := eval.Run(ctx, run, nil)
	if err != nil {
		return nil, fmt.Errorf("tell %s what the scenario hides: %w", rival.Name, err)
	}
	return results, nil
}

// toldMore returns the policy that differs from the given one only in that it is told some truth, as a reference.
func toldMore(s baselines.Spec, t baselines.Truth) baselines.Spec {
	s.Suffixes = slices.Clone(s.Suffixes)
	at := slices.IndexFunc(s.Suffixes, func(suffix string) bool { return strings.HasPrefix(suffix, baselines.KnowSuffix) })
	if at < 0 {
		know := baselines.KnowSuffix
		if !t.Times {
			know += ":time=told"
		}
		at, s.Suffixes = len(s.Suffixes), append(s.Suffixes, know)
	}
	words := slices.DeleteFunc(strings.Split(s.Suffixes[at], ":"), func(o string) bool {
		return t.Times && strings.HasPrefix(o, "time=") || t.Speeds && strings.HasPrefix(o, "speed=")
	})
	if t.Speeds {
		words = append(words, "speed=truth")
	}
	if t.Times {
		words = append(words, "time=truth")
	}
	s.Suffixes[at] = strings.Join(words, ":")
	return s
}

// best returns the best rival that can be told more, nil if there is none.
func (m *measuring) best(results []eval.Result) (best *Rival) {
	sums := map[string]float64{}
	for i := range results {
		sums[results[i].Policy] += results[i].Costs[0].Total
	}
	for i := range m.plan.Rivals {
		p := &m.plan.Rivals[i]
		sum, played := sums[p.Name]
		bears := p.Spec.IsBaseline() && p.Name == p.Rule // the name of what it is
		if !played || p.Group != Fixed && p.Group != Menu || !bears || p.Needs.Truth != (baselines.Truth{}) {
			continue
		}
		if best == nil || sum < sums[best.Name] {
			best = p
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
		w.Mean, w.Difference = metric(summary(&c, w.Policy), r.key).Mean, relative(&c, w.Policy, r.key)
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
	return fmt.Sprintf("If %s were told what the scenario hides, its %s would differ by (%%): %s.\n", r.Told[0].Rival, r.By,
		strings.Join(parts, ", "))
}
