package headroom

import (
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/eval"
)

// Report is what Measure found, over the windows of a scenario.
type Report struct {
	Scenario string   `json:"scenario"`
	Split    string   `json:"split,omitempty"`
	Windows  int      `json:"windows"`
	Seeds    int      `json:"seeds"`
	Effort   int      `json:"search_effort"`
	Rows     []Row    `json:"rows"`
	Rivals   []Tried  `json:"rivals"` // all that were compared, in their order
	Notes    []string `json:"notes,omitempty"`
	// WaitShare is how much of the completion times jobs spend before they first start, under the best fixed-demand rival that
	// never preempts: how contended the scenario is.
	WaitShare eval.Number `json:"wait_share"`
	WaitUnder string      `json:"wait_under,omitempty"`
	// Ceiling is what no policy can exceed, in percent of the mean completion time of the best rival; Searched is what the
	// search found of it.
	Ceiling  eval.Difference `json:"ceiling_pct"`
	Searched eval.Difference `json:"searched_pct"`
	// Collected is how much of the clairvoyant gain over the best fixed-demand rival the best rival collects, in percent;
	// absent where there is none.
	Collected *eval.Number `json:"collected_pct,omitempty"`
	// Wider is what a search found that drew from more candidates; absent where there was none.
	Wider   *More    `json:"wider,omitempty"`
	Pays    Pays     `json:"learning_pays"`
	Verdict string   `json:"verdict"`
	Cases   []Window `json:"cases"`
}

// More compares two searches over decisions that begin with the same policy and play as many episodes.
type More struct {
	Times      int `json:"times"`      // as many candidates the one draws from
	Candidates int `json:"candidates"` // that the other draws from at a decision point, at most
	// Difference is how the mean completion time of the one differs from that of the other, in percent.
	Difference eval.Difference `json:"mean_jct_vs_search_pct"`
}

// Row is one line: the best policy of a group, the search, or the bound.
type Row struct {
	Group    Group       `json:"group"`
	Policy   string      `json:"policy,omitempty"`
	MeanJCT  eval.Number `json:"mean_jct_s"`
	Makespan eval.Number `json:"makespan_s"`
	// In percent of the best fixed-demand rival, and of the best rival of the same menu, in the same window; absent where it is
	// that itself, or there is none.
	VsFixed         *eval.Difference `json:"mean_jct_vs_fixed_pct,omitempty"`
	VsMenu          *eval.Difference `json:"mean_jct_vs_menu_pct,omitempty"`
	MakespanVsFixed *eval.Difference `json:"makespan_vs_fixed_pct,omitempty"`
}

// Tried is a rival with its mean completion time.
type Tried struct {
	Policy  string      `json:"policy"`
	Group   Group       `json:"group"`
	MeanJCT eval.Number `json:"mean_jct_s"`
}

// Window is what was found in one window under one seed.
type Window struct {
	Window string `json:"window"`
	Seed   uint64 `json:"seed"`
	Jobs   int    `json:"jobs"`
	Bounds Bounds `json:"bounds"`
	Found  Found  `json:"search"`
	// ByRival names the rival that did better than the search, "" if none did.
	ByRival string `json:"better_rival,omitempty"`
}

// Pays says whether a policy that learns can be worth its while.
type Pays string

// The answers.
const (
	cannot     Pays = "cannot"   // the bound leaves too little
	unlikely   Pays = "unlikely" // the search found too little, but the bound does not exclude it
	littlePays Pays = "little"   // the search found something, of which a policy that does not know the future gets a part
	can        Pays = "can"      // the search found much
)

// What counts as little and as much, in percent of the mean completion time.
const (
	little = 1.0
	much   = 3.0
)

// deployable are the groups of policies that one can have.
var deployable = []Group{Fixed, Menu, Prior, LookAhead}

// compare fills in the rows and the verdict.
func (r *Report) compare(results []eval.Result) error {
	tried := map[string]Group{}
	for _, name := range Reserved() {
		tried[name] = Group(name)
	}
	for _, t := range r.Rivals {
		tried[t.Policy] = t.Group
	}
	// Grids are by policy: the order of the results does not matter, but policies must stand in each.
	all, err := eval.Compare(results, string(bound))
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	best := map[Group]string{}
	means := map[string]eval.Number{}
	for _, s := range all.Policies {
		g := tried[s.Policy]
		means[s.Policy] = metric(&s, "mean_jct_s").Mean
		if was, ok := best[g]; !ok || means[s.Policy] < means[was] {
			best[g] = s.Policy
		}
	}
	for i := range r.Rivals {
		r.Rivals[i].MeanJCT = means[r.Rivals[i].Policy]
	}
	top := ""
	for _, g := range deployable {
		if p, ok := best[g]; ok && (top == "" || means[p] < means[top]) {
			top = p
		}
	}
	against := map[string]*eval.Comparison{}
	for _, p := range []string{best[Fixed], best[Menu], top} {
		if p == "" || against[p] != nil {
			continue
		}
		c, err := eval.Compare(results, p)
		if err != nil {
			return fmt.Errorf("measure: %w", err)
		}
		against[p] = &c
	}
	for _, g := range []Group{Fixed, Menu, Prior, LookAhead, hindsight, clairvoyant, wide, bound} {
		p, ok := best[g]
		if !ok {
			continue
		}
		row := Row{Group: g, Policy: p, MeanJCT: means[p]}
		if p == string(g) {
			row.Policy = ""
		}
		if c := against[best[Fixed]]; c != nil {
			row.VsFixed, row.MakespanVsFixed = relative(c, p, "mean_jct_s"), relative(c, p, "makespan_s")
		}
		if c := against[best[Menu]]; c != nil {
			row.VsMenu = relative(c, p, "mean_jct_s")
		}
		row.Makespan = metric(summary(&all, p), "makespan_s").Mean
		r.Rows = append(r.Rows, row)
	}
	if r.Wider != nil {
		c, err := eval.Compare(results, string(clairvoyant))
		if err != nil {
			return fmt.Errorf("measure: %w", err)
		}
		if d := relative(&c, string(wide), "mean_jct_s"); d != nil {
			r.Wider.Difference = *d
		}
	}
	r.wait(&all)
	r.judge(against[top], top, best[Fixed], against[best[Fixed]])
	return nil
}

// wait finds the best of the rivals of fixed demand that never preempt, else of all.
func (r *Report) wait(all *eval.Comparison) {
	preempts := func(t Tried) bool { return metric(summary(all, t.Policy), "preemptions").Mean > 0 }
	var calm *Tried
	for i := range r.Rivals {
		t := &r.Rivals[i]
		if t.Group != Fixed {
			continue
		}
		if calm == nil || preempts(*calm) && !preempts(*t) || preempts(*calm) == preempts(*t) && t.MeanJCT < calm.MeanJCT {
			calm = t
		}
	}
	if calm != nil && calm.MeanJCT > 0 {
		r.WaitUnder, r.WaitShare = calm.Policy, metric(summary(all, calm.Policy), "mean_queueing_s").Mean/calm.MeanJCT
	}
}

// judge words the verdict.
func (r *Report) judge(c *eval.Comparison, top, fixed string, vsFixed *eval.Comparison) {
	r.Ceiling = negative(relative(c, string(bound), "mean_jct_s"))
	r.Searched = negative(relative(c, string(clairvoyant), "mean_jct_s"))
	if vsFixed != nil && top != fixed {
		gain, all := relative(vsFixed, top, "mean_jct_s"), relative(vsFixed, string(clairvoyant), "mean_jct_s")
		if gain != nil && all != nil && all.Mean < -0.01 {
			share := 100 * gain.Mean / all.Mean
			r.Collected = &share
		}
	} else if vsFixed != nil && r.Searched.Mean > 0.01 {
		r.Collected = new(eval.Number)
	}
	r.Verdict = fmt.Sprintf("No policy can have a mean JCT more than %s below that of %s here; the clairvoyant search found %s.",
		percent(r.Ceiling.Mean), top, percent(r.Searched.Mean))
	r.Pays = pays(r.Ceiling, r.Searched)
	r.Verdict += " " + r.Pays.words()
}

// pays judges by what nobody can exceed and what the search found. Much must be more than chance.
func pays(ceiling, found eval.Difference) Pays {
	switch {
	case ceiling.Mean < little:
		return cannot
	case found.Mean >= much && found.Lo > 0 && !math.IsInf(float64(found.Lo), 0):
		return can
	case found.Mean >= little:
		return littlePays
	}
	return unlikely
}

func (p Pays) words() string {
	switch p {
	case cannot:
		return fmt.Sprintf("Learning cannot pay: less than %g %% is there for anyone.", little)
	case can:
		return "Learning can pay: there is room, of which who does not know the future may learn to use a part."
	case littlePays:
		return "Learning may pay a little: who does not know the future gets a part of that."
	}
	return "Learning is unlikely to pay: who knows the future finds next to nothing, though the bound leaves more open."
}

func summary(c *eval.Comparison, policy string) *eval.Summary {
	i := slices.IndexFunc(c.Policies, func(s eval.Summary) bool { return s.Policy == policy })
	return &c.Policies[i]
}

func metric(s *eval.Summary, key string) *eval.Metric {
	i := slices.IndexFunc(s.Metrics, func(m eval.Metric) bool { return m.Key == key })
	return &s.Metrics[i]
}

func relative(c *eval.Comparison, policy, key string) *eval.Difference {
	return metric(summary(c, policy), key).Relative
}

// negative turns a difference into a gain; nothing, where a mean is 0, is none.
func negative(d *eval.Difference) eval.Difference {
	if d == nil {
		return eval.Difference{}
	}
	return eval.Difference{Mean: -d.Mean, Lo: -d.Hi, Hi: -d.Lo}
}
