package eval

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// drawing writes an SVG document whose style is all its own, so that it looks the same in a page and alone.
type drawing struct{ b strings.Builder }

const svgStyle = `text{font:12px system-ui,"Segoe UI","DejaVu Sans",sans-serif;fill:#333}` +
	`.t{font-size:14px;font-weight:600;fill:#111}.s{font-size:11px;fill:#666}.e{text-anchor:end}.m{text-anchor:middle}` +
	`.g{stroke:#e4e4e4;stroke-width:1}.a{stroke:#888;stroke-width:1}`

// newDrawing starts a document of a kind, the class under which its style holds: several may stand in one page.
func newDrawing(kind string, width, height float64, label, style string) *drawing {
	d := &drawing{}
	fmt.Fprintf(&d.b, `<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="0 0 %s %s" width="%s" height="%s" `,
		kind, px(width), px(height), px(width), px(height))
	fmt.Fprintf(&d.b, `role="img" aria-label="%s">`+"\n<style>", html.EscapeString(label))
	for _, rule := range strings.SplitAfter(svgStyle+style, "}") {
		if rule != "" {
			d.b.WriteString("." + kind + " " + rule)
		}
	}
	d.b.WriteString("</style>\n")
	fmt.Fprintf(&d.b, `<rect width="%s" height="%s" fill="#fff"/>`+"\n", px(width), px(height))
	return d
}

func (d *drawing) writeTo(w io.Writer) error {
	d.b.WriteString("</svg>\n")
	_, err := io.WriteString(w, d.b.String())
	return err
}

func (d *drawing) text(x, y float64, class, s string) {
	fmt.Fprintf(&d.b, `<text x="%s" y="%s" class="%s">%s</text>`+"\n", px(x), px(y), class, html.EscapeString(s))
}

func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&d.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`+"\n", px(x1), px(y1), px(x2), px(y2), class)
}

func (d *drawing) rect(x, y, w, h float64, fill string) {
	fmt.Fprintf(&d.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", px(x), px(y), px(w), px(h), fill)
}

// px writes a length to a hundredth, as short as it goes.
func px(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

// palette gives lines that also the colour-blind can tell apart (Okabe and Ito 2008).
func palette() []string {
	return []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#000000"}
}

// tick is a mark on an axis of time.
type tick struct {
	at    time.Duration
	label string
}

// ticks returns about n marks at round times of [0, until].
func ticks(until time.Duration, n int) []tick {
	steps := []time.Duration{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600,
		86400, 2 * 86400, 5 * 86400, 10 * 86400, 30 * 86400, 100 * 86400, 365 * 86400, 3650 * 86400}
	step := steps[len(steps)-1] * time.Second
	for _, s := range steps {
		if until <= s*time.Second*time.Duration(n) {
			step = s * time.Second
			break
		}
	}
	var marks []tick
	for at := time.Duration(0); at <= until; at += step {
		marks = append(marks, tick{at, shortTime(at)})
	}
	return marks
}

// logTicks returns the round times of a logarithmic axis within [lo, hi].
func logTicks(lo, hi time.Duration) []tick {
	const day = 24 * time.Hour
	var marks []tick
	for _, at := range []time.Duration{
		time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute,
		10 * time.Minute, time.Hour, 6 * time.Hour, day, 10 * day, 100 * day, 1000 * day,
	} {
		if lo <= at && at <= hi {
			marks = append(marks, tick{at, shortTime(at)})
		}
	}
	return marks
}

// shortTime writes a time in its largest unit: 90s, 10min, 6h, 2d.
func shortTime(d time.Duration) string {
	number := func(unit time.Duration) string { return strconv.FormatFloat(float64(d)/float64(unit), 'g', 3, 64) }
	switch {
	case d == 0:
		return "0"
	case d < time.Second:
		return number(time.Millisecond) + " ms"
	case d < time.Minute:
		return number(time.Second) + " s"
	case d < time.Hour:
		return number(time.Minute) + " min"
	case d < 24*time.Hour:
		return number(time.Hour) + " h"
	}
	days := float64(d) / float64(24*time.Hour)
	if days >= 100 {
		return strconv.FormatFloat(days, 'f', 0, 64) + " d"
	}
	return strconv.FormatFloat(days, 'g', 3, 64) + " d"
}
