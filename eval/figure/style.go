package figure

import (
	"image/color"
	"math"
	"strings"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	labelSize = 8 // points
	tickSize  = 7
)

var (
	white = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	ink   = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	grey  = color.NRGBA{0x66, 0x66, 0x66, 0xff}
	pale  = color.NRGBA{0xc4, 0xc8, 0xce, 0xff}
	mesh  = color.NRGBA{0xe4, 0xe4, 0xe4, 0xff}
)

// palette returns colours that colour-blind people can distinguish (Okabe and Ito 2008).
func palette() []color.NRGBA {
	return []color.NRGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
		{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x66, 0x66, 0x66, 0xff}, {0x00, 0x00, 0x00, 0xff},
	}
}

// stroke returns the line style of the i-th policy, the same in every figure. It differs from its neighbours in colour, and in
// dashes.
func stroke(i int) draw.LineStyle {
	colours := palette()
	dashes := [][]vg.Length{nil, {4, 1.5}, {1.2, 1.2}, {5, 1.5, 1.2, 1.5}}
	return draw.LineStyle{
		Color: colours[i%len(colours)], Width: 1.2, Dashes: dashes[(i+i/len(colours))%len(dashes)],
	}
}

// letters returns a text style. It is never bold, because a PDF has only one font.
func letters(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Handler: plot.DefaultTextHandler,
	}
}

// plain replaces non-graphic characters in a name by spaces: line breaks would overlap the next name, and XML forbids some
// characters.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, s)
}

// fit shortens a text at its end until it fits the width.
func fit(s string, style text.Style, width vg.Length) string {
	if style.Width(s) <= width {
		return s
	}
	runes := []rune(s)
	for n := len(runes); n > 0; n-- {
		if short := string(runes[:n]) + "…"; style.Width(short) <= width {
			return short
		}
	}
	return "…"
}

// newPlot returns an empty plot in the package's style.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		label, tick := letters(labelSize, ink), letters(tickSize, grey)
		label.XAlign, label.YAlign = a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign
		tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Label.TextStyle, a.Tick.Label = label, tick
		a.Label.Padding, a.Padding = 2, 0
		a.LineStyle = draw.LineStyle{Color: grey, Width: .5}
		a.Tick.LineStyle, a.Tick.Length = a.LineStyle, 2.5
	}
	return p
}

// panel is a plot in a stack: its height without axes, and a strip above it.
type panel struct {
	plot   *plot.Plot
	height vg.Length
	above  vg.Length
	head   func(draw.Canvas) // draws the strip, which is as wide as the data; may be nil
}

// gap is the space between panels, and between a figure and its edge.
const gap = 6

// stackHeight returns the height that stack needs, including the tick labels and the axis label below the last panel.
func stackHeight(panels []panel) vg.Length {
	h := vg.Length(gap)
	for i := range panels {
		h += panels[i].height + panels[i].above + gap
	}
	return h + below(panels[len(panels)-1].plot)
}

// below returns the height of the parts of a plot below its axis.
func below(p *plot.Plot) vg.Length {
	const some = 1000
	c := draw.Canvas{Rectangle: vg.Rectangle{Max: vg.Point{X: some, Y: some}}}
	return p.DataCanvas(c).Min.Y
}

// stack draws panels one above the other, with their data areas aligned left and right.
func stack(c draw.Canvas, panels []panel) {
	c = draw.Crop(c, gap, -gap, 0, -gap)
	areas := make([]draw.Canvas, len(panels))
	left, right := c.Min.X, c.Max.X
	top := c.Max.Y
	for i := range panels {
		areas[i] = c
		areas[i].Max.Y = top - panels[i].above
		areas[i].Min.Y = areas[i].Max.Y - panels[i].height
		if i == len(panels)-1 {
			areas[i].Min.Y -= below(panels[i].plot)
		}
		top = areas[i].Min.Y - gap
		data := panels[i].plot.DataCanvas(areas[i])
		left, right = max(left, data.Min.X), min(right, data.Max.X)
	}
	for i, a := range areas {
		p := panels[i].plot
		// Cropping by the misalignment moves the ends of the data area by about as much, but also the labels there: repeat it.
		for range 3 {
			data := p.DataCanvas(a)
			a = draw.Crop(a, left-data.Min.X, right-data.Max.X, 0, 0)
		}
		p.Draw(a)
		if head := panels[i].head; head != nil {
			strip := a
			strip.Min = vg.Point{X: left, Y: a.Max.Y}
			strip.Max = vg.Point{X: right, Y: a.Max.Y + panels[i].above}
			head(strip)
		}
	}
}

// grid draws lines behind the data at given values.
type grid struct{ x, y []plot.Tick }

func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	style := draw.LineStyle{Color: mesh, Width: .5}
	x, y := p.Transforms(&c)
	for _, t := range g.x {
		if at := x(t.Value); !t.IsMinor() && c.ContainsX(at) {
			c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
		}
	}
	for _, t := range g.y {
		if at := y(t.Value); !t.IsMinor() && c.ContainsY(at) {
			c.StrokeLine2(style, c.Min.X, at, c.Max.X, at)
		}
	}
}

// path draws a polyline and skips points too close to be visible. A NaN interrupts it.
type path struct {
	x, y []float64
	line draw.LineStyle
}

func (l path) Plot(c draw.Canvas, p *plot.Plot) {
	const near = .3 // points
	x, y := p.Transforms(&c)
	var run []vg.Point
	flush := func() {
		if len(run) > 1 {
			c.StrokeLines(l.line, run)
		}
		run = nil
	}
	for i := range l.x {
		if math.IsNaN(l.y[i]) {
			flush()
			continue
		}
		at := vg.Point{X: x(l.x[i]), Y: y(l.y[i])}
		last := i == len(l.x)-1 || math.IsNaN(l.y[i+1])
		if n := len(run); !last && n > 0 && abs(at.X-run[n-1].X) < near && abs(at.Y-run[n-1].Y) < near {
			continue
		}
		run = append(run, at)
	}
	flush()
}

func abs(l vg.Length) vg.Length { return max(l, -l) }
