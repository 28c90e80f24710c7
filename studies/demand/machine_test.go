package demand

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/internal/rng"
)

// drawn returns a network with random numbers, and samples for it.
func drawn(width, samples int, r *rand.Rand) (*LSTM, []sample) {
	n := NewLSTM(width, r)
	for _, w := range trained(n) {
		for i := range w.data {
			w.data[i] = r.NormFloat64() / 2
		}
	}
	n.Scale = []float64{0.4, 0.2, 0.03}
	batch := make([]sample, samples)
	for i := range batch {
		batch[i].window = make([]float64, LSTMWindow)
		for t := range batch[i].window {
			batch[i].window[t] = r.Float64()
		}
		batch[i].next = batch[i].window[LSTMWindow-1] + 0.05*r.NormFloat64()
	}
	return n, batch
}

func build(t *testing.T, width, rows int) *machine {
	t.Helper()
	m, err := newMachine(width, rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.close() })
	return m
}

func run(t *testing.T, m *machine, n *LSTM, batch []sample, grad []float64) float64 {
	t.Helper()
	loss, err := m.run(n, batch, grad)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

// TestTheGraphPredictsWhatTheNetworkDoes checks that the graph predicts the same as the network that runs in production. This
// includes gates of more than 255 columns, which Gorgonia's own slices would confuse, and the second run of a machine.
func TestTheGraphPredictsWhatTheNetworkDoes(t *testing.T) {
	for _, c := range []struct{ width, rows int }{{1, 1}, {3, 2}, {16, 64}, {80, 3}} {
		t.Run(fmt.Sprintf("width %d, batch %d", c.width, c.rows), func(t *testing.T) {
			m := build(t, c.width, c.rows)
			for seed := range uint64(2) {
				n, batch := drawn(c.width, c.rows, rng.Stream(seed))
				loss := run(t, m, n, batch, make([]float64, size(n)))
				want := 0.0
				for i, s := range batch {
					got := s.window[LSTMWindow-1] + n.Scale[2]*m.said.Data().([]float64)[i]
					if d := math.Abs(got - n.Predict(s.window)); d > 1e-12 {
						t.Fatalf("sample %d: the graph says %g, the network %g", i, got, n.Predict(s.window))
					}
				}
				if want = meanSquare(n, batch) / (n.Scale[2] * n.Scale[2]); math.Abs(loss-want) > 1e-9*want {
					t.Errorf("mean squared error %g, want %g", loss, want)
				}
			}
		})
	}
}

// TestGradients checks gradients against central differences of the network that runs in production.
func TestGradients(t *testing.T) {
	const step = 1e-5
	for _, width := range []int{1, 4} {
		n, batch := drawn(width, 5, rng.Stream(uint64(width)))
		m, grad := build(t, width, len(batch)), make([]float64, size(n))
		loss := func() float64 { return meanSquare(n, batch) / (n.Scale[2] * n.Scale[2]) }
		run(t, m, n, batch, make([]float64, size(n)))
		run(t, m, n, batch, grad) // the second run, which must not add to the first
		at := 0
		for _, w := range trained(n) {
			for i, x := range w.data {
				w.data[i] = x + step
				up := loss()
				w.data[i] = x - step
				down := loss()
				w.data[i] = x
				want := (up - down) / (2 * step)
				if d := math.Abs(grad[at]-want) / max(1e-3, math.Abs(grad[at])+math.Abs(want)); d > 1e-6 {
					t.Errorf("width %d: gradient of %s at %d is %g, want %g", width, w.name, i, grad[at], want)
				}
				at++
			}
		}
	}
}

func TestABatchOfAnotherSizeIsRefused(t *testing.T) {
	n, batch := drawn(2, 3, rng.Stream(1))
	if _, err := build(t, 2, 4).run(n, batch, make([]float64, size(n))); err == nil {
		t.Error("3 samples ran on a machine for 4")
	}
}

// TestStepIsAdam checks that steps are those of Adam in its authors' notation, with a gradient cut to its bound.
func TestStepIsAdam(t *testing.T) {
	n, _ := drawn(1, 0, rng.Stream(1))
	a, r := newAdam(size(n)), rng.Stream(2)
	x := trained(n)[0].data // the first tensor of weights
	m, v, want := 0.0, 0.0, x[0]
	for step := 1; step <= 5; step++ {
		grad, square := make([]float64, size(n)), 0.0
		for i := range grad {
			grad[i] = r.NormFloat64() * float64(step%2) // every second gradient is zero
			square += grad[i] * grad[i]
		}
		g := 0.0
		if norm := math.Sqrt(square); norm > 0 {
			g = grad[0] * min(1, 1/norm)
		}
		a.step(n, grad, 0.01)
		m, v = 0.9*m+0.1*g, 0.999*v+0.001*g*g
		want -= 0.01 * m / (1 - math.Pow(0.9, float64(step))) / (math.Sqrt(v/(1-math.Pow(0.999, float64(step)))) + 1e-8)
		if math.Abs(x[0]-want) > 1e-10 {
			t.Fatalf("step %d: weight %g, want %g", step, x[0], want)
		}
	}
}

func BenchmarkBatch(b *testing.B) {
	for _, width := range []int{16, 32} {
		b.Run(fmt.Sprintf("width %d, 64 samples", width), func(b *testing.B) {
			n, batch := drawn(width, 64, rng.Stream(1))
			m, err := newMachine(width, len(batch))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = m.close() }()
			grad := make([]float64, size(n))
			for b.Loop() {
				if _, err := m.run(n, batch, grad); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
