package physics_test

import (
	"math"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// TestIterationSeconds checks iteration times computed by hand, with 12.5 GB/s between GPUs of a server and 1.25 GB/s per NIC, so
// 1/8 of that per GPU.
func TestIterationSeconds(t *testing.T) {
	const model = "gpt2-1.5b"
	f := profile.Lookup(model)
	c, params, act, layers := f.ComputeSeconds(), f.ParamBytes(), f.ActivationBytes(), float64(f.Layers())
	const intra, perGPU = 12.5e9, 1.25e9 / 8
	for _, k := range []struct {
		name string
		spec cluster.JobSpec
		want float64
	}{
		{"no model", cluster.JobSpec{Workers: 4}, 1},
		{"a model that is not known", cluster.JobSpec{Model: "hal-9000", Workers: 4}, 1},
		{"one worker", cluster.JobSpec{Model: model, Workers: 1}, c},
		{"two replicas on a server", cluster.JobSpec{Model: model, Workers: 2}, c + params/intra},
		{"two full servers of replicas, whose ring leaves each once", cluster.JobSpec{Model: model, Workers: 16},
			c + 2*15./16*params/(8*perGPU)},
		{"two stages", cluster.JobSpec{Model: model, Workers: 2, Stages: 2}, c/2 + 2*act/intra},
		{"a tensor-parallel pair", cluster.JobSpec{Model: model, Workers: 2, Tensor: 2}, c/2 + 4*act*layers/intra},
		{"a gang that no pipeline can be made of", cluster.JobSpec{Model: model, Workers: 2, Stages: 3}, 1},
	} {
		if got := physics.IterationSeconds(&k.spec); math.Abs(got-k.want) > 1e-9*k.want {
			t.Errorf("%s: %v, want %v", k.name, got, k.want)
		}
	}
}
