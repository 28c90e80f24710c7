package physics

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/env/cluster"
)

// Jitter makes the true speed of a placement differ from what the other parts say, by exp(Sigma·N(0,1)) cut at two standard
// deviations, drawn anew for each job and number of servers and the same whenever asked. It stands for what no profile knows:
// a scheduler that predicts speeds by the profiles errs by it.
type Jitter struct {
	alone
	Sigma float64
}

// Name implements Part.
func (m Jitter) Name() string { return fmt.Sprintf("jitter(%g)", m.Sigma) }

// Factor implements Part.
func (m Jitter) Factor(s *cluster.View, job cluster.JobID) float64 {
	if m.Sigma == 0 {
		return 1
	}
	x := scramble((fold(fnvBasis, s.Spec(job).Name) ^ uint64(len(s.Placement(job)))) * fnvPrime)
	sum := x>>48 + x>>32&0xffff + x>>16&0xffff + x&0xffff // of four uniform numbers: near enough to normal
	z := (float64(sum)/(1<<16) - 2) * math.Sqrt(3)
	return math.Exp(m.Sigma * min(max(z, -2), 2))
}

// Of FNV-1a.
const (
	fnvBasis = 0xcbf29ce484222325
	fnvPrime = 0x100000001b3
)

// fold goes on with FNV-1a over a text.
func fold(x uint64, text string) uint64 {
	for _, c := range []byte(text) {
		x = (x ^ uint64(c)) * fnvPrime
	}
	return x
}

// scramble lets every bit of a hash depend on all.
func scramble(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}
