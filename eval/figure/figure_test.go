package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/must"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

// play plays jobs with a baseline on servers of 4 GPUs.
func play(t testing.TB, policy string, servers int, jobs []trace.Job) *sim.Log {
	t.Helper()
	sched := must.Get(baselines.New(policy))(t)
	return playWith(t, sched, sim.Config{Cluster: cluster.Uniform(servers, 4)}, jobs)
}

func playWith(t testing.TB, sched cluster.Scheduler, cfg sim.Config, jobs []trace.Job) *sim.Log {
	t.Helper()
	return simtest.Play(t, &sim.Episode{Config: cfg, Jobs: jobs}, sched, 1)
}

// manyJobs returns jobs that arrive steadily, ask for 1 to 4 GPUs or for a share of one, and keep about two servers busy.
func manyJobs(n int) []trace.Job {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	jobs := make([]trace.Job, n)
	for i := range jobs {
		work := time.Duration(1+r.IntN(240)) * time.Second
		jobs[i] = job(fmt.Sprintf("job-%d", i), time.Duration(i)*40*time.Second, work, int32(1+r.IntN(4)), cluster.WholeGPU)
		if i%5 == 0 {
			jobs[i] = job(fmt.Sprintf("job-%d", i), time.Duration(i)*40*time.Second, work, 1, int32(200+100*r.IntN(6)))
		}
	}
	return jobs
}

func job(name string, submit, work time.Duration, workers, milli int32) trace.Job {
	return trace.Job{JobSpec: cluster.JobSpec{
		Name: name, Submit: submit, Workers: workers, Estimate: work, Request: cluster.Amount{GPUMilli: milli},
	}, Work: work}
}

// all returns one figure of each kind.
func all(t testing.TB) map[string]*Figure {
	t.Helper()
	fifo, srtf := play(t, "fifo", 3, manyJobs(60)), play(t, "srtf", 3, manyJobs(60))
	names := []string{"fifo", "srtf & co <b>"}
	inf := eval.Number(math.Inf(1))
	figures := map[string]*Figure{}
	keep := func(name string, f *Figure, err error) {
		must.Do(t, err)
		figures[name] = f
	}
	f, err := CDF([]Line{
		{"fifo", []float64{0, 60, 60, 86400}, []float64{.25, .5, .75, 1}}, {names[1], []float64{5}, []float64{.5}},
	})
	keep("cdf", f, err)
	f, err = Curves("mean JCT", []Line{{"a", []float64{0, 1, 2}, []float64{1.2, .9, .8}}},
		[]Line{{"a", []float64{0, 2}, []float64{1.1, .85}}, {"b", []float64{1}, []float64{1}}})
	keep("curves", f, err)
	f, err = Differences(names, []eval.Difference{{Mean: -90, Lo: -120, Hi: -50}, {Mean: 20, Lo: -inf, Hi: inf}}, "s")
	keep("differences", f, err)
	f, err = Gantt(fifo, srtf)
	keep("gantt", f, err)
	return figures
}

func write(t testing.TB, f *Figure, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, f.Write(&b, format))
	return b.Bytes()
}

// elements counts the elements of an SVG by name and collects its texts.
func elements(t testing.TB, svg []byte) (count map[string]int, texts []string) {
	t.Helper()
	count = map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count, texts
		}
		if err != nil {
			t.Fatalf("%v in %.200s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			count[e.Name.Local]++
		case xml.CharData:
			if s := strings.TrimSpace(string(e)); s != "" {
				texts = append(texts, s)
			}
		}
	}
}

func TestEqualDataGivesEqualBytes(t *testing.T) {
	first, second := all(t), all(t)
	for name := range first {
		for _, format := range Formats() {
			a, b, again := write(t, first[name], format), write(t, second[name], format), write(t, first[name], format)
			if !bytes.Equal(a, b) || !bytes.Equal(a, again) {
				t.Errorf("%s as %s: %d, %d and %d bytes that differ", name, format, len(a), len(b), len(again))
			}
			if format == "pdf" && (!bytes.HasPrefix(a, []byte("%PDF")) || bytes.Count(a, []byte("Date (D:20000101000000)")) != 2) {
				t.Errorf("%s: %.20q is no PDF with two fixed dates", name, a)
			}
		}
	}
}

func TestSVGsNameThemselvesAndTheirFonts(t *testing.T) {
	for name, f := range all(t) {
		svg := write(t, f, "svg")
		count, texts := elements(t, svg)
		if count["title"] != 1 || texts[0] != f.title || !bytes.Contains(svg, []byte(`aria-label="`)) {
			t.Errorf("%s: %d titles, first text %q, want %q", name, count["title"], texts[0], f.title)
		}
		if !bytes.Contains(svg, []byte("sans-serif")) || bytes.Contains(svg, []byte("font-family:")) {
			t.Errorf("%s: want one list of fonts with a fallback, for all texts", name)
		}
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s holds a coordinate that is no number", name)
		}
	}
}

func TestPNGsHaveTwoPixelsForEachOfAScreen(t *testing.T) {
	for name, f := range all(t) {
		img := must.Get(png.Decode(bytes.NewReader(write(t, f, "png"))))(t)
		want := image.Pt(int(math.Round(float64(f.width/vg.Inch)*192)), int(math.Round(float64(f.height/vg.Inch)*192)))
		if img.Bounds().Size() != want {
			t.Errorf("%s is of %v pixels, want %v", name, img.Bounds().Size(), want)
		}
		if share := inked(img); share < .01 || share > .9 {
			t.Errorf("%s: %.1f %% of the pixels are not white", name, 100*share)
		}
		if img.At(0, 0) != (color.RGBA{255, 255, 255, 255}) {
			t.Errorf("%s: corner is %v, want white", name, img.At(0, 0))
		}
	}
}

// inked returns the fraction of pixels that are not white.
func inked(img image.Image) float64 {
	n, size := 0, img.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			if r, g, b, _ := img.At(x, y).RGBA(); min(r, g, b) < 0xf000 {
				n++
			}
		}
	}
	return float64(n) / float64(size.X*size.Y)
}

func TestUnknownFormatsAreRefused(t *testing.T) {
	f := must.Get(CDF([]Line{{Name: "a"}}))(t)
	want := `write figure: format "gif", want one of svg, png, pdf`
	if err := f.Write(io.Discard, "gif"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestNoDataPanics checks that, for any names and numbers, a figure is drawn in every format or its function returns an error.
func TestNoDataPanics(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 2), rapid.Float64Range(0, 1e7),
		rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Inf(1), 1e-300, 1e149, math.MaxFloat64}))
	odd := []string{"", "a\nb", "\x00", "−…’€", "very" + strings.Repeat(" long", 50)}
	name := rapid.OneOf(rapid.String(), rapid.SampledFrom(odd))
	line := rapid.Custom(func(t *rapid.T) Line {
		n := rapid.IntRange(0, 4).Draw(t, "points")
		l := Line{Name: name.Draw(t, "name")}
		for range n {
			l.X = append(l.X, number.Draw(t, "x"))
			l.Y = append(l.Y, number.Draw(t, "y"))
		}
		if rapid.Bool().Draw(t, "distribution") {
			for i := range l.Y {
				l.X[i], l.Y[i] = math.Abs(l.X[i]), rapid.Float64Range(0, 1).Draw(t, "share")
			}
			slices.Sort(l.X)
			slices.Sort(l.Y)
		}
		return l
	})
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(line, 0, 3).Draw(t, "lines")
		var f *Figure
		var err error
		switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); kind {
		case 0:
			f, err = CDF(lines)
		case 1:
			f, err = Curves("mean JCT", lines, rapid.SliceOfN(line, 0, 3).Draw(t, "points"))
		default:
			var names []string
			var diffs []eval.Difference
			for i := range lines {
				names = append(names, lines[i].Name)
				d := func() eval.Number { return eval.Number(number.Draw(t, "difference")) }
				diffs = append(diffs, eval.Difference{Mean: d(), Lo: d(), Hi: d()})
			}
			f, err = Differences(names, diffs, rapid.SampledFrom([]string{"s", "", "%", "servers"}).Draw(t, "unit"))
		}
		if err != nil {
			return
		}
		for _, format := range Formats() {
			var b bytes.Buffer
			must.Do(t, f.Write(&b, format))
			if format == "svg" && xml.Unmarshal(b.Bytes(), new(struct{})) != nil {
				t.Fatalf("no XML: %q", b.Bytes())
			}
			if format == "svg" && (bytes.Contains(b.Bytes(), []byte(`="NaN`)) || bytes.Contains(b.Bytes(), []byte("NaN,"))) {
				t.Fatalf("a coordinate is no number in %s", b.Bytes())
			}
		}
	})
}
