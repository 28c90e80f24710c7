// Package report writes the results of an evaluation as one HTML page that needs no network and no other file. The page contains
// tables, distributions of completion times, learning curves, and schedules to explore. The package measures nothing: tables come
// from eval.Comparison and schedules from event logs.
package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/phrase"
)

// Report is the content of a page. Equal reports give equal bytes.
type Report struct {
	Title   string
	Version string // the program's version
	Command string // the command line that wrote the page
	// Sections are the scenarios, in the order of the page.
	Sections []Section
	Curves   []Curve
	Notes    []string // notes on all sections
	// Objectives are those by which the sections have costs; the page describes them.
	Objectives []*objectives.Objective
}

// Section is the part of the page about one scenario.
type Section struct {
	Comparison eval.Comparison
	Results    []eval.Result      // the results in Comparison
	Scenario   *scenario.Scenario // if not nil, the page shows it in full
	Shown      eval.Case          // window and seed of Schedules
	// Schedules are event logs of the same jobs on the same cluster; the page names each by its scheduler. It shows two at a time,
	// one above the other, and starts with the first two. It leaves out schedules without duration.
	Schedules []*sim.Log
	Differs   []Difference // the first decisions in which pairs of schedules differ
	Weighed   []Weighed    // choices of learned policies in Schedules
}

// Curve is the learning curve of a policy.
type Curve struct {
	Policy string
	Update []int
	// Train is the mean JCT, or the cost by the reward that was trained, of the sampled policy at each update, relative to the
	// prior's.
	Train      []float64
	Validation []Point
}

// Point is a validation result.
type Point struct {
	X int     // the update
	Y float64 // as Curve.Train
}

// Write writes the page. It returns an error if the schedules of a section have different jobs or clusters.
func (r *Report) Write(w io.Writer) error {
	policies := r.policies()
	figures, err := r.figures(policies)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	view := pageView{
		Title: r.Title, Version: r.Version, Command: r.Command, Notes: r.Notes, Curves: len(r.Curves) > 0,
		Objectives: r.Objectives,
		Style:      template.CSS(style()), Script: template.JS(script()), Policy: securityPolicy(), Figures: template.JS(figures),
	}
	for i := range r.Sections {
		s, err := r.Sections[i].view(i, policies, len(r.Sections) == 1 && r.Title == r.Sections[0].Comparison.Scenario)
		if err != nil {
			return fmt.Errorf("write report: %s: %w", r.Sections[i].Comparison.Scenario, err)
		}
		view.Sections = append(view.Sections, s)
	}
	view.Terms = terms(view.Sections)
	view.Folded = slices.ContainsFunc(view.Terms, func(t term) bool { return t.More })
	if err := pageTemplate().Execute(w, view); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// policies returns the names of all policies in the report, in order of appearance. The index of a name selects its colour.
func (r *Report) policies() []string {
	var all []string
	add := func(name string) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for i := range r.Sections {
		s := &r.Sections[i]
		for _, p := range s.Comparison.Policies {
			add(p.Policy)
		}
		for _, log := range s.Schedules {
			add(log.Scheduler)
		}
	}
	for _, c := range r.Curves {
		add(c.Policy)
	}
	return all
}

// pageView is the input of the page's template.
type pageView struct {
	Title, Version, Command string
	Notes                   []string
	Objectives              []*objectives.Objective
	Curves                  bool
	Style                   template.CSS
	Script                  template.JS
	Policy                  template.HTMLAttr
	Figures                 template.JS
	Sections                []sectionView
	Terms                   []term
	Folded                  bool // whether some terms are of columns that are shown on request
}

type sectionView struct {
	Index                    int
	Single                   bool // the only section, with the page's name
	Name, Split, Subtitle    string
	Costs                    *table     // of all objectives; nil without them
	Objectives               []costView // what each costs, by parts
	Means, Differences       table
	Baseline, Windows        string
	Level                    float64
	Compared, CDF            bool
	Notes                    []string
	Verdict                  []string      // what the comparison comes to, a sentence each
	Pack                     template.HTML // base64
	ShownCase                string
	Schedules                []string
	Loans, Failures, Differs bool
	Scenario                 string
	Weighed                  []weighedView
}

func (s *Section) view(i int, policies []string, single bool) (sectionView, error) {
	c := &s.Comparison
	v := sectionView{
		Index: i, Name: c.Scenario, Single: single, Split: c.Split, Subtitle: c.Subtitle(), Means: newTable(c, c.Means(), policies),
		Notes: c.Notes(), Verdict: c.Verdict(),
		CDF:     slices.ContainsFunc(s.Results, func(r eval.Result) bool { return len(r.JCTPercentiles) > 0 }),
		Differs: len(s.Differs) > 0, Level: 100 * c.Level, Windows: phrase.Count(len(c.Windows), "window"), Baseline: c.Baseline,
	}
	if costs := c.Costs(); len(costs.Columns) > 0 {
		t := newTable(c, costs, policies)
		v.Costs, v.Objectives = &t, costViews(c, policies)
	}
	if len(c.Policies) > 1 {
		v.Compared, v.Differences = true, newTable(c, c.Differences(), policies)
	}
	if slices.ContainsFunc(s.Schedules, func(l *sim.Log) bool { return end(l) > 0 && l.Config.Cluster.GPUs() > 0 }) {
		text, err := packSchedules(s.Schedules)
		if err != nil {
			return v, err
		}
		v.Pack = template.HTML(text)
		v.ShownCase = fmt.Sprintf("%s, seed %d", s.Shown.Window, s.Shown.Seed)
		for _, log := range s.Schedules {
			v.Schedules = append(v.Schedules, log.Scheduler)
			v.Failures = v.Failures || slices.ContainsFunc(log.Records, func(r sim.Record) bool { return r.Kind == sim.Fail })
		}
		v.Loans = hasInference(s.Schedules[0])
	}
	for i := range s.Weighed {
		v.Weighed = append(v.Weighed, s.Weighed[i].view())
	}
	if s.Scenario != nil {
		var yaml bytes.Buffer
		if err := s.Scenario.Write(&yaml); err != nil {
			return v, err
		}
		v.Scenario = strings.TrimRight(yaml.String(), "\n")
	}
	return v, nil
}
