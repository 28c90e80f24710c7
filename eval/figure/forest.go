package figure

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/clustergym/clustergym/eval"
)

// Differences draws, in one row for each policy, the mean of its differences from a baseline with its interval, and a line at 0.
// The mark of a difference that is separable from 0 is filled. An end of an interval that is not finite is not drawn; a mean must
// be finite. With unit "s" the axis shows times.
func Differences(names []string, diffs []eval.Difference, unit string) (*Figure, error) {
	if len(names) != len(diffs) || len(names) == 0 {
		return nil, fmt.Errorf("draw differences: %d names of %d policies, want as many, at least one", len(names), len(diffs))
	}
	lo, hi := 0.0, 0.0
	for i, d := range diffs {
		if !finite(float64(d.Mean)) {
			return nil, fmt.Errorf("draw differences: mean of %q is %v, want a number", names[i], float64(d.Mean))
		}
		for _, v := range []float64{float64(d.Mean), float64(d.Lo), float64(d.Hi)} {
			if finite(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if lo == hi {
		lo, hi = -1, 1
	}
	pad := .05 * (hi - lo)
	lo, hi = lo-pad, hi+pad
	label, width := letters(tickSize, ink), column
	for _, name := range names {
		width = max(width, 150+label.Width(plain(name)))
	}
	n := len(names)
	build := func() []panel {
		p := newPlot()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = lo, hi, 0, float64(n)
		p.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
		p.Y.Tick.Length, p.Y.Width = 0, 0
		p.Y.Tick.Label.Color = ink
		p.X.Label.Text = "mean difference from the baseline"
		x := numberTicks(lo, hi, 5, "")
		switch unit {
		case "s":
			x = timeTicks(lo, hi, 4, true)
		case "":
		default:
			p.X.Label.Text += " (" + plain(unit) + ")"
		}
		var rows []plot.Tick
		for i, name := range names {
			rows = append(rows, plot.Tick{Value: float64(i) + .5, Label: plain(name)})
		}
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(x), plot.ConstantTicks(rows)
		zero := draw.LineStyle{Color: ink, Width: .7}
		p.Add(grid{x: x}, path{[]float64{0, 0}, []float64{0, float64(n)}, zero}, forest(diffs))
		return []panel{{plot: p, height: vg.Length(n) * 13}}
	}
	return &Figure{
		title: "Mean difference from the baseline, with its interval, of each policy", width: whole(width),
		height: whole(stackHeight(build())), draw: func(s sheet) { stack(s.Canvas, build()) },
	}, nil
}

// forest draws differences in the middle of their rows.
type forest []eval.Difference

func (f forest) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i := range f {
		d := &f[i]
		line, fill := draw.LineStyle{Color: palette()[0], Width: 1.2}, palette()[0]
		if !d.Separable() {
			line.Color, fill = grey, white
		}
		at := y(float64(i) + .5)
		if lo, hi := float64(d.Lo), float64(d.Hi); finite(lo) && finite(hi) {
			c.StrokeLine2(line, x(lo), at, x(hi), at)
			c.StrokeLine2(line, x(lo), at-2, x(lo), at+2)
			c.StrokeLine2(line, x(hi), at-2, x(hi), at+2)
		}
		mark(c, vg.Point{X: x(float64(d.Mean)), Y: at}, 0, line.Color, fill)
	}
}
