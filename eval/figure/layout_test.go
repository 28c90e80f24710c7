package figure

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/must"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

const long = "a-srpt:start=projected:backfill=true:predictor=group-median"

// TestNamesFit checks that a figure is wide enough for the longest name and high enough for all names.
func TestNamesFit(t *testing.T) {
	names := []string{strings.Repeat(long, 2)}
	for p := range 24 {
		names = append(names, fmt.Sprintf("policy-%d", p))
	}
	var lines []Line
	for _, name := range names {
		lines = append(lines, Line{Name: name})
	}
	cdf, err1 := CDF(lines)
	curves, err2 := Curves("mean JCT", lines, nil)
	differences, err3 := Differences(names, make([]eval.Difference, len(names)), "s")
	for i, f := range []*Figure{cdf, curves, differences} {
		must.Do(t, []error{err1, err2, err3}[i])
		var c recorder.Canvas
		f.draw(sheet{draw.NewCanvas(&c, f.width, f.height)})
		seen := 0
		for _, action := range c.Actions {
			text, ok := action.(*recorder.FillString)
			if !ok {
				continue
			}
			style := letters(vg.Length(text.Size), ink)
			if right := text.Point.X + style.Width(text.String); text.Point.X < 0 || right > f.width || text.Point.Y > f.height {
				t.Errorf("figure %d, %v by %v: %q stands at %v to %v", i, f.width, f.height, text.String, text.Point, right)
			}
			if strings.HasPrefix(text.String, "policy-") || text.String == names[0] {
				seen++
			}
		}
		if seen != len(names) {
			t.Errorf("figure %d names %d policies, want %d", i, seen, len(names))
		}
	}
}

// TestPanelsAreInLine checks that the data areas of panels with labels of any width are aligned left and right.
func TestPanelsAreInLine(t *testing.T) {
	var panels []panel
	for _, label := range []string{"1", "100,000,000", "5%"} {
		p := newPlot()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(nil), plot.ConstantTicks{{Value: .5, Label: label}}
		panels = append(panels, panel{plot: p, height: 40})
	}
	panels[2].plot.X.Tick.Marker = plot.ConstantTicks{{Value: 1, Label: "a wide mark at the end"}}
	var corners []vg.Rectangle
	for _, p := range panels {
		p.plot.Add(spy{&corners})
	}
	var c recorder.Canvas
	height := stackHeight(panels)
	stack(draw.NewCanvas(&c, column, height), panels)
	for i, r := range corners {
		if abs(r.Min.X-corners[0].Min.X) > .01 || abs(r.Max.X-corners[0].Max.X) > .01 {
			t.Errorf("panel %d lies from %v to %v, panel 0 from %v to %v", i, r.Min.X, r.Max.X, corners[0].Min.X, corners[0].Max.X)
		}
		if h := r.Max.Y - r.Min.Y; h < 35 || h > 40.01 {
			t.Errorf("panel %d is %v high, want about 40", i, h)
		}
	}
	if bottom := corners[2].Min.Y - below(panels[2].plot); abs(bottom-gap) > .01 {
		t.Errorf("%v are left below the stack, want %d", bottom, gap)
	}
}

type spy struct{ seen *[]vg.Rectangle }

func (s spy) Plot(c draw.Canvas, _ *plot.Plot) { *s.seen = append(*s.seen, c.Rectangle) }

func TestOnlySeparableDifferencesAreFilled(t *testing.T) {
	inf := eval.Number(math.Inf(1))
	f, err := Differences([]string{"better", "best", "worse", "same", "one window"}, []eval.Difference{
		{Mean: -5, Lo: -8, Hi: -2}, {Mean: -6, Lo: -9, Hi: -1}, {Mean: 4, Lo: 1, Hi: 7},
		{Mean: 1, Lo: -2, Hi: 4}, {Mean: 3, Lo: -inf, Hi: inf},
	}, "%")
	must.Do(t, err)
	svg := string(write(t, f, "svg"))
	if n := strings.Count(svg, "fill:#0072B2"); n != 3 {
		t.Errorf("%d marks are filled, want 3", n)
	}
	if n := strings.Count(svg, "fill:#FFFFFF"); n != 3 {
		t.Errorf("%d things are white, want the ground and 2 marks", n)
	}
	if n := strings.Count(svg, "stroke-width:1.2"); n != 4*3 {
		t.Errorf("%d strokes of intervals, want 4 of a line and two ends", n)
	}
}

// TestDistributionsAreSteps checks that a distribution function rises from 0 at its first point and has its points at their
// logarithms.
func TestDistributionsAreSteps(t *testing.T) {
	p := distribution(&Line{"a", []float64{1, 10, 10, 100}, []float64{.25, .5, .75, 1}}, 10)
	want := path{x: []float64{1, 1, 1, 1, 1, 1, 2, 2}, y: []float64{0, .25, .25, .5, .5, .75, .75, 1}}
	if fmt.Sprint(p.x, p.y) != fmt.Sprint(want.x, want.y) {
		t.Errorf("steps %v %v, want %v %v", p.x, p.y, want.x, want.y)
	}
}

// TestCurvesLeaveOutWhatNoEyeSees checks that many points at the same position give few points in the file, and that the extremes
// remain.
func TestCurvesLeaveOutWhatNoEyeSees(t *testing.T) {
	l := Line{Name: "a"}
	for i := range 100_000 {
		l.X, l.Y = append(l.X, float64(i+1)), append(l.Y, float64(i+1)/100_000)
	}
	f := must.Get(CDF([]Line{l}))(t)
	svg := string(write(t, f, "svg"))
	if len(svg) > 60_000 {
		t.Errorf("%d bytes for a smooth curve", len(svg))
	}
	var curve string
	for _, m := range regexp.MustCompile(` d="([^"]*)"`).FindAllStringSubmatch(svg, -1) {
		if len(m[1]) > len(curve) {
			curve = m[1]
		}
	}
	ends := regexp.MustCompile(`[-0-9.e]+`).FindAllString(curve, -1)
	top, _ := strconv.ParseFloat(ends[len(ends)-1], 64)
	if want := float64(f.height - newLegend([]entry{{name: "a"}}, column).height - gap); math.Abs(top-want) > 4 {
		t.Errorf("the curve ends at %v, want about %v", top, want)
	}
}

func TestBadDataIsRefused(t *testing.T) {
	one := []float64{1}
	nan := []float64{math.NaN()}
	cdf := func(x, y []float64) error { _, err := CDF([]Line{{"a", x, y}}); return err }
	curves := func(x, y []float64) error { _, err := Curves("mean JCT", nil, []Line{{"a", x, y}}); return err }
	differences := func(names []string, mean float64) error {
		_, err := Differences(names, []eval.Difference{{Mean: eval.Number(mean)}}, "s")
		return err
	}
	_, none := CDF(nil)
	_, nothing := Curves("mean JCT", nil, nil)
	cases := []struct {
		name string
		err  error
		want string
	}{
		{"no lines", none, "draw CDF: no lines"},
		{"no curves", nothing, "draw learning curves: no lines"},
		{"x without y", cdf(one, nil), `line "a" has 1 x and 0 y`},
		{"x that is no number", cdf(nan, one), `line "a": point 0 is (NaN, 1), want numbers`},
		{"infinite x", cdf([]float64{math.Inf(1)}, one), `point 0 is (+Inf, 1)`},
		{"x that descend", cdf([]float64{2, 1}, []float64{.5, 1}), `x[1] = 1 comes after 2`},
		{"a negative time", cdf([]float64{-1}, one), `x[0] = -1 s, want 0 or more`},
		{"a share above 1", cdf(one, []float64{1.5}), `y[0] = 1.5, want shares`},
		{"shares that descend", cdf([]float64{1, 2}, []float64{.5, .4}), `y[1] = 0.4, want shares`},
		{"a point that is no number", curves(one, nan), `point 0 is (1, NaN)`},
		{"more names than differences", differences([]string{"a", "b"}, 1), `2 names of 1 policies`},
		{"a mean that is no number", differences([]string{"a"}, math.NaN()), `mean of "a" is NaN`},
	}
	for _, c := range cases {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.name, c.err, c.want)
		}
	}
}

func TestTextsBecomeCodePage1252(t *testing.T) {
	if got, want := encode("−2 d … café 中"), "\x962 d \x85 caf\xe9 ?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
