package comm

import (
	"fmt"
	"slices"
)

// Ranks returns the mapping of a job whose workers were placed without one, with workers[i] of them on piece i of the placement.
// It assigns the ranks stage by stage to the pieces in their order, Tensor workers to a replica. The order of the pieces
// therefore determines the mapping: the first pieces get the first stages, and the same pieces in another order may be faster or
// slower. Column i of the mapping is piece i.
//
// Ranks appends to x[:0] and allocates only if that is too small. It returns an error if the number of workers differs from the
// job's number of GPUs, or if the workers of a piece do not make up whole replicas.
func Ranks(x Mapping, job Job, workers []int32) (Mapping, error) {
	x = empty(x, len(job.Stages)*len(workers))
	tensor := job.tensor()
	placed := 0
	s, left := 0, job.Stages[0].Replicas
	for i, w := range workers {
		if w < 0 || w%tensor != 0 {
			return x, fmt.Errorf("lay out ranks: piece %d has %d workers, want a multiple of %d (tensor)", i, w, tensor)
		}
		placed += int(w)
		for n := w / tensor; n > 0; {
			if left == 0 {
				if s++; s == len(job.Stages) {
					return x, fmt.Errorf("lay out ranks: %d workers up to piece %d, want %d in all", placed, i, job.GPUs())
				}
				left = job.Stages[s].Replicas
			}
			take := min(n, left)
			x[s*len(workers)+i] = take
			n, left = n-take, left-take
		}
	}
	if want := job.GPUs(); placed != want {
		return x, fmt.Errorf("lay out ranks: %d workers on %d pieces, want %d", placed, len(workers), want)
	}
	return x, nil
}

// empty returns a mapping of n zeros, in the memory of x if that is large enough.
func empty(x Mapping, n int) Mapping {
	x = slices.Grow(x[:0], n)[:n]
	clear(x)
	return x
}
