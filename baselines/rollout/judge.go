package rollout

import (
	"errors"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// judge plays the base's choice and the others over the same futures and returns the one that saves most, or nil for the
// base's: where none saves more than so many standard errors, or the budget does not suffice to tell.
func (r *Scheduler) judge(tx *cluster.Txn, base option, others []option) (*option, error) {
	if len(others) == 0 {
		return nil, nil
	}
	number := r.Futures
	if r.Oracle != nil {
		number = 1
	}
	saved := make([][]float64, len(others)) // by option and future, nil for one that is out
	for i := range saved {
		saved[i] = make([]float64, 0, number)
	}
	left := len(others)
	for k := range number {
		own, err := r.cost(tx, &base, k)
		if err != nil {
			return nil, unlessSpent(err)
		}
		for i := range others {
			if saved[i] == nil {
				continue
			}
			cost, err := r.cost(tx, &others[i], k)
			switch {
			case errors.Is(err, cluster.ErrInfeasible):
				saved[i] = nil
			case err != nil:
				return nil, unlessSpent(err)
			default:
				saved[i] = append(saved[i], own-cost)
			}
			if mean, _ := spread(saved[i]); saved[i] != nil && mean <= 0 { // it would have to make up for that first
				saved[i] = nil
			}
			if saved[i] == nil {
				left--
			}
		}
		if left == 0 {
			return nil, nil
		}
	}
	var best *option
	most := 0.0
	for i := range others {
		if mean, margin := spread(saved[i]); saved[i] != nil && mean > r.Errors*margin && mean > most {
			best, most = &others[i], mean
		}
	}
	return best, nil
}

func unlessSpent(err error) error {
	if errors.Is(err, errSpent) {
		return nil
	}
	return err
}

// spread returns the mean and its standard error, 0 for one value.
func spread(v []float64) (mean, se float64) {
	n := float64(len(v))
	for _, x := range v {
		mean += x / n
	}
	if n < 2 {
		return mean, 0
	}
	for _, x := range v {
		se += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(se / (n - 1) / n)
}

// stuck is what a job costs that cannot end in a play, in seconds.
const stuck = 24 * 3600.0

// cost plays the base to the end of the k-th future after a choice and returns the job-seconds until there: the sum of the
// jobs' times to go. The transaction is left as it was.
func (r *Scheduler) cost(tx *cluster.Txn, o *option, k int) (float64, error) {
	mark := tx.Mark()
	defer tx.Rollback(mark)
	for _, st := range o.starts {
		if err := tx.Place(st.job, st.at); err != nil {
			return 0, err
		}
	}
	if err := r.play.Resume(&r.rules, tx.State(), *r.foresee(tx.State(), k)); err != nil {
		return 0, err
	}
	r.back.commitment = o.commitment
	cost := 0.0
	err := r.play.Continue(&r.back, r.seed, func(from, to time.Duration, jobs int) {
		cost += float64(jobs) * (to - from).Seconds()
	})
	if err != nil {
		return 0, err
	}
	end := r.play.State()
	return cost + stuck*float64(len(end.Pending())+len(end.Running())), nil
}
