package physics

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/env/cluster"
)

// Jitter makes the true speed of a placement differ from the product of the other parts. Its factor is exp(Sigma·z), where z is
// roughly standard normal and cut at ±2. The factor depends only on the job's name and its number of servers, so repeated calls
// agree. Jitter stands for the influences that no profile contains: a scheduler that predicts speeds from the profiles is wrong
// by this factor.
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
	sum := x>>48 + x>>32&0xffff + x>>16&0xffff + x&0xffff // the sum of four uniform numbers, close enough to a normal one
	z := (float64(sum)/(1<<16) - 2) * math.Sqrt(3)
	return math.Exp(m.Sigma * min(max(z, -2), 2))
}

// The constants of FNV-1a.
const (
	fnvBasis = 0xcbf29ce484222325
	fnvPrime = 0x100000001b3
)

// fold continues the FNV-1a hash x over a text.
func fold(x uint64, text string) uint64 {
	for _, c := range []byte(text) {
		x = (x ^ uint64(c)) * fnvPrime
	}
	return x
}

// scramble mixes the bits of a hash so that every bit of the result depends on all of them.
func scramble(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}
