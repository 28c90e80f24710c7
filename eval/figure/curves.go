package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Curves draws learning curves: X is the number of updates, Y what the word names, such as the mean JCT, relative to the
// prior's. A line at 1 stands for the prior. The points are validations; they have the colour of the line with the same name, or
// their own.
func Curves(what string, lines []Line, points []Line) (*Figure, error) {
	if len(lines)+len(points) == 0 {
		return nil, fmt.Errorf("draw learning curves: no lines")
	}
	box, err := around(lines, points)
	if err != nil {
		return nil, fmt.Errorf("draw learning curves: %w", err)
	}
	of, entries := curveEntries(lines, points)
	return withLegend("Learning curves: "+what+" relative to the prior's over updates", column, entries, func() []panel {
		p := box.relative(what)
		for i := range lines {
			p.Add(path{lines[i].X, lines[i].Y, solid(i)})
		}
		for i := range points {
			p.Add(marks{&points[i], of[i]})
		}
		return []panel{{plot: p, height: 124}}
	}), nil
}

// curveEntries returns the legend's entries, each with the mark of its validations, and for each element of points the index of
// its line.
func curveEntries(lines, points []Line) (of []int, entries []entry) {
	marked := make([]bool, len(lines))
	var alone []entry
	for i := range points {
		k := slices.IndexFunc(lines, func(l Line) bool { return l.Name == points[i].Name })
		if k >= 0 {
			marked[k] = true
		} else {
			k = len(lines) + i
			alone = append(alone, markEntry(points[i].Name+", validation", k%shapes, solid(k).Color))
		}
		of = append(of, k)
	}
	for i := range lines {
		e := lineEntry(lines[i].Name, solid(i))
		if marked[i] {
			line, point := e.swatch, markEntry("", i%shapes, solid(i).Color).swatch
			e.swatch = func(c draw.Canvas, left, right, y vg.Length) {
				line(c, left, right, y)
				point(c, left, right, y)
			}
		}
		entries = append(entries, e)
	}
	if slices.Contains(marked, true) {
		entries = append(entries, markEntry("validation", 0, grey))
	}
	return of, append(entries, alone...)
}

func markEntry(name string, shape int, line color.Color) entry {
	return entry{plain(name), func(c draw.Canvas, left, right, y vg.Length) {
		mark(c, vg.Point{X: (left + right) / 2, Y: y}, shape, line, white)
	}}
}

// solid returns the line of the i-th policy without dashes, for curves that are too rough for dashes.
func solid(i int) draw.LineStyle {
	l := stroke(i)
	l.Dashes, l.Width = nil, .8
	return l
}

// relative returns an empty plot of what the word names relative to the prior's over updates, with some space above and below
// the points and a line at 1.
func (b *bounds) relative(what string) *plot.Plot {
	pad := max(.06*(b.yhi-b.ylo), .02)
	ylo, yhi := b.ylo-pad, b.yhi+pad
	p := newPlot()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = b.xlo, b.xhi, ylo, yhi
	p.X.Label.Text, p.Y.Label.Text = "update", what+" / prior’s"
	x, y := numberTicks(b.xlo, b.xhi, 6, ""), numberTicks(ylo, yhi, 6, "")
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(x), plot.ConstantTicks(y)
	p.Add(grid{x, y}, path{[]float64{b.xlo, b.xhi}, []float64{1, 1}, draw.LineStyle{Color: grey, Width: .7}})
	return p
}

// bounds is a rectangle around points.
type bounds struct{ xlo, xhi, ylo, yhi float64 }

// around returns the smallest bounds of lines that contain the prior, which is at 1, at the first update. It returns an error
// about the first line that cannot be drawn.
func around(lists ...[]Line) (bounds, error) {
	b := bounds{xlo: 0, xhi: 1, ylo: 1, yhi: 1}
	for _, list := range lists {
		for i := range list {
			l := &list[i]
			if err := l.check(); err != nil {
				return b, err
			}
			for k := range l.X {
				b.xlo, b.xhi = min(b.xlo, l.X[k]), max(b.xhi, l.X[k])
				b.ylo, b.yhi = min(b.ylo, l.Y[k]), max(b.yhi, l.Y[k])
			}
		}
	}
	return b, nil
}

// marks draws a shape at every point, except where the shape would coincide with the previous one.
type marks struct {
	*Line
	policy int
}

func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	last := vg.Point{X: vg.Length(math.Inf(-1))}
	for i := range m.X {
		at := vg.Point{X: x(m.X[i]), Y: y(m.Y[i])}
		if abs(at.X-last.X) < .3 && abs(at.Y-last.Y) < .3 {
			continue
		}
		mark(c, at, m.policy%shapes, solid(m.policy).Color, white)
		last = at
	}
}

// shapes is the number of shapes of marks; the first is a square.
const shapes = 4

// mark draws a shape at a point. No shape has an arc, because a PDF would draw an arc apart from its path.
func mark(c draw.Canvas, at vg.Point, shape int, line, fill color.Color) {
	corners := [shapes][]vg.Point{
		{{X: -2, Y: -2}, {X: 2, Y: -2}, {X: 2, Y: 2}, {X: -2, Y: 2}},
		{{X: 0, Y: -2.8}, {X: 2.8, Y: 0}, {X: 0, Y: 2.8}, {X: -2.8, Y: 0}},
		{{X: -2.4, Y: -1.8}, {X: 2.4, Y: -1.8}, {X: 0, Y: 2.4}},
		{{X: -2.4, Y: 1.8}, {X: 0, Y: -2.4}, {X: 2.4, Y: 1.8}},
	}[shape]
	var p vg.Path
	p.Move(at.Add(corners[0]))
	for _, corner := range corners[1:] {
		p.Line(at.Add(corner))
	}
	p.Close()
	c.SetColor(fill)
	c.Fill(p)
	c.SetLineStyle(draw.LineStyle{Color: line, Width: 1})
	c.Stroke(p)
}
