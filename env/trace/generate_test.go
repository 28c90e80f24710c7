package trace

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
	"pgregory.net/rapid"
)

// TestGenerateIsPinned checks that a seed still gives the same workload as ever, because published results refer to it.
func TestGenerateIsPinned(t *testing.T) {
	w := must.Get(Generate(Default(), 6, 1))(t)
	var out strings.Builder
	must.Do(t, WriteNative(&out, w.Jobs))
	const want = nativeHeader + `
0,8,55,72,user-64,,1000,1000,0,passed,,,,,,,,,
1,8,74,70,user-64,,1000,1000,0,killed,,,,,,,,,
2,8,317,74,user-64,,1000,1000,0,killed,,,,,,,,,
3,8,333,73,user-64,,1000,1000,0,passed,,,,,,,,,
4,1,936,427,user-64,,1000,1000,0,passed,,,,,,,,,
5,1,1034,27,user-15,,1000,1000,0,passed,,,,,,,,,
`
	if out.String() != want {
		t.Errorf("seed 1 draws\n%s, want\n%s", out.String(), want)
	}
}

// TestGenerate checks for any seed and number of jobs that jobs are valid and arrive in order, that a longer draw begins with a
// shorter one, and that another seed gives another workload.
func TestGenerate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]Params{Default(), Philly()}).Draw(t, "params")
		p.Arrivals.PerDay = rapid.Float64Range(10, 1e6).Draw(t, "per day")
		p.Arrivals.CV = rapid.Float64Range(.05, 5).Draw(t, "cv")
		n := rapid.IntRange(1, 60).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		long := must.Get(Generate(p, n, seed))(t)
		for i := range long.Jobs {
			j := &long.Jobs[i]
			must.Do(t, checkNative(j))
			if i > 0 && j.Submit < long.Jobs[i-1].Submit {
				t.Fatalf("job %d arrives at %v, before the job before it", i, j.Submit)
			}
			if j.Work.Seconds() > p.class(j.Workers).Max {
				t.Fatalf("job %d runs %v, more than %v s", i, j.Work, p.class(j.Workers).Max)
			}
		}
		m := rapid.IntRange(1, n).Draw(t, "m")
		short, err := Generate(p, m, seed)
		if err != nil || !slices.Equal(short.Jobs, long.Jobs[:m]) {
			t.Fatalf("the first %d of %d jobs differ from a draw of %d, %v", m, n, m, err)
		}
		if other, _ := Generate(p, n, seed+1); slices.Equal(other.Jobs, long.Jobs) && n > 3 {
			t.Fatal("two seeds draw the same")
		}
	})
}

// TestWithLoad checks that WithLoad sets the expected load, and that draws have this load on average.
func TestWithLoad(t *testing.T) {
	p := must.Get(Default().WithLoad(.9, 256))(t)
	if got := p.load(256); math.Abs(got-.9) > 1e-9 {
		t.Errorf("load %v, want 0.9", got)
	}
	var hours, span float64
	for seed := range uint64(8) {
		w := must.Get(Generate(p, 10_000, seed))(t)
		s := Describe(w.Jobs)
		hours, span = hours+s.GPUHours, span+s.Span.Hours()
	}
	if got := hours / (span * 256); math.Abs(got-.9) > .2 {
		t.Errorf("eight draws have load %.3f, want 0.9", got)
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := Default().WithLoad(bad, 256); err == nil {
			t.Errorf("scaled to load %v", bad)
		}
	}
	if _, err := Default().WithLoad(1, 0); err == nil {
		t.Error("scaled to no GPUs")
	}
}

// TestGamma checks the mean and the variance of the gamma draws for shapes below and above 1.
func TestGamma(t *testing.T) {
	r := rng.Stream(1)
	for _, shape := range []float64{.1, .5, 1, 4} {
		x := make([]float64, 100_000)
		for i := range x {
			x[i] = gamma(r, shape)
		}
		mean, sd := meanSD(x)
		if math.Abs(mean/shape-1) > .05 || math.Abs(sd*sd/shape-1) > .1 {
			t.Errorf("shape %v: mean %.3f, variance %.3f", shape, mean, sd*sd)
		}
	}
}

// TestMixture checks that quantile inverts cdf, and that mean is the mean over quantile.
func TestMixture(t *testing.T) {
	for _, p := range []Params{Default(), Philly()} {
		for _, d := range p.Durations {
			const n = 20_000
			var sum float64
			for i := range n {
				u := (float64(i) + .5) / n
				x := d.Quantile(u)
				sum += math.Exp(x) / n
				if got := d.CDF(x); math.Abs(got-u) > 1e-6 && x < math.Log(d.Max)-1e-9 {
					t.Fatalf("class %d: quantile %v has %v below", d.MaxWorkers, u, got)
				}
			}
			if math.Abs(sum/d.mean()-1) > .01 {
				t.Errorf("class %d: mean %v, by quantiles %v", d.MaxWorkers, d.mean(), sum)
			}
		}
	}
}

// TestParamsFile checks that parameters survive writing and reading, and that an error about invalid parameters names the field.
func TestParamsFile(t *testing.T) {
	var out bytes.Buffer
	must.Do(t, Default().Write(&out))
	if !bytes.Equal(out.Bytes(), defaultYAML) {
		t.Error("default.yaml changes when read and written")
	}
	text := out.String()
	for _, c := range []struct{ what, from, to, want string }{
		{"unknown key", "per_day:", "per_hour:", "field per_hour not found"},
		{"no arrivals", "per_day: ", "per_day: -", "arrivals.per_day"},
		{"a rate that is no number", "cv: ", "cv: .nan #", "arrivals.cv is NaN"},
		{"hours missing", "hourly: [", "hourly: [1, ", "want 24 rates"},
		{"negative share", "share: ", "share: -", "sizes[0].share"},
		{"gang above every class", "- workers: 1\n", "- workers: 1000\n", "sizes[0].workers is 1000"},
		{"no users", "count: ", "count: -", "users.count"},
		{"a point for a distribution", "sigma: ", "sigma: 0 #", "durations[0].mixture[0]"},
		{"a second document", "name: ", "---\nname: a\n---\nname: ", ""},
	} {
		_, err := parseParams([]byte(strings.Replace(text, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	if _, err := Generate(Params{}, 1, 1); err == nil {
		t.Error("generated out of nothing")
	}
	if _, err := Generate(Default(), 0, 1); err == nil {
		t.Error("generated no jobs")
	}
}
