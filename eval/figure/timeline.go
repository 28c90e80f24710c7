package figure

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/clustergym/clustergym/eval"
)

// Timeline draws, with one line for each policy, the number of GPUs that waiting jobs ask for and the utilisation over time: the
// GPUs held as a fraction of the GPUs open to training. If there is an inference pool, a third panel shows the servers on loan
// and, in grey, the servers that the pool needs. The need is read from the first policy, because it is the same under all.
func Timeline(names []string, series []eval.Timeline) (*Figure, error) {
	if len(names) != len(series) || len(names) == 0 {
		return nil, fmt.Errorf("draw timeline: %d names of %d policies, want as many, at least one", len(names), len(series))
	}
	var until time.Duration
	most, servers := 0.0, 0.0
	for i := range series {
		t := &series[i]
		if err := checkTimeline(t); err != nil {
			return nil, fmt.Errorf("draw timeline of %q: %w", names[i], err)
		}
		until = max(until, t.Until)
		for k := range t.Held {
			most, servers = max(most, t.Waiting[k]), max(servers, t.Lent[k], t.Need[k])
		}
	}
	var entries []entry
	for i, name := range names {
		entries = append(entries, lineEntry(name, stroke(i)))
	}
	if servers > 0 {
		entries = append(entries, entry{"servers that inference needs", func(c draw.Canvas, left, right, y vg.Length) {
			fillRect(c, left, y-3, right, y+3, pale)
		}})
	}
	return withLegend("Waiting GPUs and utilisation over time", column, entries, func() []panel {
		x := timeTicks(0, until.Seconds(), 6, false)
		over := func(label string, top float64, y []plot.Tick) panel {
			p := newPlot()
			p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, until.Seconds(), 0, top
			p.Y.Label.Text = label
			p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(nil), plot.ConstantTicks(y)
			p.Add(grid{x, y})
			return panel{plot: p, height: 58}
		}
		top := 1.05 * max(most, 1)
		panels := []panel{over("GPUs waiting", top, numberTicks(0, top, 4, "")), over("utilisation", 1.02, shareTicks())}
		if servers > 0 {
			top := 1.05 * max(servers, 1)
			p := over("servers lent", top, numberTicks(0, top, 4, ""))
			p.plot.Add(area{coarse(&series[0], func(t *eval.Timeline, k int) float64 { return t.Need[k] }, false)})
			panels = append(panels, p)
		}
		for i := range series {
			for k, p := range panels {
				line := coarse(&series[i], quantity(k), k == 0)
				line.line = stroke(i)
				line.line.Width = 1
				p.plot.Add(line)
			}
		}
		last := panels[len(panels)-1].plot
		last.X.Label.Text, last.X.Tick.Marker = "time since the first submission", plot.ConstantTicks(x)
		return panels
	}), nil
}

// quantity returns a function for the quantity of a panel. If no GPU is open, the utilisation is NaN.
func quantity(panel int) func(t *eval.Timeline, k int) float64 {
	switch panel {
	case 0:
		return func(t *eval.Timeline, k int) float64 { return t.Waiting[k] }
	case 1:
		return func(t *eval.Timeline, k int) float64 {
			if t.Open[k] <= 0 {
				return math.NaN()
			}
			return min(t.Held[k]/t.Open[k], 1)
		}
	}
	return func(t *eval.Timeline, k int) float64 { return t.Lent[k] }
}

func checkTimeline(t *eval.Timeline) error {
	if t.Until <= 0 || len(t.Held) == 0 {
		return fmt.Errorf("%v in %d parts, want a time above 0 in at least one", t.Until, len(t.Held))
	}
	for _, s := range []struct {
		name   string
		values []float64
	}{{"waiting", t.Waiting}, {"held", t.Held}, {"open", t.Open}, {"lent", t.Lent}, {"need", t.Need}} {
		if len(s.values) != len(t.Held) {
			return fmt.Errorf("%d parts of %s, want %d", len(s.values), s.name, len(t.Held))
		}
		for k, v := range s.values {
			if !finite(v) || v < 0 {
				return fmt.Errorf("part %d of %s is %v, want a number of at least 0", k, s.name, v)
			}
		}
	}
	return nil
}

// coarse returns a quantity as a step function with at most about 500 steps, since more would be finer than print. The value of a
// step is the maximum (most) or the mean of the parts in it.
func coarse(t *eval.Timeline, of func(*eval.Timeline, int) float64, most bool) path {
	n := len(t.Held)
	width := (n + 499) / 500
	var p path
	for from := 0; from < n; from += width {
		to := min(from+width, n)
		value, count := math.NaN(), 0.0
		for k := from; k < to; k++ {
			v := of(t, k)
			switch {
			case math.IsNaN(v):
			case count == 0:
				value, count = v, 1
			case most:
				value = max(value, v)
			default:
				value, count = value+v, count+1
			}
		}
		if !most {
			value /= max(count, 1)
		}
		part := t.Until.Seconds() / float64(n)
		p.x, p.y = append(p.x, float64(from)*part, float64(to)*part), append(p.y, value, value)
	}
	return p
}

// area fills the area below a path, which must not have gaps.
type area struct{ path }

func (a area) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var outline vg.Path
	outline.Move(vg.Point{X: x(a.x[0]), Y: y(0)})
	for i := range a.x {
		outline.Line(vg.Point{X: x(a.x[i]), Y: y(a.y[i])})
	}
	outline.Line(vg.Point{X: x(a.x[len(a.x)-1]), Y: y(0)})
	outline.Close()
	c.SetColor(pale)
	c.Fill(outline)
}
