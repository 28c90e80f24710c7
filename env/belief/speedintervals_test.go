package belief

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
)

// world draws the coefficients of jobs.
type world struct{ *rand.Rand }

func (w world) near(mean, sd *vector, weight float64) vector {
	c, f := *mean, correlated(sd)
	f.factor()
	for k := range f {
		z := math.Sqrt(weight) * w.NormFloat64()
		for i := k; i < effects; i++ {
			c[i] += f[i][k] * z
		}
	}
	return c
}

// sensible makes drawn coefficients possible.
func (world) sensible(c vector) vector {
	var one matrix
	for i := range one {
		one[i][i] = 1
	}
	sensible(&c, &one)
	return c
}

// changed changes one thing in a configuration.
func (w world) changed(c cluster.Configuration) cluster.Configuration {
	switch w.IntN(5) {
	case 0, 1:
		c.CPUMilli = []int32{500, 1000, 2000, 4000, 6000, 12000}[w.IntN(6)]
	case 2:
		c.Shared = !c.Shared
	case 3:
		c.GPUType = []string{"", "P100", "T4"}[w.IntN(3)]
	case 4:
		c.Racks = 1 + c.Racks%2
	}
	return c
}

// TestIntervalsOfSpeeds checks that in a toy cluster whose jobs differ from others of their user by twice the variance that
// Speeds believes in, which is about what they do in the built-in scenarios, about 80 % of the true speeds are in the
// intervals that should contain 80 %: before the job was read, and after one and two readings.
func TestIntervalsOfSpeeds(t *testing.T) {
	w := world{rand.New(rand.NewPCG(7, 8))}
	var in, all [3]float64
	for range 150 {
		const jobs = 60
		c, l := newToy(t, jobs), NewSpeeds(true)
		l.types = []string{"P100", "T4"}
		request := amount(3)
		mean, sd := l.prior(request.CPUMilli, 1)
		everyone := w.near(&mean, &sd, 1)
		var users [5]vector
		for i := range users {
			users[i] = w.near(&everyone, &deviation, 1)
		}
		for range jobs {
			u := w.IntN(len(users))
			id := c.submit(cluster.JobSpec{User: fmt.Sprint(u), Request: request})
			spec, truth, unit := c.Spec(id), w.sensible(w.near(&users[u], &deviation, 2)), 3*w.NormFloat64()
			at := as(spec, 3)
			for n := range 1 + w.IntN(3) {
				at = w.changed(at)
				x, _, _ := l.relative(&c.View, spec, &at)
				y := x.times(&truth)
				if x != (vector{}) {
					mean, sd := l.Of(&c.View, spec, &at)
					if all[n]++; math.Abs(y-mean) <= 1.2816*sd {
						in[n]++
					}
				}
				c.read(id, at, math.Exp(unit+y+math.Sqrt(readingVariance)*w.NormFloat64()))
				l.Read(&c.View, id)
			}
		}
	}
	for n := range in {
		t.Logf("after %d readings, the intervals contain %.3f of %.0f speeds", n, in[n]/all[n], all[n])
	}
	if share := (in[0] + in[1] + in[2]) / (all[0] + all[1] + all[2]); share < 0.78 || share > 0.82 {
		t.Errorf("the intervals contain %.3f of the speeds, want 0.78 to 0.82", share)
	}
}

// TestWidthsAdapt checks that intervals contain about 80 % of the readings in the long run, also where readings are far less or far
// more exact than Speeds believes.
func TestWidthsAdapt(t *testing.T) {
	for _, noise := range []float64{0.02, 0.3} {
		const jobs = 1000
		w, c, l, in := world{rand.New(rand.NewPCG(3, 4))}, newToy(t, jobs), NewSpeeds(true), 0.0
		for n := range jobs {
			id := c.submit(cluster.JobSpec{User: "ada", Request: amount(3)})
			for i, cores := range []float64{3, 4} {
				y := 0.5*math.Log(cores) + noise*w.NormFloat64()
				at := as(c.Spec(id), cores)
				if mean, sd, ok := l.Next(&c.View, c.Spec(id), &at); ok != (i > 0) {
					t.Fatalf("a job with %d readings: %v", i, ok)
				} else if ok && n >= jobs/2 && math.Abs(y-mean) <= 1.2816*sd {
					in++
				}
				c.read(id, at, math.Exp(y))
				l.Read(&c.View, id)
			}
		}
		if share := in / (jobs / 2); share < 0.76 || share > 0.84 {
			t.Errorf("with noise %v the intervals contain %.3f of the readings, want 0.76 to 0.84", noise, share)
		}
		if l.Forget(); l.width != 0 {
			t.Error("the width is not forgotten")
		}
	}
}
