// Package critic is the central critic of PPO: a network that estimates, from the state of the whole cluster, what the team will
// save relative to its prior. It exists in training only, and a policy's bundle does not contain it.
//
// The network embeds the row of every server and of every job, pools servers and jobs by mean and maximum (Zaheer et al., Deep
// Sets, 2017), joins the pools with the features of the state as a whole, and computes one number by two hidden layers. The
// number depends neither on the order of servers and jobs nor, through the weights, on how many there are.
//
// The files: critic.go defines shape, weights and which layer feeds which; net.go computes the number in plain Go; machine.go
// computes it and its gradients with Gorgonia, on the same kernels; target.go normalises what the network learns.
package critic

import (
	"fmt"
	"math/rand/v2"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Shape determines the network and its weights.
type Shape struct {
	Server, Job int // numbers of features of a server and of a job
	Features    int // number of features of the state as a whole
	Hindsight   int // how many of these, the last ones, are no part of the observation: see Shrink
	Width       int // of all hidden layers
}

func (s Shape) validate() error {
	if min(s.Server, s.Job, s.Width) < 1 || s.Hindsight < 0 || s.Features < s.Hindsight {
		return fmt.Errorf("critic of shape %+v, want 1 or more of each, and no negative number of features", s)
	}
	return nil
}

// State is what the critic sees.
type State struct {
	*agents.Observation           // of which it reads the rows of servers and of jobs
	Features            []float32 // [Shape.Features]
}

// layers are the operations of the network. V is numbers in plain Go and a node in a Gorgonia graph.
type layers[V any] interface {
	servers() V
	jobs() V
	// dense computes the dense layer of the given name: see Layout.
	dense(x V, name string, act kernel.Activation) V
	// pool joins the pooled rows with the features of the state: see attention.Pool.
	pool(servers, jobs V) V
}

// Names of the layers.
const (
	serverLayer = "critic.server"
	jobLayer    = "critic.job"
	firstLayer  = "critic.first"
	secondLayer = "critic.second"
	valueLayer  = "critic.value"
)

// walk computes the network's number. It is the only place that defines which layer feeds which.
func walk[V any](l layers[V]) V {
	h, y := l.dense(l.servers(), serverLayer, kernel.ReLU), l.dense(l.jobs(), jobLayer, kernel.ReLU)
	u := l.dense(l.pool(h, y), firstLayer, kernel.ReLU)
	return l.dense(l.dense(u, secondLayer, kernel.ReLU), valueLayer, kernel.None)
}

// Layout returns the weights of a network, all zero: for each layer the weights [in,out], whose name ends in ".w", and the biases
// [out], whose name ends in ".b".
func Layout(s Shape) agents.Params {
	var p agents.Params
	for _, l := range []struct {
		name    string
		in, out int
	}{
		{serverLayer, s.Server, s.Width}, {jobLayer, s.Job, s.Width}, {firstLayer, 4*s.Width + s.Features, s.Width},
		{secondLayer, s.Width, s.Width}, {valueLayer, s.Width, 1},
	} {
		p = append(p, agents.Param{Name: l.name + ".w", Shape: []int{l.in, l.out}, Data: make([]float32, l.in*l.out)},
			agents.Param{Name: l.name + ".b", Shape: []int{l.out}, Data: make([]float32, l.out)})
	}
	return p
}

// Init returns the weights of an untrained network: normal with variance 2/in (He et al., 2015), and 0 in the last layer, so that
// the network's number is 0.
func Init(s Shape, r *rand.Rand) agents.Params {
	p := Layout(s)
	for i := 0; i < len(p)-2; i += 2 {
		kernel.Draw(p[i].Data, kernel.He(p[i].Shape[0]), r)
	}
	return p
}

// Shrink multiplies the weights through which an observation enters the network: those of the rows of servers and jobs, and in
// the first hidden layer those of all inputs but hindsight. Called after every step of the optimiser, it is decoupled weight
// decay (Loshchilov and Hutter, 2019). An update has only a few episodes, and without decay the network would learn their
// observations by heart.
func Shrink(s Shape, p agents.Params, by float64) {
	first := p[find(p, firstLayer)].Data
	first = first[:len(first)-s.Hindsight*s.Width]
	for _, w := range [][]float32{p[find(p, serverLayer)].Data, p[find(p, jobLayer)].Data, first} {
		for i, v := range w {
			w[i] = float32(float64(v) * by)
		}
	}
}

// find returns the index of the weights of a layer; its biases are next.
func find(p agents.Params, layer string) int {
	for i := range p {
		if p[i].Name == layer+".w" {
			return i
		}
	}
	panic("critic: no layer " + layer)
}
