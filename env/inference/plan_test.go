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

func drawUsage(t *rapid.T) inference.Series {
	return inference.Series{Step: five, Values: rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 50).Draw(t, "usage")}
}

func drawPool(t *rapid.T) inference.Pool {
	return inference.Pool{
		Servers:  rapid.IntRange(1, 600).Draw(t, "servers"),
		Headroom: rapid.Float64Range(0, 1).Draw(t, "headroom"),
		Margin:   rapid.Float64Range(0, 2).Draw(t, "margin"),
	}
}

// drawPredictor draws any predictor except the oracle, with arbitrary weights.
func drawPredictor(t *rapid.T) inference.Predictor {
	return rapid.SampledFrom([]func() inference.Predictor{
		inference.NewLastValue,
		func() inference.Predictor { return inference.NewEWMA(0.3) },
		func() inference.Predictor { return inference.NewSeasonal(five) },
		func() inference.Predictor {
			return inference.NewAutoregressive(inference.AR{Bias: 0.1, Weights: []float64{1.4, -0.7}})
		},
	}).Draw(t, "predictor")()
}

// TestOfferLeavesReserveAndNeed checks that an offer leaves the reserve and the servers in use.
func TestOfferLeavesReserveAndNeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := drawPool(t)
		points := must.Get(inference.Plan(drawUsage(t), drawPredictor(t), pool))(t)
		for _, p := range points {
			if p.Offer < 0 || int(p.Offer) > pool.Servers-pool.Reserve() {
				t.Fatalf("offers %d of %d servers with %d in reserve", p.Offer, pool.Servers, pool.Reserve())
			}
			if p.Offer > 0 && 1000*int64(int(p.Offer)+pool.Reserve())+p.Need > 1000*int64(pool.Servers)+1 {
				t.Fatalf("offers %d of %d servers with %d in reserve and %d thousandths in use",
					p.Offer, pool.Servers, pool.Reserve(), p.Need)
			}
		}
	})
}

// TestOracleServesAll checks that the oracle leaves no demand unserved, even without headroom.
func TestOracleServesAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		usage, pool := drawUsage(t), drawPool(t)
		points := must.Get(inference.Plan(usage, inference.NewOracle(usage.Values), pool))(t)
		if o := inference.Account(points, pool.Servers, nil); o.Unserved > 0 || o.Short > 0 {
			t.Fatalf("%d steps short, %g unserved", o.Short, o.Unserved)
		}
	})
}

// TestMarginIsMonotone checks that a larger margin lends no more and leaves no more demand unserved.
func TestMarginIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		usage, predictor, pool := drawUsage(t), drawPredictor(t), drawPool(t)
		run := func() inference.Outcome {
			points := must.Get(inference.Plan(usage, predictor, pool))(t)
			return inference.Account(points, pool.Servers, nil)
		}
		small := run()
		pool.Margin += rapid.Float64Range(0, 1).Draw(t, "more")
		large := run()
		if large.Lent > small.Lent || large.Unserved > small.Unserved {
			t.Fatalf("margin up: %+v becomes %+v", small, large)
		}
	})
}

// TestPlanIsCausal checks that a plan does not look ahead: later samples change no earlier point. Samples that the predictor
// observed before Plan do not matter either.
func TestPlanIsCausal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		usage, predictor, pool := drawUsage(t), drawPredictor(t), drawPool(t)
		whole := must.Get(inference.Plan(usage, predictor, pool))(t)
		n := rapid.IntRange(1, len(usage.Values)).Draw(t, "first steps")
		part := must.Get(inference.Plan(usage.Slice(0, n), predictor, pool))(t)
		if !slices.Equal(part, whole[:n]) {
			t.Fatalf("%v of the first steps alone, %v with the rest", part, whole[:n])
		}
	})
}

func TestPlan(t *testing.T) {
	usage := inference.Series{Step: five, Values: []float64{0.5, 0.6, 0.95, 1, 0.4004}}
	points := must.Get(inference.Plan(usage, inference.NewLastValue(), inference.Pool{Servers: 100, Headroom: 0.02}))(t)
	want := []inference.Point{
		{0, 50000, 48}, {five, 60000, 38},
		{2 * five, 95000, 3}, {3 * five, 100000, 0}, {4 * five, 40040, 57},
	}
	if !slices.Equal(points, want) {
		t.Errorf("plan %v, want %v", points, want)
	}
	// In step 1, 48 of 100 servers are on loan, so 8 of 60 are short; then 33 of 95; then 3 of 100; then none.
	o := inference.Account(points, 100, nil)
	if o.Short != 3 || o.Steps != 4 || math.Abs(o.Unserved-(8+33+3)/(60+95+100+40.04)) > 1e-12 || o.Lent != (38+3+0+57)/4. {
		t.Errorf("account %+v", o)
	}
	o = inference.Account(points, 100, func(i int) bool { return i == 4 })
	if o.Short != 0 || o.Steps != 1 || o.Lent != 57 {
		t.Errorf("account of the last step %+v", o)
	}
}

func TestBadPlan(t *testing.T) {
	good := inference.Series{Step: five, Values: []float64{0.5}}
	for _, c := range []struct {
		name  string
		usage inference.Series
		pool  inference.Pool
		want  string
	}{
		{"no servers", good, inference.Pool{}, "0 servers, want 1 to"},
		{"too many servers", good, inference.Pool{Servers: 1 << 30}, "servers, want 1 to"},
		{"headroom above all", good, inference.Pool{Servers: 1, Headroom: 1.1}, "headroom 1.1, want 0 to 1"},
		{"no number for headroom", good, inference.Pool{Servers: 1, Headroom: math.NaN()}, "headroom NaN"},
		{"negative margin", good, inference.Pool{Servers: 1, Margin: -0.1}, "margin -0.1, want 0 to"},
		{"usage above the pool", inference.Series{Step: five, Values: []float64{0, 1.5}},
			inference.Pool{Servers: 1}, "usage 1.5 at 5m0s"},
		{"negative usage", inference.Series{Step: five, Values: []float64{-1}}, inference.Pool{Servers: 1}, "value -1 at 0"},
	} {
		_, err := inference.Plan(c.usage, inference.NewLastValue(), c.pool)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.name, err, c.want)
		}
	}
	// A diverging predictor makes the pool lend nothing or what the usage allows, never more.
	pool := inference.Pool{Servers: 100, Headroom: 0.02}
	for said, want := range map[float64]int32{math.Inf(1): 0, math.Inf(-1): 48, -5: 48, 1e300: 0} {
		if got := pool.Offer(0.5, said); got != want {
			t.Errorf("prediction %g: offers %d, want %d", said, got, want)
		}
	}
	if got := pool.Offer(0.5, math.NaN()); got != 0 {
		t.Errorf("a prediction that is no number: offers %d, want 0", got)
	}
}

// TestCalibrate checks that Calibrate returns a margin that meets the target on the given series, and that a smaller one does
// not.
func TestCalibrate(t *testing.T) {
	r := rng.Stream(5)
	u := inference.Series{Step: five, Values: make([]float64, 1000)}
	for i := range u.Values {
		u.Values[i] = 0.3 + 0.3*r.Float64()
	}
	const size = 1 << 20 // so large that rounding to whole servers is negligible
	p := inference.NewEWMA(0.5)
	m := must.Get(inference.Calibrate(u, p, 0.02, 0.001, 0))(t)
	unserved := func(margin float64) float64 {
		points := must.Get(inference.Plan(u, p, inference.Pool{Servers: size, Headroom: 0.02, Margin: margin}))(t)
		return inference.Account(points, size, nil).Unserved
	}
	if got := unserved(m); m <= 0 || got > 0.001+1e-7 {
		t.Errorf("margin %g leaves %g unserved, want 0.001", m, got)
	}
	if got := unserved(m - 0.001); got <= 0.001 {
		t.Errorf("margin %g leaves %g unserved, so %g is not the smallest", m-0.001, got, m)
	}
	if m, err := inference.Calibrate(u, inference.NewOracle(u.Values), 0.02, 0, 0); m != 0 || err != nil {
		t.Errorf("the oracle needs margin %g, %v", m, err)
	}
	u.Values = []float64{0, 0, 1}
	if _, err := inference.Calibrate(u, p, 0, 0, 0); err == nil {
		t.Error("usage out of nothing is covered by a margin of nothing")
	}
}
