package physics_test

import (
	"math"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/internal/must"
)

// TestNetworkByHand checks the factor of the network against values computed by hand, on servers of 4 GPUs, with 50 GB/s between
// GPUs of a server and 4 GB/s per NIC, so 1 per GPU.
func TestNetworkByHand(t *testing.T) {
	const intra, perGPU = 50e9, 1e9
	f := profile.Lookup("gpt2-1.5b")
	c, params, act, layers := f.ComputeSeconds(), f.ParamBytes(), f.ActivationBytes(), float64(f.Layers())
	// The tensor-parallel pair does four all-reduces in each layer, twice forward and twice backward; each GPU sends 2(k-1)/k = 1
	// times the bytes.
	pair := 4 * act * layers / intra
	for _, k := range []struct {
		name                    string
		workers, stages, tensor int32
		on                      []int32
		packed, placed          float64 // seconds of an iteration
	}{
		{"two replicas on one server", 2, 0, 0, []int32{2}, 1, 1},
		{"two replicas on two servers", 2, 0, 0, []int32{1, 1}, c + params/intra, c + params/perGPU},
		{"three replicas on two servers, the ring as slow as its narrowest NIC", 3, 0, 0, []int32{2, 1},
			c + 4./3*params/intra, c + 4./3*params/perGPU},
		{"two stages on two servers, activations forth and gradients back", 2, 2, 0, []int32{1, 1},
			c/2 + 2*act/intra, c/2 + 2*act/perGPU},
		{"two stages of two replicas, a stage on each server", 4, 2, 0, []int32{2, 2},
			// Each replica exchanges 2·2·act with the other stage; two replicas use the NIC shares of two GPUs.
			c/2 + 2*act/intra + params/2/intra, c/2 + 2*2*act/(2*perGPU) + params/2/intra},
		{"two replicas of a tensor-parallel pair, each on its server", 4, 0, 2, []int32{2, 2},
			c/2 + pair + params/(2*intra), c/2 + pair + params/(2*perGPU)},
	} {
		t.Run(k.name, func(t *testing.T) {
			s := must.Get(cluster.NewState(cluster.Uniform(4, 4), 1))(t)
			one := cluster.Amount{GPUMilli: cluster.WholeGPU}
			s.Submit(0, &cluster.JobSpec{
				Name: "a", Model: "gpt2-1.5b", Workers: k.workers, Stages: k.stages, Tensor: k.tensor, Request: one,
			})
			must.Do(t, s.Begin(nil).Place(0, spread(one, k.on...)))
			got, want := physics.NewNetwork(50, 4, 100).Factor(&s.View, 0), min(k.packed/k.placed, 1)
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}
