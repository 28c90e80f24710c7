package placement

import (
	"math/rand/v2"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// random starts jobs as requested on servers in random order, and fills each server before the next. It is the ablation of
// consolidation and of every mapping of ranks to servers. All random choices follow from the seed of Reset; a job that does not
// fit causes none. A gang that must run on one GPU type takes the type of the first server drawn.
type random struct {
	filling
	draw *rand.Rand
}

// NewRandom returns a placer that takes servers in random order.
func NewRandom() Placer { return &random{} }

// Reset implements Placer. A placer that was never reset behaves as after Reset(0).
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
