package cli

import (
	"io"
	"path/filepath"
	"slices"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/figure"
	"github.com/clustergym/clustergym/eval/report"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train"
)

// drawTo writes a figure in every requested format.
func (o *evalOptions) drawTo(put func(string, func(io.Writer) error) error, name string, f *figure.Figure, err error) error {
	for _, format := range o.Figures {
		if err != nil || format == noFigures {
			return err
		}
		err = put(filepath.Join("figures", name+"."+format), func(w io.Writer) error { return f.Write(w, format) })
	}
	return err
}

// draws reports whether the flags request any figure.
func (o *evalOptions) draws() bool { return !slices.Contains(o.Figures, noFigures) }

// draw writes the figures of one scenario.
func (o *evalOptions) draw(put func(string, func(io.Writer) error) error, s *report.Section) error {
	if !o.draws() {
		return nil
	}
	c := &s.Comparison
	to := func(kind string, f *figure.Figure, err error) error {
		return o.drawTo(put, c.Scenario+"-"+kind, f, err)
	}

	f, err := figure.CDF(distributions(c, s.Results))
	if err := to("cdf", f, err); err != nil {
		return err
	}
	if names, diffs := differences(c); len(names) > 0 {
		f, err := figure.Differences(names, diffs, c.Ranking()+" against "+c.Baseline+", %")
		if err := to("differences", f, err); err != nil {
			return err
		}
	}
	if len(s.Schedules) == 0 {
		return nil
	}
	f, err = figure.Gantt(s.Schedules[:min(2, len(s.Schedules))]...)
	return to("gantt", f, err)
}

// drawCurves draws the learning curves of policies.
func (o *evalOptions) drawCurves(
	put func(string, func(io.Writer) error) error, curves []report.Curve, policies []policy.Policy,
) error {
	if !o.draws() || len(curves) == 0 {
		return nil
	}
	var lines, points []figure.Line
	for _, c := range curves {
		line, dots := figure.Line{Name: c.Policy, Y: c.Train}, figure.Line{Name: c.Policy}
		for _, u := range c.Update {
			line.X = append(line.X, float64(u))
		}
		for _, p := range c.Validation {
			dots.X, dots.Y = append(dots.X, float64(p.X)), append(dots.Y, p.Y)
		}
		lines, points = append(lines, line), append(points, dots)
	}
	what, _ := train.Compared("")
	for _, p := range policies {
		if by, _ := train.Compared(p.Training.Objective); by != what {
			what = by
		}
	}
	f, err := figure.Curves(what, lines, points)
	return o.drawTo(put, "learning", f, err)
}

// distributions returns the distribution of completion times of each policy, as lines.
func distributions(c *eval.Comparison, results []eval.Result) []figure.Line {
	xs := eval.CDFTimes(results, 400)
	var lines []figure.Line
	for _, p := range c.Policies {
		lines = append(lines, figure.Line{Name: p.Policy, X: xs, Y: eval.CDF(results, p.Policy, xs)})
	}
	return lines
}

// differences returns the policies whose difference in what ranks them is known, and these differences.
func differences(c *eval.Comparison) (names []string, diffs []eval.Difference) {
	for _, p := range c.Policies {
		if d := c.Ranked(&p).Relative; d != nil && len(c.Windows) > 1 {
			names, diffs = append(names, p.Policy), append(diffs, *d)
		}
	}
	return names, diffs
}
