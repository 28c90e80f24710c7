package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
)

// CDF draws for every policy the fraction Y of all jobs that finish within X seconds of their submission. The axis of X is
// logarithmic. A line is a step function, which jumps to Y[i] at X[i], with X in ascending order. A line ends below 1 if episodes
// were truncated. A line without points appears in the legend only. Times below one second are drawn at one second.
func CDF(lines []Line) (*Figure, error) {
	if len(lines) == 0 {
		return nil, fmt.Errorf("draw CDF: no lines")
	}
	lo, hi := math.Inf(1), 1.0
	for i := range lines {
		l := &lines[i]
		if err := checkShares(l); err != nil {
			return nil, fmt.Errorf("draw CDF: %w", err)
		}
		if n := len(l.X); n > 0 {
			lo, hi = min(lo, l.X[0]), max(hi, l.X[n-1])
		}
	}
	lo = min(max(lo, 1), hi/10)
	var entries []entry
	for i := range lines {
		entries = append(entries, lineEntry(lines[i].Name, stroke(i)))
	}
	return withLegend("Share of jobs that finish within a time of their submission", column, entries, func() []panel {
		p := newPlot()
		// Use a linear axis of the logarithm: with plot.LogScale the axis label would be off centre.
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = math.Log10(lo), math.Log10(hi), 0, 1
		p.X.Label.Text, p.Y.Label.Text = "JCT: finish − submit (log scale)", "jobs finished"
		x, y := logTicks(lo, hi), shareTicks()
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(x), plot.ConstantTicks(y)
		p.Add(grid{x, y})
		for i := range lines {
			l := distribution(&lines[i], lo)
			l.line = stroke(i)
			p.Add(l)
		}
		return []panel{{plot: p, height: 124}}
	}), nil
}

func checkShares(l *Line) error {
	if err := l.check(); err != nil {
		return err
	}
	for i := range l.X {
		if l.X[i] < 0 {
			return fmt.Errorf("line %q: x[%d] = %v s, want 0 or more", l.Name, i, l.X[i])
		}
		if y := l.Y[i]; y < 0 || y > 1 || i > 0 && y < l.Y[i-1] {
			return fmt.Errorf("line %q: y[%d] = %v, want shares from 0 to 1 that do not descend", l.Name, i, y)
		}
	}
	return nil
}

// distribution converts the points of a distribution function to a step function, from 0 on, over the logarithm of X.
func distribution(l *Line, lo float64) path {
	var p path
	last := 0.0
	for i := range l.X {
		x := math.Log10(max(l.X[i], lo))
		p.x, p.y = append(p.x, x, x), append(p.y, last, l.Y[i])
		last = l.Y[i]
	}
	return p
}

func shareTicks() []plot.Tick {
	var marks []plot.Tick
	for percent := 0; percent <= 100; percent += 25 {
		marks = append(marks, plot.Tick{Value: float64(percent) / 100, Label: fmt.Sprintf("%d%%", percent)})
	}
	return marks
}
