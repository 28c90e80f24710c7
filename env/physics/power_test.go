package physics_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/must"
)

// TestPowerByHand checks the factor of power against values computed by hand, on two racks of two servers of 2 GPUs. A V100 draws
// 45 W idle and 255 W more with a language model, 204 W more with an image model. So a rack draws 180 W idle and at most 1,200 W.
func TestPowerByHand(t *testing.T) {
	whole, half := cluster.Amount{GPUMilli: cluster.WholeGPU}, cluster.Amount{GPUMilli: 500}
	on := func(a cluster.Amount, servers ...cluster.ServerID) (p cluster.Placement) {
		for _, v := range servers {
			p = append(p, cluster.Piece{Server: v, Workers: 1, Amount: a})
		}
		return p
	}
	const large, image = "bert-large", "resnet50-64"
	type job struct {
		model string
		at    cluster.Placement
	}
	for _, c := range []struct {
		name  string
		watts float64
		jobs  []job
		want  []float64
	}{
		{"below the cap", 700, []job{{large, on(whole, 0)}, {large, on(whole, 0)}}, []float64{1, 1}}, // 180 + 2·255 = 690
		{"at the cap", 690, []job{{large, on(whole, 0)}, {large, on(whole, 1)}}, []float64{1, 1}},
		{"above the cap", 600, []job{{large, on(whole, 0)}, {large, on(whole, 1)}},
			[]float64{math.Cbrt(420. / 510), math.Cbrt(420. / 510)}},
		{"in different racks", 600, []job{{large, on(whole, 0)}, {large, on(whole, 2)}}, []float64{1, 1}},
		{"a lighter model slows less and is slowed as much", 600, []job{{large, on(whole, 0)}, {image, on(whole, 1)}},
			[]float64{math.Cbrt(420. / 459), math.Cbrt(420. / 459)}},
		{"a gang runs at its lowest clock", 600, []job{{large, on(whole, 0, 2)}, {image, on(whole, 1)}},
			[]float64{math.Cbrt(420. / 459), math.Cbrt(420. / 459)}},
		{"on one GPU the heavier counts", 400, []job{{large, on(half, 0)}, {image, on(half, 0)}},
			[]float64{math.Cbrt(220. / 255), math.Cbrt(220. / 255)}},
		{"on one GPU besides another", 600, []job{{image, on(half, 0)}, {large, on(half, 0)}, {large, on(whole, 0)}},
			[]float64{math.Cbrt(420. / 510), math.Cbrt(420. / 510), math.Cbrt(420. / 510)}},
		{"an unknown model", 430, []job{{"unheard of", on(whole, 0)}, {large, on(whole, 0)}}, []float64{1, math.Cbrt(250. / 255)}},
		{"a cap below idle power", 100, []job{{large, on(whole, 0)}}, []float64{0.1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := cluster.Uniform(4, 2)
			for i := range spec.Servers {
				spec.Servers[i].GPUType, spec.Servers[i].Rack = "V100", int32(i/2)+1
			}
			var specs []*cluster.JobSpec
			for i, j := range c.jobs {
				specs = append(specs, &cluster.JobSpec{
					Name: fmt.Sprint(i), Model: j.model, Workers: int32(len(j.at)), Request: j.at[0].Amount,
				})
			}
			s := state(t, spec, specs...)
			for i, j := range c.jobs {
				must.Do(t, s.Begin(nil).Place(cluster.JobID(i), j.at))
			}
			for i, want := range c.want {
				if got := (physics.Power{Watts: c.watts}).Factor(&s.View, cluster.JobID(i)); math.Abs(got-want) > 1e-12 {
					t.Errorf("job %d: %v, want %v", i, got, want)
				}
			}
		})
	}
}

// TestPowerNeedsRacks checks that servers outside racks have no cap.
func TestPowerNeedsRacks(t *testing.T) {
	spec := cluster.JobSpec{Name: "a", Model: "bert-large", Workers: 2, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}}
	s := state(t, cluster.Uniform(2, 1), &spec)
	must.Do(t, s.Begin(nil).Place(0, spread(spec.Request, 1, 1)))
	if got := (physics.Power{Watts: 1}).Factor(&s.View, 0); got != 1 {
		t.Errorf("%v, want 1", got)
	}
}
