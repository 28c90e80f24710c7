package main

import (
	"math"
	"math/rand/v2"
)

const hidden = 32 // number of hidden units of a network

// net maps a row of numbers to one number by a layer of tanh units and a linear layer. Its gradients are computed by hand, and
// Adam (Kingma and Ba, ICLR 2015) trains it.
type net struct {
	in     int
	params []float64 // hidden weights of each input, hidden biases, hidden weights of the output, its bias
	grad   []float64 // like params: gradients that backward has added up since the last step
	m, v   []float64 // like params: Adam's means of the gradient and of its square
	steps  float64
}

// newNet draws the weights. last is a factor on those of the output.
func newNet(in int, last float64, draw *rand.Rand) *net {
	size := in*hidden + 2*hidden + 1
	n := &net{in: in}
	for _, s := range []*[]float64{&n.params, &n.grad, &n.m, &n.v} {
		*s = make([]float64, size)
	}
	for i := range n.params[:in*hidden] {
		n.params[i] = draw.NormFloat64() / math.Sqrt(float64(in)/4)
	}
	_, _, out, _ := n.layers(n.params)
	for i := range out {
		out[i] = last * draw.NormFloat64() / math.Sqrt(hidden)
	}
	return n
}

// layers divides params, or a slice of the same layout, into its parts.
func (n *net) layers(p []float64) (weights, biases, out []float64, bias *float64) {
	k := n.in * hidden
	return p[:k], p[k : k+hidden], p[k+hidden : k+2*hidden], &p[k+2*hidden]
}

// forward returns the output for a row. It stores in units what backward needs.
func (n *net) forward(row []float64, units *[hidden]float64) float64 {
	weights, biases, out, bias := n.layers(n.params)
	copy(units[:], biases)
	for i, x := range row {
		if x == 0 {
			continue // most features are 0 most of the time
		}
		for k, w := range weights[i*hidden : (i+1)*hidden] {
			units[k] += w * x
		}
	}
	y := *bias
	for k := range units {
		units[k] = math.Tanh(units[k])
		y += out[k] * units[k]
	}
	return y
}

// backward adds the gradient of a loss to grad; slope is the derivative of the loss with respect to the output.
func (n *net) backward(row []float64, units *[hidden]float64, slope float64) {
	_, _, out, _ := n.layers(n.params)
	weights, biases, outs, bias := n.layers(n.grad)
	*bias += slope
	var inner [hidden]float64
	for k, u := range units {
		outs[k] += slope * u
		inner[k] = slope * out[k] * (1 - u*u)
		biases[k] += inner[k]
	}
	for i, x := range row {
		if x == 0 {
			continue
		}
		w := weights[i*hidden : (i+1)*hidden]
		for k := range inner {
			w[k] += inner[k] * x
		}
	}
}

// step moves the parameters down the gradient, whose length is clipped to the parameter most, and clears the gradient.
func (n *net) step(rate, most float64) {
	length := 0.0
	for _, g := range n.grad {
		length += g * g
	}
	clip := min(1, most/(math.Sqrt(length)+1e-6))
	n.steps++
	first, second := 1-math.Pow(0.9, n.steps), 1-math.Pow(0.999, n.steps)
	for i, g := range n.grad {
		g *= clip
		n.m[i] += 0.1 * (g - n.m[i])
		n.v[i] += 0.001 * (g*g - n.v[i])
		n.params[i] -= rate * n.m[i] / first / (math.Sqrt(n.v[i]/second) + 1e-5)
	}
	clear(n.grad)
}
