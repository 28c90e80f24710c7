package demand

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/rng"
)

// scrambled returns a network whose parameters are all random, as after training.
func scrambled(hidden int, seed uint64) *LSTM {
	r := rng.Stream(seed, "lstm test")
	n := NewLSTM(hidden, r)
	for _, p := range n.Params() {
		xs := p.Data.([]float64)
		for i := range xs {
			xs[i] = r.NormFloat64() / 2
		}
	}
	n.Scale[0], n.Scale[1], n.Scale[2] = 0.4, 0.2, 0.03
	return n
}

// plain computes the formulas in LSTM's comment, one number at a time.
func plain(n *LSTM, window []float64) float64 {
	sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	width := n.Hidden
	xs := make([][]float64, len(window))
	for t, u := range window {
		xs[t] = []float64{(u - n.Scale[0]) / n.Scale[1]}
	}
	for _, l := range n.Layers {
		h, c := make([]float64, width), make([]float64, width)
		for t, x := range xs {
			gate := func(block, j int) float64 {
				col := block*width + j
				a := l.B[col]
				for k, v := range x {
					a += v * l.W[k*4*width+col]
				}
				for k, v := range h {
					a += v * l.U[k*4*width+col]
				}
				return a
			}
			next := make([]float64, width)
			for j := range width {
				i, f, g, o := sigma(gate(0, j)), sigma(gate(1, j)), math.Tanh(gate(2, j)), sigma(gate(3, j))
				c[j] = f*c[j] + i*g
				next[j] = o * math.Tanh(c[j])
			}
			h = next
			xs[t] = h
		}
	}
	change := n.HeadB[0]
	for j, v := range xs[len(xs)-1] {
		change += v * n.HeadW[j]
	}
	return window[len(window)-1] + n.Scale[2]*change
}

func TestLSTMAgreesWithPlainLoops(t *testing.T) {
	for _, hidden := range []int{1, 3, 32} {
		n := scrambled(hidden, uint64(hidden))
		r := rng.Stream(7)
		for range 20 {
			window := make([]float64, LSTMWindow)
			for i := range window {
				window[i] = r.Float64()
			}
			if got, want := n.Predict(window), plain(n, window); math.Abs(got-want) > 1e-12 {
				t.Fatalf("width %d: %g, want %g", hidden, got, want)
			}
		}
	}
}

func TestUntrainedLSTMSaysTheLastValue(t *testing.T) {
	n := NewLSTM(8, rng.Stream(1))
	if got := n.Predict([]float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0.7}); got != 0.7 {
		t.Errorf("predicts %g, want 0.7", got)
	}
}

// TestRecurrentFillsItsFirstWindow checks what the predictor says before and after its first samples, and after a Reset.
func TestRecurrentFillsItsFirstWindow(t *testing.T) {
	n := scrambled(3, 1)
	p := NewRecurrent(n)
	for range 2 {
		if got := p.Predict(); got != 0 {
			t.Errorf("predicts %g from nothing, want 0", got)
		}
		p.Observe(.1)
		p.Observe(.3)
		if got, want := p.Predict(), n.Predict([]float64{.1, .1, .1, .1, .1, .1, .1, .1, .1, .3}); got != want {
			t.Errorf("predicts %g, want %g", got, want)
		}
		p.Reset()
	}
}

func TestLSTMTravels(t *testing.T) {
	n := scrambled(5, 3)
	var a, b bytes.Buffer
	if err := WriteLSTM(&a, n); err != nil {
		t.Fatal(err)
	}
	file := slices.Clone(a.Bytes())
	back, err := ReadLSTM(&a)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteLSTM(&b, back); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, b.Bytes()) {
		t.Error("writing what was read gives other bytes")
	}
	window := []float64{.1, .2, .3, .4, .5, .4, .3, .2, .1, .2}
	if got, want := back.Predict(window), n.Predict(window); got != want {
		t.Errorf("predicts %g after the journey, %g before", got, want)
	}
}

func TestBadLSTM(t *testing.T) {
	type list = []checkpoints.Tensor
	for _, c := range []struct {
		name   string
		change func(list) list
		want   string
	}{
		{"no tensors", func(list) list { return nil }, `"layer0.u" has width 0`},
		{"a tensor too few", func(ts list) list { return ts[:8] }, "8 tensors, want 9"},
		{"a tensor too many", func(ts list) list {
			return append(ts, checkpoints.Tensor{Name: "x", Shape: []int{1}, Data: []float64{1}})
		}, "10 tensors, want 9"},
		{"another name", func(ts list) list { ts[6].Name = "tail"; return ts }, `"head.w"`},
		{"another shape", func(ts list) list { ts[2].Shape = []int{1, 8}; return ts }, `"layer0.b": shape [1 8], want [8]`},
		{"float32", func(ts list) list { ts[7].Data = []float32{1}; return ts }, "want []float64"},
		{"a number missing", func(ts list) list { ts[8].Data = []float64{1, 2}; return ts }, "holds 2 numbers, want 3"},
		{"not a number", func(ts list) list { ts[7].Data = []float64{math.NaN()}; return ts }, "holds NaN at 0"},
		{"no deviation", func(ts list) list { ts[8].Data = []float64{0, 0, 1}; return ts }, "want deviations above 0"},
		{"far too wide", func(ts list) list { ts[1].Shape = []int{1 << 40, 8}; return ts }, "want 1 to 256"},
	} {
		if _, err := LSTMOf(c.change(scrambled(2, 1).Params())); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.name, err, c.want)
		}
	}
	var foreign bytes.Buffer
	if err := checkpoints.WriteTensors(&foreign, scrambled(2, 1).Params(), nil); err != nil {
		t.Fatal(err)
	}
	_, err := ReadLSTM(&foreign)
	if err == nil || !strings.Contains(err.Error(), `kind "", want "clustergym-demand-lstm"`) {
		t.Errorf("another kind of file: error %v", err)
	}
}

func FuzzLSTM(f *testing.F) {
	var b bytes.Buffer
	if err := WriteLSTM(&b, scrambled(2, 1)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:100])
	f.Fuzz(func(t *testing.T, file []byte) {
		n, err := ReadLSTM(bytes.NewReader(file))
		if err != nil {
			return
		}
		n.Predict(make([]float64, LSTMWindow))
		if _, err := LSTMOf(n.Params()); err != nil {
			t.Errorf("read without error, but %v", err)
		}
	})
}
