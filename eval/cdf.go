package eval

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// WriteCDF draws, for every policy, the share of all jobs that finish within a time of their submission, as SVG. Jobs of all
// windows and seeds count alike; a curve that ends below 100 % belongs to episodes that were cut off.
func WriteCDF(w io.Writer, results []Result) error {
	g, err := arrange(results)
	if err != nil {
		return fmt.Errorf("draw CDF: %w", err)
	}
	const plot, left, top, bottom = 648.0, 62.0, 40.0, 52.0
	right := 150.0 // holds the names
	for _, name := range g.policies {
		right = max(right, 55+7*float64(utf8.RuneCountInString(name)))
	}
	width, height := left+plot+right, max(420, top+20+22*float64(len(g.policies)))
	var curves [][]time.Duration
	var jobs []int
	lo, hi := time.Duration(math.MaxInt64), time.Second
	for p := range g.policies {
		times, n := g.pool(p)
		curves, jobs = append(curves, times), append(jobs, n)
		if len(times) > 0 {
			lo, hi = min(lo, times[0]), max(hi, times[len(times)-1])
		}
	}
	lo = min(max(lo, time.Second), hi/10)
	x := func(t time.Duration) float64 {
		f := math.Log(float64(max(t, lo))/float64(lo)) / math.Log(float64(hi)/float64(lo))
		return left + f*(width-left-right)
	}
	y := func(share float64) float64 { return height - bottom - share*(height-top-bottom) }

	d := newDrawing("cdf", width, height, "Cumulative distribution of job completion times",
		".c{fill:none;stroke-width:2;stroke-linejoin:round}")
	d.text(left, 22, "t", "Jobs finished within a time of their submission")
	for share := 0.0; share <= 1; share += .25 {
		d.line(left, y(share), width-right, y(share), "g")
		d.text(left-8, y(share)+4, "e", fmt.Sprintf("%.0f%%", 100*share))
	}
	for _, mark := range logTicks(lo, hi) {
		d.line(x(mark.at), y(0), x(mark.at), y(1), "g")
		d.text(x(mark.at), y(0)+18, "m", mark.label)
	}
	d.line(left, y(0), width-right, y(0), "a")
	d.text((left+width-right)/2, height-10, "m s", "JCT: finish − submit (logarithmic)")
	colours := palette()
	for p, name := range g.policies {
		colour := colours[p%len(colours)]
		dash := []string{"", "6 3", "2 3"}[p/len(colours)%3]
		curve(d, colour, dash, steps(curves[p], jobs[p], x, y))
		at := top + 10 + 22*float64(p)
		curve(d, colour, dash, fmt.Sprintf("M%s %sh22", px(width-right+18), px(at)))
		d.text(width-right+47, at+4, "", name)
	}
	return d.writeTo(w)
}

func curve(d *drawing, colour, dash, path string) {
	fmt.Fprintf(&d.b, `<path class="c" stroke="%s" stroke-dasharray="%s" d="%s"/>`+"\n", colour, dash, path)
}

// pool gathers the policy's JCTs, ascending, and how many jobs there were.
func (g *grid) pool(policy int) (times []time.Duration, jobs int) {
	for w := range g.windows {
		for s := range g.seeds {
			r := *g.at(policy, w, s)
			times = append(times, r.JCTs...)
			jobs += r.Jobs
		}
	}
	slices.Sort(times)
	return times, jobs
}

// steps is the path of a distribution function, without the steps that no eye could see.
func steps(times []time.Duration, jobs int, x func(time.Duration) float64, y func(float64) float64) string {
	var b strings.Builder
	if len(times) == 0 {
		return ""
	}
	atX, atY := x(times[0]), y(0)
	fmt.Fprintf(&b, "M%s %s", px(atX), px(atY))
	for i, t := range times {
		toX, toY := x(t), y(float64(i+1)/float64(jobs))
		if last := i == len(times)-1; !last && toX-atX < .7 && atY-toY < .7 {
			continue
		}
		fmt.Fprintf(&b, "H%sV%s", px(toX), px(toY))
		atX, atY = toX, toY
	}
	return b.String()
}
