// Package figure draws the results of evaluations for papers and web pages: distributions of job completion times, learning
// curves, differences from a baseline, and schedules. It writes every figure as SVG, PNG or PDF
// with the same look. Figures contain no creation time: the same data gives the same bytes.
package figure

import (
	"fmt"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a drawing that can be written any number of times.
type Figure struct {
	title         string // a description for screen readers
	width, height vg.Length
	draw          func(sheet)
}

// sheet is the canvas of a figure.
type sheet struct{ draw.Canvas }

const (
	column = 252 * vg.Length(1) // the width of a column of a paper, in points
	page   = 504 * vg.Length(1) // the width of a page of a paper, in points
	dpi    = 192                // resolution of PNGs: two pixels for each pixel of a screen
)

// whole rounds a length up to whole points.
func whole(l vg.Length) vg.Length { return vg.Length(math.Ceil(float64(l))) }

// Formats lists the formats that Write accepts. Each is also the file extension, without the dot.
func Formats() []string { return []string{"svg", "png", "pdf"} }

// Write writes the figure in one of Formats. Equal figures give equal bytes. In a PDF, characters outside the alphabets of
// western Europe and this package's own labels become question marks.
func (f *Figure) Write(w io.Writer, format string) error {
	var err error
	switch format {
	case "svg":
		c := vgsvg.New(f.width, f.height)
		f.drawOn(c)
		err = writeSVG(w, c, f.title)
	case "png":
		c := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dpi))
		f.drawOn(c)
		_, err = vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	case "pdf":
		err = writePDF(w, f)
	default:
		return fmt.Errorf("write figure: format %q, want one of %s", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return fmt.Errorf("write figure as %s: %w", format, err)
	}
	return nil
}

func (f *Figure) drawOn(c vg.CanvasSizer) {
	s := sheet{draw.New(c)}
	s.SetColor(white)
	s.Fill(s.Rectangle.Path())
	f.draw(s)
}

// Line is a named curve through the points (X[i], Y[i]).
type Line struct {
	Name string
	X, Y []float64
}

// check returns an error unless X and Y have the same length and finite numbers, and X does not descend.
func (l *Line) check() error {
	if len(l.X) != len(l.Y) {
		return fmt.Errorf("line %q has %d x and %d y", l.Name, len(l.X), len(l.Y))
	}
	for i := range l.X {
		if !finite(l.X[i]) || !finite(l.Y[i]) {
			return fmt.Errorf("line %q: point %d is (%v, %v), want numbers", l.Name, i, l.X[i], l.Y[i])
		}
		if i > 0 && l.X[i] < l.X[i-1] {
			return fmt.Errorf("line %q: x[%d] = %v comes after %v, want ascending x", l.Name, i, l.X[i], l.X[i-1])
		}
	}
	return nil
}

// finite returns false also for numbers too large for computing an axis.
func finite(x float64) bool { return math.Abs(x) < 1e150 }
