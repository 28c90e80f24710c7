package sim_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"pgregory.net/rapid"
)

// drawCluster draws a few servers of different kinds, quotas, and limits on what schedulers may do.
func drawCluster(t *rapid.T) cluster.Spec {
	spec := cluster.Uniform(rapid.IntRange(1, 5).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs"))
	spec.PerGPU = rapid.SampledFrom([]int32{0, 0, 1, 2}).Draw(t, "jobs per GPU")
	spec.NoPreemption = rapid.IntRange(0, 5).Draw(t, "preemption forbidden") == 0
	if rapid.IntRange(0, 2).Draw(t, "with quotas") == 0 {
		spec.Quotas = []cluster.Quota{
			{Tenant: "ann", GPUs: rapid.Int32Range(0, 6).Draw(t, "quota")}, {Tenant: "", GPUs: rapid.Int32Range(1, 12).Draw(t, "quota")},
		}
	}
	types := rapid.SampledFrom([]string{"", "T4", "V100 T4", "K80 A100 X9", "V100 P100"}).Draw(t, "GPU types")
	racks := rapid.Int32Range(0, 2).Draw(t, "racks")
	modelled := rapid.Bool().Draw(t, "memory on GPUs")
	for i := range spec.Servers {
		v := &spec.Servers[i]
		if types != "" {
			v.GPUType = rapid.SampledFrom(strings.Fields(types)).Draw(t, "GPU type")
		}
		v.Rack = rapid.Int32Range(0, racks).Draw(t, "rack")
		if modelled {
			v.GPUMemMiB = rapid.SampledFrom([]int32{0, 16 << 10, 32 << 10}).Draw(t, "MiB a GPU")
		}
		switch rapid.IntRange(0, 9).Draw(t, "kind of server") {
		case 0:
			v.GPUs = 0
		case 1:
			v.CPUMilli, v.MemMiB = 9000, 200_000
		case 2:
			v.Name = fmt.Sprintf("\"rack\" <%d>\\", i)
		case 3, 4, 5:
			v.Pool = cluster.Inference
		}
	}
	return spec
}

// drawPhysics draws any combination of parts with random parameters, sometimes none or all of them.
func drawPhysics(t *rapid.T) physics.Model {
	number := func(name string, values ...float64) float64 { return rapid.SampledFrom(values).Draw(t, name) }
	gb := []float64{0.1, 1.25, 12.5, 100}
	parts := []physics.Part{
		physics.GPUType{}, physics.CPUMem{}, physics.Scaling{},
		physics.InterServer{Penalty: number("penalty", 0, 1./3, 0.5, 2)},
		physics.Sharing{Strength: number("strength", 0, 0.3, 1, 3)},
		physics.Diminishing{Gain: number("gain", 0.01, 0.8, 1)},
		physics.NewNetwork(number("intra", gb...), number("nic", gb...), number("uplink", gb...)),
		physics.Jitter{Sigma: number("sigma", 0, 0.15, 1)}, physics.Power{Watts: number("watts", 1, 400, 1000, 1e5)},
		physics.NewInterleaved(12.5, 1.25, number("shared uplink", gb...)),
	}
	chosen := rapid.Uint16().Draw(t, "parts")
	switch rapid.IntRange(0, 5).Draw(t, "none or all") {
	case 0:
		chosen = 0
	case 1:
		chosen = math.MaxUint16
	}
	some := parts[:0]
	for i, p := range parts {
		if chosen>>i&1 == 1 {
			some = append(some, p)
		}
	}
	return physics.Compose(some...)
}
