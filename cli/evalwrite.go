package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/parquet"
	"github.com/clustergym/clustergym/eval/report"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train"
)

// write writes the files of an evaluation into its folder. The results are those of policies of which no case failed.
func (o *evalOptions) write(e *evaluated, suites []suite, policies []policy.Policy, results []eval.Result) error {
	a := &app{}
	at := func(name string) string { return filepath.Join(e.Out, name) }
	put := func(name string, fill func(io.Writer) error) error { return a.Write(at(name), fill) }
	err := cmp.Or(
		os.RemoveAll(at("figures")), // those of an earlier evaluation may have other names and formats
		put(commandFile, func(w io.Writer) error { return text(w, o.command()+"\n") }),
		put("results.jsonl", func(w io.Writer) error { return eval.WriteJSONL(w, e.results) }),
		put("results.json", func(w io.Writer) error { return eval.WriteJSON(w, e.Comparisons, results) }),
	)
	if err == nil && o.Parquet {
		err = put("results.parquet", func(w io.Writer) error { return parquet.Write(w, results) })
	}
	if err == nil && o.MarlEval {
		err = put("marl-eval.json", func(w io.Writer) error { return eval.WriteMARLEval(w, results, updates(policies)) })
	}
	if err != nil {
		return err
	}
	curves, err := learningCurves(policies)
	if err != nil {
		return err
	}
	page := report.Report{Title: "Evaluation", Version: version, Command: o.command(), Curves: curves, Notes: origins(policies),
		Objectives: e.objectives}
	for i, some := range eval.ByScenario(results) {
		k := slices.IndexFunc(suites, func(s suite) bool { return s.Scenario == some[0].Scenario })
		s, err := section(&e.Comparisons[i], some, suites[k].source.Scenario(), policies, len(suites))
		if err != nil {
			return err
		}
		page.Sections = append(page.Sections, s)
	}
	if len(page.Sections) == 1 {
		page.Title = page.Sections[0].Comparison.Scenario
	}
	for i := range page.Sections {
		if err := o.draw(put, &page.Sections[i]); err != nil {
			return err
		}
	}
	if err := o.drawCurves(put, curves, policies); err != nil {
		return err
	}
	e.Report = at("report.html")
	return put("report.html", page.Write)
}

func text(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return err
}

// updates returns how many updates trained each policy that was trained.
func updates(policies []policy.Policy) map[string]int {
	all := map[string]int{}
	for _, p := range policies {
		if p.Trained() {
			all[p.Name] = p.Training.Updates
		}
	}
	return all
}

// origins returns, for each policy that was trained, a sentence about the jobs that it was trained on.
func origins(policies []policy.Policy) []string {
	var notes []string
	for _, p := range policies {
		if !p.Trained() {
			continue
		}
		var parts []string
		for _, s := range p.Training.Seen {
			parts = append(parts, scenario.Period(s).String())
		}
		text := "is not known"
		if len(parts) > 0 {
			text = "was " + strings.Join(parts, "; ")
		}
		notes = append(notes, fmt.Sprintf("What %s was trained and chosen on %s.", p.Name, text))
	}
	return notes
}

// section returns the report's section for one scenario. The parameter suites is the number of scenarios in the report.
func section(
	c *eval.Comparison, results []eval.Result, s *scenario.Scenario, policies []policy.Policy, suites int,
) (report.Section, error) {
	out := report.Section{Comparison: *c, Results: results, Scenario: s}
	var shown []*eval.Result
	for i := range results {
		if results[i].Log != nil {
			shown = append(shown, &results[i])
		}
	}
	if len(shown) == 0 {
		return out, nil
	}
	out.Shown = shown[0].Case
	// The page opens with the featured policy above the baseline.
	rank := func(r *eval.Result) int {
		switch r.Policy {
		case featured(c, policies):
			return 0
		case c.Baseline:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(shown, func(a, b *eval.Result) int { return cmp.Compare(rank(a), rank(b)) })
	stays := 0
	for i, r := range shown {
		stays += len(r.Log.Records) / 3 // an undisturbed job has 3 records: submitted, started, finished
		if i >= 2 && (i >= mostSchedules || stays > mostStays/suites) {
			break
		}
		out.Schedules = append(out.Schedules, r.Log)
	}
	var err error
	if out.Differs, err = partings(out.Schedules); err != nil {
		return out, err
	}
	out.Weighed, err = weighed(out.Schedules, policies, out.Shown.Seed)
	return out, err
}

// weighed returns what each learned policy of the schedules weighed where it first departs from its prior. It leaves out
// policies with a suffix such as +know.
func weighed(logs []*sim.Log, policies []policy.Policy, seed uint64) (all []report.Weighed, err error) {
	for _, log := range logs {
		i := slices.IndexFunc(policies, func(p policy.Policy) bool { return p.Name == log.Scheduler })
		if i < 0 || policies[i].Learned == nil || policies[i].Rule != "" || policies[i].With != nil {
			continue
		}
		d, err := whatif.FirstDeparture(log, policies[i], seed)
		if err != nil {
			return nil, fmt.Errorf("what %s weighed: %w", log.Scheduler, err)
		}
		if d != nil {
			all = append(all, report.Weighed{Policy: log.Scheduler, At: d.At, Choice: d.Choice})
		}
	}
	return all, nil
}

// mostSchedules is the highest number of schedules that a page shows for a scenario, and mostStays limits the jobs in all
// schedules. The first two schedules are always shown. A job takes about 12 bytes.
const (
	mostSchedules = 6
	mostStays     = 500_000
)

// partings returns where each pair of schedules first differs.
func partings(logs []*sim.Log) ([]report.Difference, error) {
	var all []report.Difference
	for i, a := range logs {
		for _, b := range logs[i+1:] {
			d, err := report.Differ(a, b)
			if err != nil {
				return nil, err
			}
			if d != nil {
				all = append(all, *d)
			}
		}
	}
	return all, nil
}

// featured returns the policy whose schedule is shown first: the first learned policy, or else the policy with the lowest mean
// JCT.
func featured(c *eval.Comparison, policies []policy.Policy) string {
	for _, p := range policies {
		if p.Learned != nil || p.Central != nil {
			return p.Name
		}
	}
	return c.Best()
}

// learningCurves reads the training metrics of the learned policies.
func learningCurves(policies []policy.Policy) ([]report.Curve, error) {
	var all []report.Curve
	for _, p := range policies {
		if p.Run == "" {
			continue
		}
		metrics, err := train.ReadMetrics(p.Run)
		if err != nil {
			return nil, err
		}
		c := report.Curve{Policy: p.Name}
		for _, m := range metrics {
			if m.Relative != nil { // is nil while labels are collected, as their episodes are not the policy's own
				c.Update, c.Train = append(c.Update, m.Update), append(c.Train, *m.Relative)
			}
			if m.Validation != nil {
				c.Validation = append(c.Validation, report.Point{X: m.Update, Y: *m.Validation})
			}
		}
		if len(c.Update)+len(c.Validation) > 0 {
			all = append(all, c)
		}
	}
	return all, nil
}
