package rollout

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/rng"
)

// New returns a scheduler that reviews the base of c by rollouts.
func New(name string, c Config) *candidates.Scheduler {
	j := &judge{Config: c}
	if c.Play == nil {
		c.Play = c.Base
	}
	j.back = candidates.NewGuard(c.Play(), c.Start(), &j.left)
	return candidates.New(name, c.Config, j)
}

// judge plays candidates on and compares them. It implements candidates.Judge.
type judge struct {
	Config
	back    *candidates.Guard // the scheduler that plays on
	past    past
	seed    uint64
	round   uint64 // number of decisions so far
	futures []sim.Rest
	play    sim.Sim
	rules   sim.Config
	left    int // decision points that may still be played for this decision
}

// Reset implements candidates.Judge.
func (j *judge) Reset(seed uint64) {
	j.past, j.seed, j.round, j.rules = past{}, seed, 0, sim.Config{}
}

// Observe implements candidates.Judge.
func (j *judge) Observe(tx *cluster.Txn) {
	s := tx.View()
	for _, e := range tx.Events() {
		j.past.note(s, e)
	}
	if j.rules.Physics == nil {
		j.rules = sim.Config{Physics: known{placement.Profile(s)}, Restart: sim.Pause(j.Pause)}
	}
	j.round++
	j.left, j.futures = j.Budget, j.futures[:0]
}

// known is a physics model that takes its speeds from a profile.
type known struct{ cluster.Profile }

// Name implements physics.Model.
func (known) Name() string { return "profile" }

// foresee returns the k-th future of the present decision.
func (j *judge) foresee(s *cluster.View, k int) *sim.Rest {
	if j.Oracle != nil && len(j.futures) == 0 {
		j.futures = append(j.futures, j.Oracle(s.Now()))
	}
	for len(j.futures) <= k {
		random := rng.Stream(j.seed, "rollout", strconv.FormatUint(j.round, 10), strconv.Itoa(len(j.futures)))
		j.futures = append(j.futures, j.past.draw(s, j.Ahead, random))
	}
	return &j.futures[k]
}

// Choose implements candidates.Judge. It plays the base's own candidate and the others over the same futures and returns the one
// that saves most. It returns the base's own if no other saves more than Errors standard errors, or if the budget runs out.
func (j *judge) Choose(tx *cluster.Txn, list []candidates.Candidate) (int, error) {
	number := j.Futures
	if j.Oracle != nil {
		number = 1
	}
	saved := make([][]float64, len(list)) // by candidate and future; nil for a candidate that is out or no longer possible
	left := 0
	for i := 1; i < len(list); i++ {
		if !list[i].Gone {
			saved[i] = make([]float64, 0, number)
			left++
		}
	}
	for k := range number {
		own, err := j.cost(tx, &list[0], k)
		if err != nil {
			return 0, unlessSpent(err)
		}
		for i := range list {
			if saved[i] == nil {
				continue
			}
			cost, err := j.cost(tx, &list[i], k)
			if err != nil {
				return 0, unlessSpent(err)
			}
			saved[i] = append(saved[i], own-cost)
			if mean, _ := spread(saved[i]); mean <= 0 { // it is behind already: drop it
				saved[i] = nil
				left--
			}
		}
		if left == 0 {
			return 0, nil
		}
	}
	best, most := 0, 0.0
	for i := range list {
		if mean, margin := spread(saved[i]); saved[i] != nil && mean > j.Errors*margin && mean > most {
			best, most = i, mean
		}
	}
	return best, nil
}

func unlessSpent(err error) error {
	if errors.Is(err, candidates.ErrSpent) {
		return nil
	}
	return err
}

// spread returns the mean and its standard error; the error of one value is 0.
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

// stuck is the cost, in seconds, of a job that never ends in a rollout.
const stuck = 24 * 3600.0

// cost plays the base to the end of the k-th future after a choice. It returns the job-seconds until the end: the sum of the
// remaining times of the jobs. It restores the transaction.
func (j *judge) cost(tx *cluster.Txn, o *candidates.Candidate, k int) (float64, error) {
	mark := tx.Mark()
	defer tx.Rollback(mark)
	if !o.Gone { // nothing may be left of the base's own candidate
		if err := o.Apply(tx); err != nil {
			return 0, err
		}
	}
	if err := j.play.Resume(&j.rules, tx.View(), *j.foresee(tx.View(), k)); err != nil {
		return 0, err
	}
	j.back.Commit(o)
	cost := 0.0
	err := j.play.Continue(j.back, j.seed, func(from, to time.Duration, jobs int) bool {
		cost += float64(jobs) * (to - from).Seconds()
		return true
	})
	if err != nil {
		return 0, err
	}
	end := j.play.State()
	return cost + stuck*float64(len(end.Pending())+len(end.Running())), nil
}
