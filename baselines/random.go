package baselines

import (
	"math/rand/v2"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// random starts the waiting jobs that fit in an order drawn anew at every decision point: the floor of every comparison.
type random struct {
	draw *rand.Rand
	ids  []cluster.JobID
	fit  cluster.Placement
}

func (*random) Name() string { return "random" }

func (r *random) Reset(seed uint64) error {
	r.draw = rng.Stream(seed, "baselines", "random")
	return nil
}

func (r *random) Schedule(tx *cluster.Txn) error {
	r.ids = append(r.ids[:0], tx.State().Pending()...)
	r.draw.Shuffle(len(r.ids), func(i, j int) { r.ids[i], r.ids[j] = r.ids[j], r.ids[i] })
	for _, id := range r.ids {
		var fits bool
		if r.fit, fits = tx.State().BestFit(id, r.fit[:0]); !fits {
			continue
		}
		if err := tx.Place(id, r.fit); err != nil {
			return err
		}
	}
	return nil
}
