package headroom

import (
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/eval"
)

// Report is the result of Measure over the windows of a scenario.
type Report struct {
	Scenario string   `json:"scenario"`
	Split    string   `json:"split,omitempty"`
	Windows  int      `json:"windows"`
	Seeds    int      `json:"seeds"`
	Effort   int      `json:"search_effort"`
	By       string   `json:"by"` // "mean JCT", or the objective: what every other mean here is of
	Unit     string   `json:"unit"`
	Rows     []Row    `json:"rows"`
	Rivals   []Tried  `json:"rivals"` // all rivals that were compared, in the plan's order
	Notes    []string `json:"notes,omitempty"`
	// WaitShare is the fraction of their completion times that jobs spend before they first start, under the best fixed-demand rival
	// that never preempts. It measures how contended the scenario is. WaitUnder names that rival.
	WaitShare eval.Number `json:"wait_share"`
	WaitUnder string      `json:"wait_under,omitempty"`
	// Ceiling is the most that any policy can gain, in percent of the mean completion time of the best rival. Searched is the gain
	// that the search found.
	Ceiling  eval.Difference `json:"ceiling_pct"`
	Searched eval.Difference `json:"searched_pct"`
	// Collected is the gain of the best rival over the best fixed-demand rival, in percent of the clairvoyant search's gain over it.
	// It is absent if the search gained nothing.
	Collected *eval.Number `json:"collected_pct,omitempty"`
	// Told says what each piece of information is worth that the scenario hides; absent if it hides nothing.
	Told []Worth `json:"told,omitempty"`
	// Wider compares the search with one that drew from more candidates; it is absent if there was none.
	Wider   *More    `json:"wider,omitempty"`
	Pays    Pays     `json:"learning_pays"`
	Verdict string   `json:"verdict"`
	Cases   []Window `json:"cases"`

	key     string // of what is measured, among the metrics of a comparison
	bounded bool   // whether bounds are known
}

// More compares two searches over decisions that begin with the same policy and simulate the same number of episodes.
type More struct {
	Times      int `json:"times"`      // the wider search draws from this many times as many candidates
	Candidates int `json:"candidates"` // the most candidates at a decision point in the usual search
	// Difference is the wider search's mean completion time relative to the usual search's, in percent.
	Difference eval.Difference `json:"mean_jct_vs_search_pct"`
}

// Row is one row of the report: the best policy of a group, the search, or the bound.
type Row struct {
	Group    Group       `json:"group"`
	Policy   string      `json:"policy,omitempty"`
	MeanJCT  eval.Number `json:"mean_jct_s"` // or the mean cost of a window, by Report.By
	Makespan eval.Number `json:"makespan_s"`
	// The differences in percent from the best fixed-demand rival, and from the best same-menu rival, in the same window. A
	// difference is absent in that rival's own row, or if there is no such rival.
	VsFixed         *eval.Difference `json:"mean_jct_vs_fixed_pct,omitempty"`
	VsMenu          *eval.Difference `json:"mean_jct_vs_menu_pct,omitempty"`
	MakespanVsFixed *eval.Difference `json:"makespan_vs_fixed_pct,omitempty"`
}

// Tried is a rival with its mean completion time.
type Tried struct {
	Policy  string      `json:"policy"`
	Group   Group       `json:"group"`
	MeanJCT eval.Number `json:"mean_jct_s"` // or its cost
}

// Window contains the results for one window and seed.
type Window struct {
	Window string `json:"window"`
	Seed   uint64 `json:"seed"`
	Jobs   int    `json:"jobs"`
	Bounds Bounds `json:"bounds"`
	Found  Found  `json:"search"`
	// ByRival names the rival that did better than the search; it is "" if none did.
	ByRival string `json:"better_rival,omitempty"`
}

// Pays tells whether a learned policy can pay off on the scenario.
type Pays string

// The values of Pays.
const (
	cannot     Pays = "cannot"   // the bound leaves too little
	unlikely   Pays = "unlikely" // the search found too little, but the bound does not exclude it
	littlePays Pays = "little"   // the search found some gain, of which a policy without knowledge of the future gets a part
	can        Pays = "can"      // the search found a large gain
)

// Thresholds for a small and a large gain, in percent of the mean completion time.
const (
	little = 1.0
	much   = 3.0
)

// deployable lists the groups of policies that can be deployed.
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
	for _, t := range r.Told {
		tried[t.Policy] = ToldMore
	}
	// eval.Compare groups results by policy: their order does not matter, but every policy needs a result for each case.
	all, err := eval.Compare(results, string(bound))
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	best := map[Group]string{}
	means := map[string]eval.Number{}
	for _, s := range all.Policies {
		g := tried[s.Policy]
		means[s.Policy] = metric(&s, r.key).Mean
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
	add := func(g Group, p string) {
		row := Row{Group: g, Policy: p, MeanJCT: means[p]}
		if p == string(g) {
			row.Policy = ""
		}
		if c := against[best[Fixed]]; c != nil {
			row.VsFixed, row.MakespanVsFixed = relative(c, p, r.key), relative(c, p, "makespan_s")
		}
		if c := against[best[Menu]]; c != nil {
			row.VsMenu = relative(c, p, r.key)
		}
		row.Makespan = metric(summary(&all, p), "makespan_s").Mean
		r.Rows = append(r.Rows, row)
	}
	for _, g := range []Group{Fixed, Menu, Prior, LookAhead, ToldMore, hindsight, clairvoyant, wide, bound} {
		if p, ok := best[g]; ok && g != ToldMore && (g != bound || r.bounded) {
			add(g, p)
		}
		for i := range r.Told {
			if g == ToldMore {
				add(g, r.Told[i].Policy)
			}
		}
	}
	if err := r.worth(results); err != nil {
		return err
	}
	if r.Wider != nil {
		c, err := eval.Compare(results, string(clairvoyant))
		if err != nil {
			return fmt.Errorf("measure: %w", err)
		}
		if d := relative(&c, string(wide), r.key); d != nil {
			r.Wider.Difference = *d
		}
	}
	r.wait(&all)
	r.judge(against[top], top, best[Fixed], against[best[Fixed]])
	return nil
}

// wait selects the best fixed-demand rival that never preempts, or the best of all fixed-demand rivals if all preempt, and sets
// WaitShare and WaitUnder.
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
	if calm == nil {
		return
	}
	s := summary(all, calm.Policy)
	if jct := metric(s, "mean_jct_s").Mean; jct > 0 {
		r.WaitUnder, r.WaitShare = calm.Policy, metric(s, "mean_queueing_s").Mean/jct
	}
}

// judge computes the gains and writes the verdict.
func (r *Report) judge(c *eval.Comparison, top, fixed string, vsFixed *eval.Comparison) {
	r.Ceiling = negative(relative(c, string(bound), r.key))
	r.Searched = negative(relative(c, string(clairvoyant), r.key))
	if vsFixed != nil && top != fixed {
		gain, all := relative(vsFixed, top, r.key), relative(vsFixed, string(clairvoyant), r.key)
		if gain != nil && all != nil && all.Mean < -0.01 {
			share := 100 * gain.Mean / all.Mean
			r.Collected = &share
		}
	} else if vsFixed != nil && r.Searched.Mean > 0.01 {
		r.Collected = new(eval.Number)
	}
	r.Verdict = fmt.Sprintf("No policy can have a mean JCT more than %s below that of %s here; the clairvoyant search found %s.",
		percent(r.Ceiling.Mean), top, percent(r.Searched.Mean))
	if !r.bounded { // no cost is below 0
		r.Ceiling = eval.Difference{Mean: 100, Lo: 100, Hi: 100}
		r.Verdict = fmt.Sprintf("By %s the clairvoyant search found %s beyond %s; no bound is known.", r.By,
			percent(r.Searched.Mean), top)
	}
	r.Pays = pays(r.Ceiling, r.Searched)
	r.Verdict += " " + r.Pays.words()
}

// pays derives the verdict from the ceiling and the gain that the search found. A large gain must also have an interval above 0.
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

// negative turns a difference into a gain. If d is nil, because a mean is 0, the gain is 0.
func negative(d *eval.Difference) eval.Difference {
	if d == nil {
		return eval.Difference{}
	}
	return eval.Difference{Mean: -d.Mean, Lo: -d.Hi, Hi: -d.Lo}
}
