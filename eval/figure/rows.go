package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// jobColours returns the fill colours for jobs, of about equal lightness so that none stands out.
func jobColours() []color.NRGBA {
	return []color.NRGBA{
		{0x4e, 0x79, 0xa7, 0xff}, {0xf2, 0x8e, 0x2b, 0xff}, {0x59, 0xa1, 0x4f, 0xff}, {0xe1, 0x57, 0x59, 0xff},
		{0x76, 0xb7, 0xb2, 0xff}, {0xed, 0xc9, 0x48, 0xff}, {0xb0, 0x7a, 0xa1, 0xff}, {0xff, 0x9d, 0xa7, 0xff},
		{0x9c, 0x75, 0x5f, 0xff}, {0x7c, 0x9b, 0xd1, 0xff}, {0x8c, 0xb3, 0x69, 0xff}, {0xd3, 0x72, 0x95, 0xff},
	}
}

// rows draws a schedule.
type rows struct{ *schedule }

func (r rows) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	fillRect(c, c.Min.X, c.Min.Y, x(r.end), c.Max.Y, color.NRGBA{0xf1, 0xf2, 0xf4, 0xff})
	r.paintGrounds(c, x, y, serving, onLoan)
	r.paintBoxes(c, x, y)
	r.paintGrounds(c, x, y, down)
	if servers := len(r.first) - 1; c.Size().Y/vg.Length(servers) >= 2.5 {
		for _, row := range r.first[1:servers] {
			c.StrokeLine2(draw.LineStyle{Color: white, Width: .6}, c.Min.X, y(row), c.Max.X, y(row))
		}
	}
}

// paintBoxes fills all boxes of one colour as a single path. It draws boxes slightly shorter, so that adjacent jobs of one colour
// stay distinct.
func (r rows) paintBoxes(c draw.Canvas, x, y func(float64) vg.Length) {
	paths := make([]vg.Path, len(jobColours()))
	for _, b := range r.boxes {
		left, right, bottom, top := x(b.from), x(b.to), y(b.bottom), y(b.top)
		right = max(right-min(.25, (right-left)/8), left+.15)
		bottom += min(.25, (top-bottom)/8)
		addRect(&paths[b.colour], left, bottom, right, top)
	}
	for i, path := range paths {
		if len(path) > 0 {
			c.SetColor(jobColours()[i])
			c.Fill(path)
		}
	}
}

func (r rows) paintGrounds(c draw.Canvas, x, y func(float64) vg.Length, kinds ...ground) {
	for _, kind := range kinds {
		var rects []vg.Rectangle
		for _, a := range r.areas {
			if a.ground == kind {
				rects = append(rects, vg.Rectangle{
					Min: vg.Point{X: x(a.from), Y: y(a.bottom)}, Max: vg.Point{X: x(a.to), Y: y(a.top)},
				})
			}
		}
		paintGround(c, kind, rects)
	}
}

// paintGround fills rectangles with the pattern of a kind of background.
func paintGround(c draw.Canvas, kind ground, rects []vg.Rectangle) {
	if len(rects) == 0 {
		return
	}
	var fill, hatch vg.Path
	for _, r := range rects {
		addRect(&fill, r.Min.X, r.Min.Y, r.Max.X, r.Max.Y)
		if kind == down {
			addHatch(&hatch, r)
		}
	}
	c.SetColor([grounds]color.Color{
		serving: color.NRGBA{0xd9, 0xdd, 0xe4, 0xff}, onLoan: color.NRGBA{0xff, 0xf0, 0xc2, 0xff},
		down: color.NRGBA{0x9a, 0x9a, 0x9a, 0xff},
	}[kind])
	c.Fill(fill)
	if len(hatch) > 0 {
		c.SetLineStyle(draw.LineStyle{Color: ink, Width: .4})
		c.Stroke(hatch)
	}
}

// addHatch adds diagonal lines through a rectangle. The lines of adjacent rectangles meet.
func addHatch(p *vg.Path, r vg.Rectangle) {
	const distance = 2.5
	low, high := r.Min.X-r.Max.Y, r.Max.X-r.Min.Y // of x-y
	for d := vg.Length(math.Ceil(float64(low/distance))) * distance; d < high; d += distance {
		x0, x1 := max(r.Min.X, d+r.Min.Y), min(r.Max.X, d+r.Max.Y)
		p.Move(vg.Point{X: x0, Y: x0 - d})
		p.Line(vg.Point{X: x1, Y: x1 - d})
	}
}

func addRect(p *vg.Path, left, bottom, right, top vg.Length) {
	p.Move(vg.Point{X: left, Y: bottom})
	p.Line(vg.Point{X: right, Y: bottom})
	p.Line(vg.Point{X: right, Y: top})
	p.Line(vg.Point{X: left, Y: top})
	p.Close()
}

func fillRect(c draw.Canvas, left, bottom, right, top vg.Length, fill color.Color) {
	var p vg.Path
	addRect(&p, left, bottom, right, top)
	c.SetColor(fill)
	c.Fill(p)
}
