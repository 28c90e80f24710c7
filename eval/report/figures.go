package report

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/eval"
)

// figures is the input of the page's script, apart from the packs.
type figures struct {
	Policies []string        `json:"policies"` // the index of a policy selects its colour
	Sections []sectionFigure `json:"sections"`
	Curves   []curveFigure   `json:"curves"`
}

type sectionFigure struct {
	CDF     *cdfFigure      `json:"cdf,omitempty"`
	Forest  []forestFigure  `json:"forest,omitempty"`
	Differs []differsFigure `json:"differs,omitempty"`
}

// cdfFigure contains, for each policy, the fraction of jobs that finish within each time, in seconds.
type cdfFigure struct {
	X      []float64   `json:"x"`
	Policy []string    `json:"policy"`
	Y      [][]float64 `json:"y"`
}

// forestFigure contains one metric's differences from the baseline, in percent.
type forestFigure struct {
	Label string      `json:"label"`
	Arrow string      `json:"arrow"`
	Rows  []forestRow `json:"rows"`
}

type forestRow struct {
	Policy string       `json:"policy"`
	Mean   eval.Number  `json:"mean"`
	Lo     *eval.Number `json:"lo,omitempty"`
	Hi     *eval.Number `json:"hi,omitempty"`
	Bold   bool         `json:"bold,omitempty"`
}

type differsFigure struct {
	Above string   `json:"above"`
	Below string   `json:"below"`
	At    float64  `json:"at"` // seconds
	Job   string   `json:"job"`
	What  []string `json:"what"`
	Why   []string `json:"why"`
}

type curveFigure struct {
	Policy     string        `json:"policy"`
	X          []int         `json:"x"`
	Y          []eval.Number `json:"y"`
	Validation []pointFigure `json:"validation"`
}

type pointFigure struct {
	X int         `json:"x"`
	Y eval.Number `json:"y"`
}

// figures returns the JSON of everything that the page draws apart from schedules. encoding/json escapes text that could end a
// script element.
func (r *Report) figures(policies []string) (string, error) {
	all := figures{Policies: policies, Sections: []sectionFigure{}, Curves: []curveFigure{}}
	for i := range r.Sections {
		s := &r.Sections[i]
		f := sectionFigure{CDF: cdf(s.Results), Forest: forest(&s.Comparison)}
		for _, d := range s.Differs {
			f.Differs = append(f.Differs, differsFigure{d.Above, d.Below, d.At.Seconds(), d.Job, d.What, d.Why})
		}
		all.Sections = append(all.Sections, f)
	}
	for _, c := range r.Curves {
		f := curveFigure{Policy: c.Policy, X: c.Update}
		for _, y := range c.Train {
			f.Y = append(f.Y, eval.Number(y))
		}
		for _, p := range c.Validation {
			f.Validation = append(f.Validation, pointFigure{p.X, eval.Number(p.Y)})
		}
		all.Curves = append(all.Curves, f)
	}
	b, err := json.Marshal(all)
	return string(b), err
}

// cdfPoints is the number of points of a distribution.
const cdfPoints = 240

// cdf samples the distribution of every policy's completion times at times that are evenly spaced on a logarithmic axis.
func cdf(results []eval.Result) *cdfFigure {
	finished := func(r eval.Result) bool { return len(r.JCTPercentiles) > 0 }
	if !slices.ContainsFunc(results, finished) {
		return nil
	}
	f := &cdfFigure{X: eval.CDFTimes(results, cdfPoints)}
	for i := range results {
		if name := results[i].Policy; !slices.Contains(f.Policy, name) {
			f.Policy = append(f.Policy, name)
		}
	}
	for _, policy := range f.Policy {
		ys := eval.CDF(results, policy, f.X)
		for i := range ys {
			ys[i] = math.Round(ys[i]*1e5) / 1e5
		}
		f.Y = append(f.Y, ys)
	}
	for i := range f.X {
		f.X[i], _ = strconv.ParseFloat(strconv.FormatFloat(f.X[i], 'g', 5, 64), 64)
	}
	return f
}

// forest returns the differences of the tables of costs and of differences.
func forest(c *eval.Comparison) []forestFigure {
	if len(c.Policies) < 2 {
		return nil
	}
	var all []forestFigure
	costs := c.Costs()
	for i, policy := range c.Policies[0].Costs { // each has two columns
		costs.Columns[2*i+1].Label = policy.Objective
	}
	for _, t := range []eval.Table{costs, c.Differences()} {
		all = append(all, forestOf(&t)...)
	}
	return all
}

// forestOf returns the differences in each column of a table that has any.
func forestOf(t *eval.Table) (all []forestFigure) {
	for i, h := range t.Columns {
		f := forestFigure{Label: h.Label, Arrow: h.Arrow}
		for _, r := range t.Rows {
			d := r.Cells[i].Difference
			if d == nil {
				continue
			}
			x := forestRow{Policy: r.Policy, Mean: d.Mean, Bold: r.Cells[i].Bold}
			if r.Cells[i].Range != "" {
				x.Lo, x.Hi = &d.Lo, &d.Hi
			}
			f.Rows = append(f.Rows, x)
		}
		if len(f.Rows) > 0 {
			all = append(all, f)
		}
	}
	return all
}
