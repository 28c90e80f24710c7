package figure

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Band is a curve with an interval about each of its points, single points beside it, and a marked X.
type Band struct {
	Line           // the curve
	Low, High      []float64
	PointX, PointY []float64
	PointName      string
	Mark           float64 // 0 for none
	MarkName       string
}

func (b *Band) check() error {
	if err := b.Line.check(); err != nil {
		return err
	}
	if len(b.X) == 0 || len(b.Low) != len(b.X) || len(b.High) != len(b.X) || len(b.PointX) != len(b.PointY) {
		return fmt.Errorf("band %q has %d x, %d low, %d high and points with %d x and %d y", b.Name, len(b.X), len(b.Low),
			len(b.High), len(b.PointX), len(b.PointY))
	}
	for _, values := range [][]float64{b.Low, b.High, b.PointX, b.PointY} {
		for _, v := range values {
			if !finite(v) {
				return fmt.Errorf("band %q has the value %v, want numbers", b.Name, v)
			}
		}
	}
	return nil
}

// Beliefs draws, side by side, what is believed of run times and of a speed. On the left, a line is the probability Y that a job
// ends within X seconds, on a logarithmic axis, with marks at 10, 50 and 90 %. On the right is the speed over the cores of a
// worker.
func Beliefs(times []Line, speed *Band) (*Figure, error) {
	if len(times) == 0 {
		return nil, fmt.Errorf("draw beliefs: no run times")
	}
	lo, hi := math.Inf(1), 1.0
	for i := range times {
		l := &times[i]
		if err := checkShares(l); err != nil {
			return nil, fmt.Errorf("draw beliefs: %w", err)
		}
		if n := len(l.X); n > 0 {
			lo, hi = min(lo, l.X[0]), max(hi, l.X[n-1])
		}
	}
	lo = min(max(lo, 1), hi/10)
	if err := speed.check(); err != nil {
		return nil, fmt.Errorf("draw beliefs: %w", err)
	}
	l := newLegend(speed.entries(times), page)
	left := func() []panel { return []panel{{plot: endings(times, lo, hi), height: 140}} }
	right := func() []panel { return []panel{{plot: speed.plot(), height: 140}} }
	return &Figure{
		title: "Believed run times, and believed speed over CPU", width: whole(max(page, l.width)),
		height: whole(l.height + stackHeight(left())),
		draw: func(s sheet) {
			c := l.draw(s.Canvas)
			middle := (c.Max.X - c.Min.X) / 2
			stack(draw.Crop(c, 0, -middle, 0, 0), left())
			stack(draw.Crop(c, middle, 0, 0, 0), right())
		},
	}, nil
}

func (b *Band) entries(times []Line) (entries []entry) {
	for i := range times {
		entries = append(entries, lineEntry(times[i].Name, stroke(i)))
	}
	entries = append(entries, entry{plain(b.Name), func(c draw.Canvas, left, right, y vg.Length) {
		fillRect(c, left, y-3, right, y+3, pale)
		c.StrokeLine2(stroke(0), left, y, right, y)
	}})
	if len(b.PointX) > 0 {
		entries = append(entries, markEntry(b.PointName, 0, palette()[1]))
	}
	if b.Mark > 0 {
		entries = append(entries, lineEntry(b.MarkName, marked))
	}
	return entries
}

// marked is the style of the line at Band.Mark.
var marked = draw.LineStyle{Color: grey, Width: .7, Dashes: []vg.Length{2, 2}}

func endings(times []Line, lo, hi float64) *plot.Plot {
	p := newPlot()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = math.Log10(lo), math.Log10(hi), 0, 1
	p.X.Label.Text, p.Y.Label.Text = "run time (log scale)", "chance to end within"
	x, y := logTicks(lo, hi), shareTicks()
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(x), plot.ConstantTicks(y)
	p.Add(grid{x, y})
	for i := range times {
		l := &times[i]
		line := path{y: l.Y, line: stroke(i)}
		var at Line // where the line reaches the quantiles
		for k := range l.X {
			line.x = append(line.x, math.Log10(max(l.X[k], lo)))
			for _, q := range []float64{.1, .5, .9} {
				if k > 0 && l.Y[k-1] < q && l.Y[k] >= q {
					part := (q - l.Y[k-1]) / (l.Y[k] - l.Y[k-1])
					at.X = append(at.X, line.x[k-1]+part*(line.x[k]-line.x[k-1]))
					at.Y = append(at.Y, q)
				}
			}
		}
		p.Add(line, marks{&at, i})
	}
	return p
}

func (b *Band) plot() *plot.Plot {
	p := newPlot()
	top := 1.0
	for _, values := range [][]float64{b.High, b.PointY} {
		for _, v := range values {
			top = max(top, v)
		}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1.03*max(b.X[len(b.X)-1], b.Mark), 0, 1.05*top
	p.X.Label.Text, p.Y.Label.Text = "cores of a worker", "speed / speed as requested"
	x, y := numberTicks(0, p.X.Max, 6, ""), numberTicks(0, p.Y.Max, 5, "")
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(x), plot.ConstantTicks(y)
	p.Add(between{b}, grid{x, y})
	if b.Mark > 0 {
		p.Add(path{[]float64{b.Mark, b.Mark}, []float64{0, p.Y.Max}, marked})
	}
	p.Add(path{b.X, b.Y, stroke(0)}, dots{b})
	return p
}

// between fills what is between Low and High.
type between struct{ *Band }

func (b between) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var outline vg.Path
	outline.Move(vg.Point{X: x(b.X[0]), Y: y(b.Low[0])})
	for i := range b.X {
		outline.Line(vg.Point{X: x(b.X[i]), Y: y(b.High[i])})
	}
	for i, low := range slices.Backward(b.Low) {
		outline.Line(vg.Point{X: x(b.X[i]), Y: y(low)})
	}
	outline.Close()
	c.SetColor(pale)
	c.Fill(outline)
}

// dots draws the single points.
type dots struct{ *Band }

func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i := range d.PointX {
		mark(c, vg.Point{X: x(d.PointX[i]), Y: y(d.PointY[i])}, 0, palette()[1], white)
	}
}
