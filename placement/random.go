package placement

import (
	"math/rand/v2"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// random starts jobs as requested on servers in random order, each filled before the next: the ablation of consolidation and
// of every mapping of ranks to servers. What it draws follows from the seed of Reset, and a job that does not fit draws
// nothing. A gang that must be of one GPU type takes that of the first server drawn.
type random struct {
	filling
	draw *rand.Rand
}

// NewRandom returns a placer on servers in random order.
func NewRandom() Placer { return &random{} }

// Reset implements Placer. Without it, seed 0 counts.
func (r *random) Reset(seed uint64) { r.draw = rng.Stream(seed, "baselines", "place", "random") }

// Kind implements Placer.
func (*random) Kind(s *cluster.View, id cluster.JobID) Kind { return Plain(s, id) }

// Place implements Placer.
func (r *random) Place(tx *cluster.Txn, id cluster.JobID) (bool, error) {
	if !r.open(tx.View(), id) {
		return false, nil
	}
	if r.draw == nil {
		r.Reset(0)
	}
	r.draw.Shuffle(len(r.order), func(i, j int) { r.order[i], r.order[j] = r.order[j], r.order[i] })
	return true, tx.Place(id, r.fill(tx.View(), id))
}
