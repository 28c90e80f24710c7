package demand

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/kernel"
)

// The shape of the network is that of Lyra (EuroSys 2023, §6): ten input samples and two hidden layers. The width can be chosen,
// up to maxHidden.
const (
	LSTMWindow = 10
	LSTMLayers = 2
	maxHidden  = 256
)

// LSTM is a recurrent network that predicts the next sample of usage from the last LSTMWindow samples, each a fraction of the
// pool.
//
// Let H = Hidden, and u[0..9] the window, oldest first. The input x(t) of the first layer is (u[t]-Mean)/Deviation, that of the
// second layer is h(t) of the first. Each layer keeps h and c, both [H] and zero before the window:
//
//	a = x(t)·W + h(t-1)·U + B          // [4H]: four blocks of H columns, in the order i, f, g, o
//	c(t) = σ(a_f)*c(t-1) + σ(a_i)*tanh(a_g)
//	h(t) = σ(a_o)*tanh(c(t))
//
// The prediction adds a change, computed from the second layer's last h, to the newest sample:
//
//	û = u[9] + Change*(h(9)·HeadW + HeadB)
//
// so a network with zero head weights predicts the newest sample. Mean, Deviation and Change are the elements of Scale. In
// training, the target is (û-u[9])/Change. Predict only reads the network, so any number of goroutines may call it concurrently.
type LSTM struct {
	Hidden int
	Layers [LSTMLayers]lstmLayer
	HeadW  []float64 // [H]
	HeadB  []float64 // [1]
	Scale  []float64 // [3]: Mean and Deviation of the samples, and Change, the deviation of their changes; set from training data
}

// lstmLayer contains the weights of a layer, row-major.
type lstmLayer struct {
	W []float64 // [in,4H], in = 1 for the first layer, H for the second
	U []float64 // [H,4H]
	B []float64 // [4H]
}

// NewLSTM returns a network of the given width. It draws the weights from r, uniform within ±1/√hidden. The biases are zero,
// except that those of the forget gate are one (Jozefowicz et al., ICML 2015). The head is zero, so before training the network
// predicts the newest sample. Scale is {0.5, 0.25, 0.05}. NewLSTM panics if hidden is not from 1 to 256.
func NewLSTM(hidden int, r *rand.Rand) *LSTM {
	if hidden < 1 || hidden > maxHidden {
		panic(fmt.Sprintf("demand: LSTM of width %d, want 1 to %d", hidden, maxHidden))
	}
	n := &LSTM{Hidden: hidden, HeadW: make([]float64, hidden), HeadB: make([]float64, 1), Scale: []float64{0.5, 0.25, 0.05}}
	bound := 1 / math.Sqrt(float64(hidden))
	draw := func(size int) []float64 {
		w := make([]float64, size)
		for i := range w {
			w[i] = bound * (2*r.Float64() - 1)
		}
		return w
	}
	for k := range n.Layers {
		l := &n.Layers[k]
		l.W, l.U, l.B = draw(n.in(k)*4*hidden), draw(hidden*4*hidden), make([]float64, 4*hidden)
		for i := range hidden {
			l.B[hidden+i] = 1
		}
	}
	return n
}

// in returns the width of layer k's input.
func (n *LSTM) in(k int) int {
	if k == 0 {
		return 1
	}
	return n.Hidden
}

// Params returns the weights as named tensors in a fixed order. They share memory with n:
//
//	layer0.w [1,4H]  layer0.u [H,4H]  layer0.b [4H]  layer1.w [H,4H]  layer1.u [H,4H]  layer1.b [4H]
//	head.w [H,1]     head.b [1]       scale [3], which is not trained
func (n *LSTM) Params() []checkpoints.Tensor {
	h := n.Hidden
	var ts []checkpoints.Tensor
	for k, l := range n.Layers {
		name := fmt.Sprintf("layer%d.", k)
		ts = append(ts,
			checkpoints.Tensor{Name: name + "w", Shape: []int{n.in(k), 4 * h}, Data: l.W},
			checkpoints.Tensor{Name: name + "u", Shape: []int{h, 4 * h}, Data: l.U},
			checkpoints.Tensor{Name: name + "b", Shape: []int{4 * h}, Data: l.B})
	}
	return append(ts,
		checkpoints.Tensor{Name: "head.w", Shape: []int{h, 1}, Data: n.HeadW},
		checkpoints.Tensor{Name: "head.b", Shape: []int{1}, Data: n.HeadB},
		checkpoints.Tensor{Name: "scale", Shape: []int{3}, Data: n.Scale})
}

// LSTMOf builds a network from tensors with the names and shapes of Params, all of type F64, and uses their memory. It returns an
// error if tensors are missing or unexpected, if a number is not finite, or if a deviation in Scale is not positive.
func LSTMOf(tensors []checkpoints.Tensor) (*LSTM, error) {
	n := new(LSTM)
	for _, t := range tensors {
		if t.Name == "layer0.u" && len(t.Shape) > 0 {
			n.Hidden = t.Shape[0]
		}
	}
	if n.Hidden < 1 || n.Hidden > maxHidden {
		return nil, fmt.Errorf("build LSTM: tensor \"layer0.u\" has width %d, want 1 to %d", n.Hidden, maxHidden)
	}
	params := n.Params()
	if len(tensors) != len(params) {
		return nil, fmt.Errorf("build LSTM: %d tensors, want %d", len(tensors), len(params))
	}
	numbers := make([][]float64, len(params))
	for i, p := range params {
		xs, err := checkpoints.Get[float64](tensors, p.Name, p.Shape...)
		if err != nil {
			return nil, fmt.Errorf("build LSTM: %w", err)
		}
		size := 1
		for _, d := range p.Shape {
			size *= d
		}
		if len(xs) != size {
			return nil, fmt.Errorf("build LSTM: tensor %q holds %d numbers, want %d", p.Name, len(xs), size)
		}
		for j, x := range xs {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("build LSTM: tensor %q holds %g at %d, want finite numbers", p.Name, x, j)
			}
		}
		numbers[i] = xs
	}
	for k := range n.Layers {
		n.Layers[k] = lstmLayer{numbers[3*k], numbers[3*k+1], numbers[3*k+2]}
	}
	n.HeadW, n.HeadB, n.Scale = numbers[3*LSTMLayers], numbers[3*LSTMLayers+1], numbers[3*LSTMLayers+2]
	if n.Scale[1] <= 0 || n.Scale[2] <= 0 {
		return nil, fmt.Errorf("build LSTM: tensor \"scale\" is %g, want deviations above 0 at 1 and 2", n.Scale)
	}
	return n, nil
}

// lstmKind identifies an LSTM's file in the metadata of its header.
const lstmKind = "clustergym-demand-lstm"

// maxLSTMBytes is the maximum size of a file of weights; the widest network fits.
const maxLSTMBytes = 16 << 20

// WriteLSTM writes n as safetensors. Equal networks give equal bytes.
func WriteLSTM(w io.Writer, n *LSTM) error {
	return checkpoints.WriteTensors(w, n.Params(), map[string]string{"kind": lstmKind})
}

// ReadLSTM reads what WriteLSTM wrote. It treats the file as untrusted input: errors say what is wrong, and errors about the
// format wrap checkpoints.ErrDamaged or ErrForeign.
func ReadLSTM(r io.Reader) (*LSTM, error) {
	file, err := io.ReadAll(io.LimitReader(r, maxLSTMBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read LSTM: %w", err)
	}
	limits := checkpoints.Limits{Bytes: maxLSTMBytes, Header: 1 << 16, Tensors: 64}
	tensors, metadata, err := checkpoints.ReadTensors(file, limits)
	if err != nil {
		return nil, fmt.Errorf("read LSTM: %w", err)
	}
	if kind := metadata["kind"]; kind != lstmKind {
		return nil, fmt.Errorf("read LSTM: %w: kind %q, want %q", checkpoints.ErrForeign, kind, lstmKind)
	}
	return LSTMOf(tensors)
}

// Predict returns the predicted sample after the window, which contains LSTMWindow samples, oldest first. The result may be below
// 0 or above 1. Predict panics if the window has another length.
func (n *LSTM) Predict(window []float64) float64 {
	if len(window) != LSTMWindow {
		panic(fmt.Sprintf("demand: LSTM window of %d samples, want %d", len(window), LSTMWindow))
	}
	h := n.Hidden
	inputs := make([]float64, LSTMWindow) // [window,in] of the current layer
	for t, u := range window {
		inputs[t] = (u - n.Scale[0]) / n.Scale[1]
	}
	gates := make([]float64, LSTMWindow*4*h)
	recurrent := make([]float64, 4*h)
	for k, l := range n.Layers {
		kernel.Dense(gates, inputs, l.W, l.B, n.in(k), 4*h, kernel.None)
		outputs := make([]float64, LSTMWindow*h)
		state, cell := make([]float64, h), make([]float64, h)
		for t := range LSTMWindow {
			kernel.Dense(recurrent, state, l.U, nil, h, 4*h, kernel.None)
			a := gates[t*4*h : (t+1)*4*h]
			for i := range a {
				a[i] += recurrent[i]
			}
			for i := range h {
				cell[i] = kernel.Sigmoid(a[h+i])*cell[i] + kernel.Sigmoid(a[i])*math.Tanh(a[2*h+i])
				state[i] = kernel.Sigmoid(a[3*h+i]) * math.Tanh(cell[i])
			}
			copy(outputs[t*h:(t+1)*h], state)
		}
		inputs = outputs
	}
	change := make([]float64, 1)
	kernel.Dense(change, inputs[(LSTMWindow-1)*h:], n.HeadW, n.HeadB, h, 1, kernel.None)
	return window[LSTMWindow-1] + n.Scale[2]*change[0]
}

// recurrent predicts with an LSTM.
type recurrent struct {
	net *LSTM
	u   []float64 // the last LSTMWindow samples, nil before the first
}

// NewRecurrent returns the predictor that uses the network n. Until it has observed a whole window, the first sample replaces the
// missing ones.
func NewRecurrent(n *LSTM) inference.Predictor { return &recurrent{net: n} }

func (p *recurrent) Name() string { return "lstm" }
func (p *recurrent) Reset()       { p.u = nil }

func (p *recurrent) Observe(u float64) {
	for len(p.u) < LSTMWindow {
		p.u = append(p.u, u)
	}
	copy(p.u, p.u[1:])
	p.u[LSTMWindow-1] = u
}

func (p *recurrent) Predict() float64 {
	if p.u == nil {
		return 0
	}
	return p.net.Predict(p.u)
}
