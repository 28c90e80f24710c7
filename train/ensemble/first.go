package ensemble

import (
	"math"
	"strconv"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/internal/rng"
)

// draw draws the first weights of the member in progress. Those of the last layer stay 0, so that it corrects nothing.
func (f *Fit[M]) draw() {
	draw := rng.Stream(f.Settings.Seed, f.Name, "weights", strconv.Itoa(len(f.Done)))
	parts := f.member.Parts()
	for i := 0; i < len(parts)-2; i += 2 {
		w, b := parts[i], parts[i+1]
		kernel.Draw(w, kernel.He(len(w)/len(b)), draw)
	}
}

// Moments returns mean and standard deviation of each input, without what is not known, NaN. The function returns rows of inputs
// of an example, each of the given width.
func Moments[E any](examples []E, width int, inputs func(*E) []float32) belief.Scaling {
	s := belief.Scaling{Mean: make([]float32, width), Scale: make([]float32, width)}
	for k := range width {
		n, sum, squares := 0.0, 0.0, 0.0
		for i := range examples {
			x := inputs(&examples[i])
			for at := k; at < len(x); at += width {
				if v := float64(x[at]); !math.IsNaN(v) {
					n++
					sum += v
					squares += v * v
				}
			}
		}
		n = max(n, 1)
		s.Mean[k], s.Scale[k] = float32(sum/n), float32(math.Sqrt(max(squares/n-sum/n*sum/n, 0))+1e-3)
	}
	return s
}
