package kernel_test

import (
	"math"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/kernel"
)

func TestLogSoftmaxOfExtremeRows(t *testing.T) {
	for _, row := range []struct {
		name               string
		logits, mask, want []float32
	}{
		{"a large neighbour row does not matter", []float32{200, 0, 0, 0, 0, 0}, []float32{1, 1, 1, 1, 1, 1},
			[]float32{0, -200, -200, -1.0986123, -1.0986123, -1.0986123}},
		{"one legal entry is certain", []float32{3, -70, 500}, []float32{0, 1, 0}, []float32{kernel.Masked, 0, kernel.Masked}},
		{"illegal entries may be infinite", []float32{float32(math.Inf(1)), 2, float32(math.Inf(-1))}, []float32{0, 1, 0},
			[]float32{kernel.Masked, 0, kernel.Masked}},
		{"no legal entry", []float32{1, 2, 3}, []float32{0, 0, 0}, []float32{kernel.Masked, kernel.Masked, kernel.Masked}},
	} {
		t.Run(row.name, func(t *testing.T) {
			y, dx := make([]float32, len(row.logits)), make([]float32, len(row.logits))
			kernel.MaskedLogSoftmax(y, row.logits, row.mask, 3)
			for i, w := range row.want {
				if math.Abs(float64(y[i]-w)) > 1e-4 {
					t.Errorf("log-probabilities are %v, want %v", y, row.want)
					break
				}
			}
			kernel.MaskedLogSoftmaxBack(dx, slices.Repeat([]float32{1e6}, len(y)), y, row.mask, 3)
			for i, g := range dx {
				if g != g || row.mask[i] == 0 && g != 0 {
					t.Errorf("gradients are %v, want finite ones and 0 where the mask is %v", dx, row.mask)
					break
				}
			}
		})
	}
}

func TestAttentionOfExtremeScores(t *testing.T) {
	s := kernel.AttentionShape{Batch: 2, Queries: 1, Keys: 2, Width: 1, Heads: 1}
	q, k, v := []float32{1e4, 1}, []float32{1e4, -1e4, 5, 6}, []float32{7, 8, 9, 10}
	y, g := make([]float32, 2), make([]float32, 10)
	var buf kernel.AttentionScratch[float32]
	kernel.Attention(y, q, k, v, []float32{1, 1, 0, 0}, s, &buf)
	if !slices.Equal(y, []float32{7, 0}) {
		t.Errorf("output is %v, want the first value, and 0 where no key is valid", y)
	}
	kernel.AttentionBack(g[:2], g[2:6], g[6:], []float32{1, 1}, q, k, v, []float32{1, 1, 0, 0}, s, &buf)
	if !slices.Equal(g, []float32{0, 0, 0, 0, 0, 0, 1, 0, 0, 0}) {
		t.Errorf("gradients are %v, want 1 at the first value and 0 elsewhere", g)
	}
}

func TestPaddingHoldsAnything(t *testing.T) {
	nan := float32(math.NaN())
	s := kernel.AttentionShape{Batch: 1, Queries: 1, Keys: 3, Width: 2, Heads: 1}
	q, mask := []float32{1, 2}, []float32{1, 0, 1}
	var buf kernel.AttentionScratch[float32]
	a, b := make([]float32, 2), make([]float32, 2)
	kernel.Attention(a, q, []float32{1, 2, 0, 0, 3, 4}, []float32{1, 2, 0, 0, 3, 4}, mask, s, &buf)
	kernel.Attention(b, q, []float32{1, 2, 1e6, 1e6, 3, 4}, []float32{1, 2, 1e30, -1e30, 3, 4}, mask, s, &buf)
	if !slices.Equal(a, b) {
		t.Errorf("attention is %v, but %v with other padding", a, b)
	}
	kernel.MaxPool(a, []float32{1, 2, 1e9, nan, 0, 5}, mask, 3, 2)
	if !slices.Equal(a, []float32{1, 5}) {
		t.Errorf("max pool is %v, want [1 5]", a)
	}
}

func TestDenseWithoutBias(t *testing.T) {
	y := []float64{7, 7}
	kernel.Dense(y, []float64{1, 2}, []float64{3, 4, 5, 6}, nil, 2, 2, kernel.None)
	if !slices.Equal(y, []float64{13, 16}) {
		t.Errorf("output is %v, want [13 16]", y)
	}
}

func TestMaxPoolGivesTiesToTheLowestRow(t *testing.T) {
	dx := make([]float64, 3)
	kernel.MaxPoolBack(dx, []float64{1}, []float64{9, 4, 4}, []float64{0, 1, 1}, 3, 1)
	if !slices.Equal(dx, []float64{0, 1, 0}) {
		t.Errorf("gradient is %v, want it at the first of the valid largest", dx)
	}
}

func TestKernelsRepeatTheSameBytes(t *testing.T) {
	for _, sub := range subjects(production) {
		in := singles(sub.in)
		y := sub.single.forward(in)
		g := sub.single.back(y, y, in)
		again := singles(sub.in)
		if !slices.Equal(y, sub.single.forward(again)) {
			t.Errorf("%s: output differs between two runs", sub.name)
		}
		for i, h := range sub.single.back(y, y, again) {
			if !slices.Equal(g[i], h) {
				t.Errorf("%s: gradient %d differs between two runs", sub.name, i)
			}
		}
	}
}

func TestKernelsAllocateNothing(t *testing.T) {
	net := newNetwork(size{1, 64, 48, 32, 4})
	for _, step := range net.steps() {
		step.run() // grows the scratch
		if n := testing.AllocsPerRun(3, step.run); n != 0 {
			t.Errorf("%s allocates %g times", step.name, n)
		}
	}
}
