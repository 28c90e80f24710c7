package eval

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/atomicfile"
)

// Report is what WriteReport writes about.
type Report struct {
	Comparison Comparison
	Results    []Result           // those that were compared
	Scenario   *scenario.Scenario // shown in full, if not nil
	// Featured is the policy whose schedule stands above the baseline's, "" for the one with the lowest mean JCT.
	Featured string
}

//go:embed report.html.tmpl
var page string

// WriteReport writes into a folder, which it makes if need be: report.html, one page that needs nothing else; results.json,
// the comparison and all results; results.jsonl, a result a line; cdf.svg; and gantt.svg, if the logs of the first case of
// the baseline and of the featured policy were kept. Each file appears whole or not at all; equal reports are equal bytes.
func WriteReport(dir string, r Report) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	var cdf, gantt bytes.Buffer
	if err := WriteCDF(&cdf, r.Results); err != nil {
		return err
	}
	above, below, err := r.pair()
	if err != nil {
		return err
	}
	logs := []*sim.Log{above.Log, below.Log}
	if above.Policy == below.Policy {
		logs = logs[1:]
	}
	if above.Log != nil && below.Log != nil {
		if err := WriteGantt(&gantt, logs...); err != nil {
			return err
		}
	}
	var html bytes.Buffer
	if err := r.writePage(&html, cdf.Bytes(), gantt.Bytes(), above.Case); err != nil {
		return err
	}
	var all, lines bytes.Buffer
	if err := WriteJSON(&all, r.Comparison, r.Results); err != nil {
		return err
	}
	if err := WriteJSONL(&lines, r.Results); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		b    []byte
	}{
		{"results.jsonl", lines.Bytes()}, {"results.json", all.Bytes()}, {"cdf.svg", cdf.Bytes()}, {"gantt.svg", gantt.Bytes()},
		{"report.html", html.Bytes()},
	} {
		if len(f.b) == 0 {
			continue
		}
		if err := atomicfile.WriteBytes(filepath.Join(dir, f.name), 0o666, f.b); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes the comparison and its results as one JSON object.
func WriteJSON(w io.Writer, c Comparison, results []Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(struct {
		Comparison Comparison `json:"comparison"`
		Results    []Result   `json:"results"`
	}{c, results}); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// WriteJSONL writes one JSON object a result, a line each.
func WriteJSONL(w io.Writer, results []Result) error {
	e := json.NewEncoder(w)
	for i := range results {
		if err := e.Encode(&results[i]); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	return nil
}

// pair finds the first results of the featured policy and of the baseline.
func (r *Report) pair() (above, below *Result, err error) {
	find := func(policy string) (*Result, error) {
		i := slices.IndexFunc(r.Results, func(x Result) bool { return x.Policy == policy })
		if i < 0 {
			return nil, fmt.Errorf("write report: no result of policy %q", policy)
		}
		return &r.Results[i], nil
	}
	featured := r.Featured
	if featured == "" {
		featured = r.Comparison.best()
	}
	if above, err = find(featured); err != nil {
		return nil, nil, err
	}
	below, err = find(r.Comparison.Baseline)
	return above, below, err
}

// best is the policy other than the baseline with the lowest mean JCT; the baseline, where there is no other.
func (c *Comparison) best() string {
	best, lowest := c.Baseline, Number(0)
	for _, p := range c.Policies {
		if jct := p.Metrics[0].Mean; p.Policy != c.Baseline && (best == c.Baseline || jct < lowest) {
			best, lowest = p.Policy, jct
		}
	}
	return best
}

// cell is a difference as the page shows it.
type cell struct {
	Mean, Range string
	Bold        bool
}

// parseCell splits what a text table shows: "-12.3 [-14.1, -10.4] *".
func parseCell(s string) cell {
	text, bold := strings.CutSuffix(strings.TrimSpace(s), " *")
	mean, interval, ok := strings.Cut(text, " [")
	if !ok {
		return cell{Mean: mean, Bold: bold}
	}
	return cell{mean, "[" + interval, bold}
}

func (r *Report) writePage(w io.Writer, cdf, gantt []byte, shown Case) error {
	t, err := template.New("report").Parse(page)
	if err != nil {
		panic("eval: embedded page: " + err.Error())
	}
	c := &r.Comparison
	differences := c.differences()
	cells := make([][]cell, len(differences))
	for i, row := range differences {
		for _, s := range row {
			cells[i] = append(cells[i], parseCell(s))
		}
	}
	var yaml strings.Builder
	if r.Scenario != nil {
		if err := r.Scenario.Write(&yaml); err != nil {
			return err
		}
	}
	err = t.Execute(w, map[string]any{
		"Title": c.Scenario, "Subtitle": c.subtitle(), "Baseline": c.Baseline, "Level": 100 * c.Level,
		"Windows": count(len(c.Windows), "window"), "Means": c.means(), "Differences": cells, "Notes": c.notes(),
		"CDF": template.HTML(cdf), "Gantt": template.HTML(gantt), "Scenario": yaml.String(),
		"GanttCase": fmt.Sprintf("%s, seed %d", shown.Window, shown.Seed),
	})
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// subtitle says what the numbers stand on.
func (c *Comparison) subtitle() string {
	windows := count(len(c.Windows), "window")
	if c.Split != "" {
		windows += " of the " + c.Split + " split, which shares no job with the other splits"
	}
	return fmt.Sprintf("The same arrivals under every policy: %s, %s each. Baseline: %s.",
		windows, count(len(c.Seeds), "seed"), c.Baseline)
}
