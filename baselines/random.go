package baselines

import (
	"math/rand/v2"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/internal/rng"
)

// random starts the waiting jobs that fit, in an order drawn again at every decision point. It is the lower bound of every
// comparison.
type random struct {
	name  string
	draw  *rand.Rand
	ids   []cluster.JobID
	place placement.Placer

	refused map[placement.Kind]bool // in this pass
}

func (r *random) Name() string { return r.name }

func (r *random) Reset(seed uint64) error {
	r.place.Reset(seed)
	r.refused = map[placement.Kind]bool{}
	r.draw = rng.Stream(seed, "baselines", "random")
	return nil
}

func (r *random) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	clear(r.refused)
	r.ids = append(r.ids[:0], s.Pending()...)
	r.draw.Shuffle(len(r.ids), func(i, j int) { r.ids[i], r.ids[j] = r.ids[j], r.ids[i] })
	for _, id := range r.ids {
		kind := r.place.Kind(s, id)
		if r.refused[kind] {
			continue
		}
		started, err := r.place.Place(tx, id)
		if err != nil {
			return err
		}
		r.refused[kind] = !started
	}
	return placement.Finish(r.place, tx)
}
