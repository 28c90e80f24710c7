package inference_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
	"pgregory.net/rapid"
)

func TestWhatPredictorsSay(t *testing.T) {
	us := []float64{0.1, 0.3, 0.2, 0.6}
	for _, c := range []struct {
		p    inference.Predictor
		want []float64
	}{
		{inference.NewLastValue(), []float64{0, 0.1, 0.3, 0.2}},
		{inference.NewEWMA(0.5), []float64{0, 0.1, 0.2, 0.2}},
		{inference.NewEWMA(1), []float64{0, 0.1, 0.3, 0.2}},
		{inference.NewSeasonal(day / 2), []float64{0, 0.1, 0.1, 0.3}},
		{inference.NewAutoregressive(inference.AR{Bias: 1, Weights: []float64{2, -1}}), []float64{0, 1.1, 1.5, 1.1}},
		{inference.NewOracle(us), us},
	} {
		for range 2 { // the second round is after a Reset
			got := inference.Forecast(c.p, us)
			for i, want := range c.want {
				if i == 0 {
					want = 0
				}
				if math.Abs(got[i]-want) > 1e-12 {
					t.Errorf("%s says %v, want %v", c.p.Name(), got, c.want)
					break
				}
			}
		}
	}
}

// TestFitARRecoversTheModel checks that FitAR recovers the model that generated a series.
func TestFitARRecoversTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Roots inside the unit circle keep the series bounded; two pairs keep it moving.
		a, b := rapid.Float64Range(-0.7, 0.7).Draw(t, "root"), rapid.Float64Range(-0.7, 0.7).Draw(t, "other root")
		model := inference.AR{Bias: 0.2, Weights: []float64{a + b, -a * b}}
		r := rng.Stream(rapid.Uint64().Draw(t, "seed"))
		s := inference.Series{Step: five, Filled: make([]bool, 4000)}
		u := []float64{5, 5}
		for i := range s.Filled {
			next := model.Bias + model.Weights[0]*u[i+1] + model.Weights[1]*u[i] + 0.3*r.NormFloat64()
			u = append(u, max(next, -4))
		}
		shift := 5.0 // keeps the rates above 0
		for _, v := range u[2:] {
			s.Values = append(s.Values, v+shift)
		}
		for i := 100; i < 4000; i += 100 { // filled values must not count
			s.Values[i], s.Filled[i] = 1000, true
		}
		got := must.Get(inference.FitAR(s, 2))(t)
		bias := model.Bias + shift*(1-model.Weights[0]-model.Weights[1])
		far := func(a, b, most float64) bool { return math.Abs(a-b) > most }
		if far(got.Weights[0], model.Weights[0], 0.1) || far(got.Weights[1], model.Weights[1], 0.1) || far(got.Bias, bias, 1) {
			t.Fatalf("fits %+v, want %+v with bias %g", got, model, bias)
		}
	})
}

func TestBadFitAR(t *testing.T) {
	long := inference.Series{Step: five, Values: make([]float64, 100)}
	for _, c := range []struct {
		s     inference.Series
		order int
		want  string
	}{
		{inference.Series{}, 2, "step 0s"},
		{long, 0, "order 0, want 1 to 1000"},
		{long, 80, "20 runs of 81 measured samples, want at least 162"},
	} {
		if _, err := inference.FitAR(c.s, c.order); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q in it", err, c.want)
		}
	}
	if m, err := inference.FitAR(long, 5); err != nil || m.Bias != 0 || slices.Max(m.Weights) != 0 {
		t.Errorf("a series of zeros gives %+v, %v", m, err)
	}
}

func TestMistakesPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"weight 0":         func() { inference.NewEWMA(0) },
		"steps of 7 hours": func() { inference.NewSeasonal(day/24*7 + 1) },
		"no weights":       func() { inference.NewAutoregressive(inference.AR{}) },
	} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "inference: ") {
					t.Errorf("%s: panics with %q", name, s)
				}
			}()
			f()
		}()
	}
}
