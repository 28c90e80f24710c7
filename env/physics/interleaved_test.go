package physics_test

import (
	"math"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// pairs places gangs of two workers across both racks of a cluster of 2 servers of 4 GPUs, with 50 GB/s inside a server and 4
// GB/s per NIC, so 1 per GPU, and an uplink of 1 GB/s, which one gang can fill.
func pairs(t *testing.T, models ...string) *cluster.State {
	t.Helper()
	spec := cluster.Uniform(2, 4)
	for i := range spec.Servers {
		spec.Servers[i].Rack = int32(i) + 1
	}
	one := cluster.Amount{GPUMilli: cluster.WholeGPU}
	var specs []*cluster.JobSpec
	for _, m := range models {
		specs = append(specs, &cluster.JobSpec{Name: m, Model: m, Workers: 2, Request: one})
	}
	s := state(t, spec, specs...)
	for i := range models {
		must.Do(t, s.Begin(nil).Place(cluster.JobID(i), spread(one, 1, 1)))
	}
	return s
}

// TestInterleavedByHand checks factors against values computed by hand. A gang of two replicas exchanges the bytes of its
// parameters in each iteration, at 50 GB/s on one server, and at 1 GB/s alone on the uplink.
func TestInterleavedByHand(t *testing.T) {
	const short, long, intra, uplink = "resnet50-64", "gpt2-1.5b", 50e9, 1e9
	seconds := func(model string, fraction float64) float64 {
		f := profile.Lookup(model)
		return f.ComputeSeconds() + f.ParamBytes()/(uplink*fraction)
	}
	best := func(model string) float64 {
		f := profile.Lookup(model)
		return f.ComputeSeconds() + f.ParamBytes()/intra
	}
	busy := func(model string) float64 { return 1 - profile.Lookup(model).ComputeSeconds()/seconds(model, 1) }
	if busy(short) > 0.5 || busy(long) < 0.5 {
		t.Fatalf("%s communicates %v of its time, %s %v", short, busy(short), long, busy(long))
	}
	meet := (2*busy(long) - 1) / busy(long) // of two long gangs
	for _, c := range []struct {
		name   string
		models []string
		want   float64 // seconds of an iteration of the first gang
	}{
		{"alone", []string{short}, seconds(short, 1)},
		{"two whose communication fits between each other's", []string{short, short}, seconds(short, 1)},
		{"two whose communication does not fit", []string{long, long}, seconds(long, 1/(1+meet))},
		{"out of step, so they meet by chance", []string{short, long}, seconds(short, 1/(1+busy(long)))},
		{"three", []string{long, short, long}, seconds(long, 1/(1+meet+busy(short)))},
		{"beside one that sends nothing", []string{long, "unheard of"}, seconds(long, 1)},
	} {
		s, first := pairs(t, c.models...), c.models[0]
		got := physics.NewInterleaved(50, 4, 1).Factor(&s.View, 0)
		if want := best(first) / c.want; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

// TestInterleavedIsNeverSlowerThanTheNetwork checks that gangs which take turns on an uplink are at least as fast as gangs that
// all communicate at once, and as fast if nobody else uses their uplinks.
func TestInterleavedIsNeverSlowerThanTheNetwork(t *testing.T) {
	faster := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSpec(t, "a"), drawSpec(t, "b")
		spec := cluster.Uniform(4, 4)
		for i := range spec.Servers {
			spec.Servers[i].Rack = int32(i/2) + 1
		}
		gb := rapid.SampledFrom([]float64{0.3, 1, 4}).Draw(t, "uplink")
		all, turns := physics.NewNetwork(50, 4, gb), physics.NewInterleaved(50, 4, gb)
		s := state(t, spec, &a, &b)
		must.Do(t, s.Begin(nil).Place(0, scatter(t, &a)))
		if x, y := all.Factor(&s.View, 0), turns.Factor(&s.View, 0); math.Abs(x-y) > 1e-12 {
			t.Fatalf("alone %v with network, %v with turns", x, y)
		}
		if s.Begin(nil).Place(1, scatter(t, &b)) != nil {
			return
		}
		x, y := all.Factor(&s.View, 0), turns.Factor(&s.View, 0)
		if y < x*(1-1e-12) {
			t.Fatalf("%v with network, %v with turns", x, y)
		}
		if y > x*(1+1e-9) {
			faster++
		}
	})
	if faster == 0 {
		t.Error("turns never helped")
	}
}
