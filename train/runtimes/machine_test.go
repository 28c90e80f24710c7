package runtimes

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/graphop"
)

// drawn returns examples of random numbers.
func drawn(n int, r *rand.Rand) []Example {
	all := make([]Example, n)
	for i := range all {
		e := &all[i]
		e.Base, e.Ended = make([]float32, 1+r.IntN(belief.Hazards)), r.IntN(2) == 0
		e.X = make([]float32, len(e.Base)*belief.Inputs)
		for k := range e.X {
			e.X[k] = float32(r.NormFloat64())
		}
		for k := range e.Base {
			e.Base[k] = float32(3 * r.NormFloat64())
		}
	}
	return all
}

// drawnMember returns a member with random weights.
func drawnMember(hidden int, r *rand.Rand) *belief.Member {
	m := belief.NewMember(hidden)
	for _, part := range m.Parts() {
		for k := range part {
			part[k] = float32(0.5 * r.NormFloat64())
		}
	}
	return &m
}

// plainLoss is the mean loss of examples in plain loops: minus the logarithm of the chance of what happened, for a network with
// these weights.
func plainLoss(weights [][]float64, all []*Example) float64 {
	sum := 0.0
	for _, e := range all {
		for k, base := range e.Base {
			h := make([]float64, belief.Inputs)
			for i := range h {
				h[i] = float64(e.X[k*belief.Inputs+i])
			}
			for layer := range 3 {
				w, b := weights[2*layer], weights[2*layer+1]
				next := make([]float64, len(b))
				for o := range next {
					next[o] = b[o]
					for i, v := range h {
						next[o] += v * w[i*len(b)+o]
					}
					if layer < 2 {
						next[o] = max(next[o], 0)
					}
				}
				h = next
			}
			chance := 1 / (1 + math.Exp(-float64(base)-h[0])) // to end in the bin
			if !e.Ended || k < len(e.Base)-1 {
				chance = 1 - chance
			}
			sum -= math.Log(chance)
		}
	}
	return sum / float64(len(all))
}

// TestGradient checks loss and gradient of the graph against plain loops and their finite differences.
func TestGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const hidden = 4
	m, err := newMachine[float64](400, hidden) // more rows than are needed
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	for range 2 { // gradients must not add up
		member, all := drawnMember(hidden, r), drawn(6, r)
		var batch []*Example
		for i := range all {
			batch = append(batch, &all[i])
		}
		var weights [][]float64
		n := 0
		for _, part := range member.Parts() {
			w := make([]float64, len(part))
			graphop.Convert(w, part)
			weights = append(weights, w)
			n += len(w)
		}
		grad := make([]float64, n)
		loss, err := m.run(member, batch, grad)
		if err != nil {
			t.Fatal(err)
		}
		if want := plainLoss(weights, batch); math.Abs(loss-want) > 1e-9 {
			t.Errorf("loss %v, want %v", loss, want)
		}
		if want := meanLoss(member, all); math.Abs(loss-want) > 1e-4 {
			t.Errorf("loss %v, without Gorgonia %v", loss, want)
		}
		at := 0
		for _, w := range weights {
			for k, old := range w {
				const step = 1e-6
				w[k] = old + step
				up := plainLoss(weights, batch)
				w[k] = old - step
				down := plainLoss(weights, batch)
				w[k] = old
				if want := (up - down) / (2 * step); math.Abs(grad[at]-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("gradient of weight %d: %v, want %v", at, grad[at], want)
				}
				at++
			}
		}
	}
	all := drawn(40, r)
	var batch []*Example
	for i := range all {
		batch = append(batch, &all[i])
	}
	if _, err := m.run(drawnMember(hidden, r), batch, nil); err == nil {
		t.Error("a batch of too many bins was accepted")
	}
}
