package figure

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is a name with its swatch.
type entry struct {
	name   string
	swatch func(c draw.Canvas, left, right, y vg.Length)
}

// legend is a list of names above a figure, where it hides no data. The names are laid out like words in lines.
type legend struct {
	entries []entry
	at      []vg.Point // top left corner of each entry, from the legend's top left corner; y grows downwards
	width   vg.Length
	height  vg.Length
}

const (
	swatchWidth  = 16
	swatchGap    = 4
	entryGap     = 10
	legendRow    = 10
	legendMargin = 6
)

// newLegend lays out the entries within the given width, or within the width of the longest entry if that is larger.
func newLegend(entries []entry, width vg.Length) legend {
	l := legend{entries: entries}
	style := letters(tickSize, ink)
	var next vg.Point
	for _, e := range entries {
		w := swatchWidth + swatchGap + style.Width(e.name)
		if next.X > 0 && next.X+w > width-2*legendMargin {
			next = vg.Point{Y: next.Y + legendRow}
		}
		l.at = append(l.at, next)
		l.width = max(l.width, next.X+w+2*legendMargin)
		l.height = next.Y + legendRow + legendMargin
		next.X += w + entryGap
	}
	return l
}

// draw draws the legend in the middle of the top of a canvas and returns the rest of the canvas.
func (l *legend) draw(c draw.Canvas) draw.Canvas {
	style := letters(tickSize, ink)
	style.YAlign = draw.YCenter
	left, top := (c.Min.X+c.Max.X-l.width)/2+legendMargin, c.Max.Y-legendMargin
	for i, e := range l.entries {
		x, y := left+l.at[i].X, top-l.at[i].Y-legendRow/2
		e.swatch(c, x, x+swatchWidth, y)
		c.FillText(style, vg.Point{X: x + swatchWidth + swatchGap, Y: y + style.FontExtents().Descent/2}, e.name)
	}
	return draw.Crop(c, 0, 0, 0, -l.height)
}

// lineEntry returns the entry of a curve.
func lineEntry(name string, line draw.LineStyle) entry {
	return entry{plain(name), func(c draw.Canvas, left, right, y vg.Length) { c.StrokeLine2(line, left, y, right, y) }}
}

// withLegend returns a figure with a legend above the panels, at least as wide as the legend's longest name.
func withLegend(title string, width vg.Length, entries []entry, build func() []panel) *Figure {
	l := newLegend(entries, width)
	return &Figure{
		title: title, width: whole(max(width, l.width)), height: whole(l.height + stackHeight(build())),
		draw: func(s sheet) { stack(l.draw(s.Canvas), build()) },
	}
}
