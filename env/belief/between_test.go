package belief

import (
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

// TestBetween checks that the change of speed from the configuration that a job asked for is its speed, that there is none from a
// configuration to itself, and that the way back is the inverse.
func TestBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, l := newToy(t, 7), NewSpeeds(true)
		drawReadings(t, c, l)
		spec := drawSpec(t)
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*(1+math.Abs(a)) }
		between := func(from, to cluster.Configuration) (mean, sd float64) { return l.Between(&c.View, &spec, &from, &to) }
		asked := cluster.Configuration{Workers: spec.Workers, Amount: spec.Request, Servers: (spec.Workers + 7) / 8}
		a, b := drawConfiguration(t), drawConfiguration(t)
		mean, sd := between(asked, a)
		if m, s := l.Of(&c.View, &spec, &a); !near(mean, m) || !near(sd, s) {
			t.Fatalf("from as it asked: %v and %v, want its speed, %v and %v", mean, sd, m, s)
		}
		mean, sd = between(a, b)
		back, same := between(b, a)
		if math.Abs(mean) < -slowest && math.Abs(back) < -slowest && !near(mean, -back) || !near(sd, same) {
			t.Fatalf("there %v and %v, back %v and %v", mean, sd, back, same)
		}
		a.Servers = 1 // where a gang lies on more servers than it needs, speeds differ by which
		if mean, sd = between(a, a); mean != 0 || sd != 0 {
			t.Fatalf("to itself: %v and %v", mean, sd)
		}
	})
}

// TestSpread checks the spread of a run time that is equally likely anywhere in one bin, and that it is greater where two bins that
// are far apart are equally likely.
func TestSpread(t *testing.T) {
	var one, two Distribution
	var weights [Bins]float64
	weights[20] = 1
	one.Set(&weights)
	weights[40] = 1
	two.Set(&weights)
	from, width := starts[20], widths[20]
	want := math.Log((from+0.9*width)/(from+0.1*width)) / 2.56
	if got := one.Spread(0); math.Abs(got-want) > 1e-6 {
		t.Errorf("spread %v of run times in one bin, want %v", got, want)
	}
	if a, b := one.Spread(0), two.Spread(0); b < a+1 {
		t.Errorf("spread %v of two bins, %v of one", b, a)
	}
	if early, late := two.Spread(0), two.Spread(time.Duration(starts[30])); late > early/2 {
		t.Errorf("spread %v at first and %v of a job that has outlived the first bin, want much less", early, late)
	}
}
