package speeds

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/graphop"
)

// drawnExamples returns examples of random numbers.
func drawnExamples(n int, r *rand.Rand) []Example {
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	all := make([]Example, n)
	for i := range all {
		all[i] = Example{
			Context: numbers(belief.SpeedContext), Points: numbers(r.IntN(belief.SpeedPoints+1) * belief.SpeedPoint),
			Shift: [belief.SpeedShifts]float32(numbers(belief.SpeedShifts)),
			Share: [belief.SpeedEffects]float32(numbers(belief.SpeedEffects)), Miss: 3 * r.NormFloat64(), SD: 1,
		}
	}
	return all
}

// plainLoss is the mean loss of examples in plain loops, for a network with these weights.
func plainLoss(weights [][]float64, all []*Example) float64 {
	layer := func(i int, x []float64, relu bool) []float64 {
		w, b := weights[2*i], weights[2*i+1]
		y := make([]float64, len(b))
		for o := range y {
			y[o] = b[o]
			for k, v := range x {
				y[o] += v * w[k*len(b)+o]
			}
			if relu {
				y[o] = max(y[o], 0)
			}
		}
		return y
	}
	sum := 0.0
	for _, e := range all {
		x := make([]float64, belief.SpeedContext)
		graphop.Convert(x, e.Context)
		pool := make([]float64, len(weights[1]))
		for at := 0; at < len(e.Points); at += belief.SpeedPoint {
			p := make([]float64, belief.SpeedPoint)
			graphop.Convert(p, e.Points[at:at+belief.SpeedPoint])
			for i, v := range layer(1, layer(0, p, true), true) {
				pool[i] += v
			}
		}
		z := layer(4, layer(3, layer(2, append(x, pool...), true), true), false)
		shift, widen := 0.0, 0.0
		for k, v := range e.Shift {
			shift += z[k] * float64(v)
		}
		for k, v := range e.Share {
			widen += z[belief.SpeedShifts+k] * float64(v)
		}
		sum += e.loss(shift, widen)
	}
	return sum / float64(len(all))
}

// TestGradient checks loss and gradient of the graph against plain loops and their finite differences, and the network of package
// belief against the same loops.
func TestGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for _, size := range []struct{ hidden, examples int }{{3, 6}, {3, 6}, {32, 512}} { // twice: gradients must not add up
		m, err := newMachine[float64](size.examples+2, size.hidden) // more rows than are needed
		if err != nil {
			t.Fatal(err)
		}
		defer m.close()
		member, all := belief.NewSpeedMember(size.hidden), drawnExamples(size.examples, r)
		var weights [][]float64
		n := 0
		for _, part := range member.Parts() {
			for k := range part {
				part[k] = float32(0.1 * r.NormFloat64())
			}
			w := make([]float64, len(part))
			graphop.Convert(w, part)
			weights = append(weights, w)
			n += len(w)
		}
		for range 2 {
			var batch []*Example
			for i := range all {
				batch = append(batch, &all[i])
			}
			grad := make([]float64, n)
			loss, err := m.run(&member, batch, grad)
			if err != nil {
				t.Fatal(err)
			}
			if want := plainLoss(weights, batch); math.Abs(loss-want) > 1e-9 {
				t.Errorf("loss %v, want %v", loss, want)
			}
			if want := meanLoss(&member, all); math.Abs(loss-want) > 1e-4 {
				t.Errorf("loss %v, without Gorgonia %v", loss, want)
			}
			at := 0
			for _, w := range weights {
				for k, old := range w {
					if at++; size.hidden > 4 && r.IntN(300) != 0 {
						continue
					}
					const step = 1e-7
					w[k] = old + step
					up := plainLoss(weights, batch)
					w[k] = old - step
					down := plainLoss(weights, batch)
					w[k] = old
					if want := (up - down) / (2 * step); math.Abs(grad[at-1]-want) > 1e-5*(1+math.Abs(want)) {
						t.Fatalf("gradient of weight %d: %v, want %v", at-1, grad[at-1], want)
					}
				}
			}
			all = drawnExamples(size.examples-1, r)
		}
		if _, err := m.run(&member, make([]*Example, size.examples+3), nil); err == nil {
			t.Error("a batch of too many examples was accepted")
		}
	}
}
