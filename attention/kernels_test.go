package attention_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/internal/plain"
)

const candidates, features = 3, 2 // candidates per group, features per candidate

func kernels(s plain.Size) []plain.Kernel {
	rng := rand.New(rand.NewPCG(1, 2))
	agents, items, d := s.Batch*s.Agents, s.Batch*s.Items, s.Width
	var list []plain.Kernel
	for _, reference := range []int{0, 3} {
		list = append(list, plain.Kernel{
			Name: fmt.Sprintf("attention, reference %d", reference), Wrt: []int{0, 1, 2},
			In: [][]float64{plain.Normal(rng, agents*d), plain.Normal(rng, items*d), plain.Normal(rng, items*d),
				plain.Padding(rng, s.Batch, s.Items)},
			Plain: func(x [][]complex128) []complex128 {
				return plain.Attention(x[0], x[1], x[2], x[3], s.Batch, s.Agents, s.Items, d, s.Heads, reference)
			},
			Single: attend[float32](s, reference), Double: attend[float64](s, reference),
		})
	}
	rows, of := s.Batch*candidates, make([]float64, s.Batch*candidates)
	for i := range of {
		of[i] = float64(rng.IntN(s.Items+1) - 1)
	}
	actions := s.Agents*s.Items + 1
	return append(list, plain.Kernel{
		Name: "readout", Wrt: []int{0, 1},
		In: [][]float64{plain.Normal(rng, agents*d), plain.Normal(rng, items*d), plain.Normal(rng, rows*features),
			plain.Shares(rng, rows, s.Agents), of, plain.Padding(rng, s.Batch, s.Agents), plain.Padding(rng, s.Batch, s.Items)},
		Plain: func(x [][]complex128) []complex128 {
			return plain.Readout(x[0], x[1], x[2], x[3], x[4], x[5], x[6], s.Batch, s.Agents, s.Items, candidates, d, features)
		},
		Single: readout[float32](s), Double: readout[float64](s),
	}, plain.Kernel{
		Name: "pool", Wrt: []int{0, 1},
		In: [][]float64{plain.Normal(rng, agents*d), plain.Normal(rng, items*d), plain.Normal(rng, s.Batch*features),
			plain.Padding(rng, s.Batch, s.Agents), plain.Padding(rng, s.Batch, s.Items)},
		Plain: func(x [][]complex128) []complex128 {
			return plain.Pool(x[0], x[1], x[2], x[3], x[4], s.Batch, s.Agents, s.Items, d, features)
		},
		Single: pool[float32](s), Double: pool[float64](s),
	}, plain.Kernel{
		Name: "mean of others", Wrt: []int{0},
		In:     [][]float64{plain.Normal(rng, agents*d), plain.Padding(rng, s.Batch, s.Agents)},
		Plain:  func(x [][]complex128) []complex128 { return plain.MeanOthers(x[0], x[1], s.Agents, d) },
		Single: meanOthers[float32](s.Agents, d), Double: meanOthers[float64](s.Agents, d),
	}, plain.Kernel{
		Name: "masked log softmax", Wrt: []int{0},
		In:     [][]float64{plain.Normal(rng, s.Batch*actions), plain.Padding(rng, s.Batch, actions)},
		Plain:  func(x [][]complex128) []complex128 { return plain.MaskedLogSoftmax(x[0], x[1], actions) },
		Single: logSoftmax[float32](actions), Double: logSoftmax[float64](actions),
	})
}

func attend[T kernel.Float](s plain.Size, reference int) plain.Layer[T] {
	var buf attention.Scratch[T]
	shape := attention.Shape{
		Batch: s.Batch, Queries: s.Agents, Keys: s.Items, Width: s.Width, Heads: s.Heads, Reference: reference,
	}
	return plain.Layer[T]{
		Forward: func(x [][]T) []T {
			y := plain.Like(x[0])
			attention.Attend(y, x[0], x[1], x[2], x[3], shape, &buf)
			return y
		},
		Back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{plain.Like(x[0]), plain.Like(x[1]), plain.Like(x[2])}
			attention.AttendBack(g[0], g[1], g[2], dy, x[0], x[1], x[2], x[3], shape, &buf)
			return g
		},
	}
}

func readoutShape(s plain.Size) attention.ReadoutShape {
	return attention.ReadoutShape{
		Batch: s.Batch, Agents: s.Agents, Items: s.Items, Candidates: candidates, Width: s.Width, Features: features,
	}
}

func readout[T kernel.Float](s plain.Size) plain.Layer[T] {
	shape := readoutShape(s)
	data := func(x [][]T) attention.ReadoutData[T] {
		return attention.ReadoutData[T]{Features: x[2], Weights: x[3], Of: x[4], AgentMask: x[5], ItemMask: x[6]}
	}
	return plain.Layer[T]{
		Forward: func(x [][]T) []T {
			y := plain.Dirty[T](s.Batch * candidates * shape.Row())
			attention.Readout(y, x[0], x[1], data(x), shape)
			return y
		},
		Back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{plain.Like(x[0]), plain.Like(x[1])}
			attention.ReadoutBack(g[0], g[1], dy, data(x), shape)
			return g
		},
	}
}

func pool[T kernel.Float](s plain.Size) plain.Layer[T] {
	shape := attention.PoolShape{Batch: s.Batch, Agents: s.Agents, Items: s.Items, Width: s.Width, Features: features}
	data := func(x [][]T) attention.PoolData[T] {
		return attention.PoolData[T]{Features: x[2], AgentMask: x[3], ItemMask: x[4]}
	}
	return plain.Layer[T]{
		Forward: func(x [][]T) []T {
			y := plain.Dirty[T](s.Batch * shape.Row())
			attention.Pool(y, x[0], x[1], data(x), shape)
			return y
		},
		Back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{plain.Like(x[0]), plain.Like(x[1])}
			attention.PoolBack(g[0], g[1], dy, x[0], x[1], data(x), shape)
			return g
		},
	}
}

func meanOthers[T kernel.Float](n, d int) plain.Layer[T] {
	return plain.Layer[T]{
		Forward: func(x [][]T) []T {
			y := plain.Like(x[0])
			attention.MeanOthers(y, x[0], x[1], n, d)
			return y
		},
		Back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{plain.Like(x[0])}
			attention.MeanOthers(g[0], dy, x[1], n, d)
			return g
		},
	}
}

func logSoftmax[T kernel.Float](width int) plain.Layer[T] {
	return plain.Layer[T]{
		Forward: func(x [][]T) []T {
			y := plain.Like(x[0])
			attention.MaskedLogSoftmax(y, x[0], x[1], width)
			return y
		},
		Back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{plain.Like(x[0])}
			attention.MaskedLogSoftmaxBack(g[0], dy, y, x[1], width)
			return g
		},
	}
}

func TestKernelsEqualPlainLoops(t *testing.T) { plain.Check(t, kernels) }

func steps() []plain.Step {
	s := plain.Production
	s.Batch = 1
	n, k, d, width := s.Agents, s.Items, s.Width, s.Agents*s.Items
	rng := rand.New(rand.NewPCG(1, 1))
	f := func(n int) []float32 { return plain.Singles([][]float64{plain.Normal(rng, n)})[0] }
	ones := func(n int, p float64) []float32 { return plain.Singles([][]float64{plain.Bits(rng, n, p)})[0] }
	x, y, gx, gy, q := f(n*d), f(k*d), f(n*d), f(k*d), f(n*d)
	agents, items, logits, logp, legal := ones(n, 0.9), ones(k, 0.8), f(width), f(width), ones(width, 0.5)
	shape := attention.Shape{Batch: 1, Queries: n, Keys: k, Width: d, Heads: s.Heads}
	all := readoutShape(s)
	rows := f(candidates * all.Row())
	data := attention.ReadoutData[float32]{
		Features: f(candidates * features), Weights: ones(candidates*n, 4/float64(n)), Of: make([]float32, candidates),
		AgentMask: agents, ItemMask: items,
	}
	sums := attention.PoolShape{Batch: 1, Agents: n, Items: k, Width: d, Features: features}
	facts := attention.PoolData[float32]{Features: f(features), AgentMask: agents, ItemMask: items}
	whole := f(sums.Row())
	var buf attention.Scratch[float32]
	return []plain.Step{
		{Name: "attention", Run: func() { attention.Attend(q, x, y, y, items, shape, &buf) }},
		{Name: "attention back", Run: func() { attention.AttendBack(q, gy, gy, gx, x, y, y, items, shape, &buf) }},
		{Name: "readout", Run: func() { attention.Readout(rows, x, y, data, all) }},
		{Name: "readout back", Run: func() { attention.ReadoutBack(gx, gy, rows, data, all) }},
		{Name: "pool", Run: func() { attention.Pool(whole, x, y, facts, sums) }},
		{Name: "pool back", Run: func() { attention.PoolBack(gx, gy, whole, x, y, facts, sums) }},
		{Name: "mean of others", Run: func() { attention.MeanOthers(q, x, agents, n, d) }},
		{Name: "masked log softmax", Run: func() { attention.MaskedLogSoftmax(logp, logits, legal, width) }},
	}
}

func BenchmarkKernels(b *testing.B) { plain.Bench(b, steps()) }

func TestKernelsAllocateNothing(t *testing.T) { plain.AllocatesNothing(t, steps()) }

func TestLogSoftmaxOfExtremeRows(t *testing.T) {
	const masked = attention.Masked
	for _, row := range []struct {
		name               string
		logits, mask, want []float32
	}{
		{"a large neighbour row does not matter", []float32{200, 0, 0, 0, 0, 0}, []float32{1, 1, 1, 1, 1, 1},
			[]float32{0, -200, -200, -1.0986123, -1.0986123, -1.0986123}},
		{"one legal entry is certain", []float32{3, -70, 500}, []float32{0, 1, 0}, []float32{masked, 0, masked}},
		{"illegal entries may be infinite", []float32{float32(math.Inf(1)), 2, float32(math.Inf(-1))}, []float32{0, 1, 0},
			[]float32{masked, 0, masked}},
		{"no legal entry", []float32{1, 2, 3}, []float32{0, 0, 0}, []float32{masked, masked, masked}},
	} {
		t.Run(row.name, func(t *testing.T) {
			y, dx := make([]float32, len(row.logits)), make([]float32, len(row.logits))
			attention.MaskedLogSoftmax(y, row.logits, row.mask, 3)
			for i, w := range row.want {
				if math.Abs(float64(y[i]-w)) > 1e-4 {
					t.Errorf("log-probabilities are %v, want %v", y, row.want)
					break
				}
			}
			attention.MaskedLogSoftmaxBack(dx, slices.Repeat([]float32{1e6}, len(y)), y, row.mask, 3)
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
	s := attention.Shape{Batch: 2, Queries: 1, Keys: 2, Width: 1, Heads: 1}
	q, k, v := []float32{1e4, 1}, []float32{1e4, -1e4, 5, 6}, []float32{7, 8, 9, 10}
	y, g := make([]float32, 2), make([]float32, 10)
	var buf attention.Scratch[float32]
	attention.Attend(y, q, k, v, []float32{1, 1, 0, 0}, s, &buf)
	if !slices.Equal(y, []float32{7, 0}) {
		t.Errorf("output is %v, want the first value, and 0 where no key is valid", y)
	}
	attention.AttendBack(g[:2], g[2:6], g[6:], []float32{1, 1}, q, k, v, []float32{1, 1, 0, 0}, s, &buf)
	if !slices.Equal(g, []float32{0, 0, 0, 0, 0, 0, 1, 0, 0, 0}) {
		t.Errorf("gradients are %v, want 1 at the first value and 0 elsewhere", g)
	}
}

func TestPaddingHoldsAnything(t *testing.T) {
	s := attention.Shape{Batch: 1, Queries: 1, Keys: 3, Width: 2, Heads: 1}
	q, mask := []float32{1, 2}, []float32{1, 0, 1}
	var buf attention.Scratch[float32]
	a, b := make([]float32, 2), make([]float32, 2)
	attention.Attend(a, q, []float32{1, 2, 0, 0, 3, 4}, []float32{1, 2, 0, 0, 3, 4}, mask, s, &buf)
	attention.Attend(b, q, []float32{1, 2, 1e6, 1e6, 3, 4}, []float32{1, 2, 1e30, -1e30, 3, 4}, mask, s, &buf)
	if !slices.Equal(a, b) {
		t.Errorf("attention is %v, but %v with other padding", a, b)
	}
}

// TestNothingToAttendTo checks groups without items: attention to them and their mean must be zero.
func TestNothingToAttendTo(t *testing.T) {
	var buf attention.Scratch[float32]
	for _, s := range []attention.Shape{
		{Batch: 1, Queries: 1, Width: 4, Heads: 1}, {Batch: 1, Queries: 70, Width: 36, Heads: 3},
	} {
		y := slices.Repeat([]float32{7}, s.Queries*s.Width)
		attention.Attend(y, slices.Clone(y), nil, nil, nil, s, &buf)
		if !slices.Equal(y, make([]float32, len(y))) {
			t.Errorf("%+v: attention to nothing is not 0", s)
		}
	}
	s := attention.ReadoutShape{Batch: 1, Agents: 1, Candidates: 1, Width: 2}
	y := slices.Repeat([]float32{7}, s.Row())
	attention.Readout(y, []float32{3, 5}, nil,
		attention.ReadoutData[float32]{Weights: []float32{0.5}, Of: []float32{-1}, AgentMask: []float32{1}}, s)
	if !slices.Equal(y, []float32{1.5, 2.5, 0, 0, 3, 5, 0, 0}) {
		t.Errorf("the readout without items is %v", y)
	}
	p := attention.PoolShape{Batch: 1, Agents: 2, Width: 2, Features: 1}
	y, g := slices.Repeat([]float32{7}, p.Row()), slices.Repeat([]float32{7}, 4)
	data := attention.PoolData[float32]{Features: []float32{9}, AgentMask: []float32{1, 1}}
	attention.Pool(y, []float32{-3, 5, -1, 5}, nil, data, p)
	if !slices.Equal(y, []float32{-2, 5, -1, 5, 0, 0, 0, 0, 9}) {
		t.Errorf("the pool without items is %v", y)
	}
	attention.PoolBack(g, nil, []float32{2, 4, 10, 20, 1, 1, 1, 1, 1}, []float32{-3, 5, -1, 5}, nil, data, p)
	if !slices.Equal(g, []float32{1, 22, 11, 2}) {
		t.Errorf("the gradient of the pool is %v, want the maximum's at its first row", g)
	}
}

func TestShapesThatDoNotFitPanic(t *testing.T) {
	x := make([]float64, 6)
	for name, f := range map[string]func(){
		"heads do not divide": func() {
			attention.Attend(x, x, x, x, x[:2], attention.Shape{Batch: 1, Queries: 2, Keys: 2, Width: 3, Heads: 2}, nil)
		},
		"too few keys": func() {
			attention.Attend(x, x, x[:3], x, x[:2], attention.Shape{Batch: 1, Queries: 2, Keys: 2, Width: 3, Heads: 1}, nil)
		},
		"pool of half a row": func() {
			attention.Pool(x, x[:3], nil, attention.PoolData[float64]{AgentMask: x[:2]}, attention.PoolShape{Batch: 1, Agents: 2, Width: 1})
		},
		"no width": func() { attention.Readout(nil, nil, nil, attention.ReadoutData[float64]{}, attention.ReadoutShape{}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("computed without a panic")
				}
			}()
			f()
		})
	}
}
