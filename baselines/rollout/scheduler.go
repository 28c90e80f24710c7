package rollout

import (
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/baselines/place"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/rng"
)

// Scheduler is a base scheduler that looks ahead. It implements cluster.Scheduler.
type Scheduler struct {
	Config
	name    string
	front   guard // the base as it decides
	back    guard // the base as it is played on
	begin   place.Placer
	past    past
	held    map[cluster.JobID]time.Duration // since when a job that the base would have started is kept from it
	seed    uint64
	round   uint64 // decisions so far
	futures []sim.Rest
	play    sim.Sim
	rules   sim.Config
	news    bool           // something happened but to the speed of jobs
	left    int            // decision points that may still be played for this decision
	tally   map[string]int // of the choices that were not the base's, by what they were
}

// New returns the scheduler.
func New(name string, c Config) *Scheduler {
	r := &Scheduler{Config: c, name: name, begin: c.Start()}
	if c.Play == nil {
		c.Play = c.Base
	}
	r.front = guard{base: c.Base(), place: c.Start(), again: nap, exempt: r.exempt, kept: r.keep}
	r.back = guard{base: c.Play(), place: c.Start(), again: nap, steps: &r.left}
	return r
}

// nap is after how long a job that is held is looked at anew where nothing else happens.
const nap = 5 * time.Minute

// Name implements cluster.Scheduler.
func (r *Scheduler) Name() string { return r.name }

// Reset implements cluster.Scheduler.
func (r *Scheduler) Reset(seed uint64) error {
	r.past, r.held, r.seed, r.round = past{}, map[cluster.JobID]time.Duration{}, seed, 0
	r.front.commitment, r.rules, r.tally = commitment{}, sim.Config{}, map[string]int{}
	return r.front.Reset(seed)
}

// Schedule implements cluster.Scheduler.
func (r *Scheduler) Schedule(tx *cluster.Txn) error {
	s, events := tx.State(), tx.Events()
	r.news = false
	for _, e := range events {
		r.past.note(s, e)
		switch e.Kind {
		case cluster.Finished:
			delete(r.held, e.Job)
			r.news = true
		case cluster.Found, cluster.Respeed:
		default:
			r.news = true
		}
	}
	if r.rules.Physics == nil {
		r.rules = sim.Config{Physics: known{place.Profile(s)}, Restart: sim.Pause(r.Pause)}
	}
	r.round++
	r.left, r.futures = r.Budget, r.futures[:0]
	r.front.commitment = commitment{at: tx.Now(), reservation: r.front.reservation}
	from := tx.Mark()
	if err := r.front.Schedule(tx); err != nil {
		return err
	}
	err := r.improve(tx, from)
	tx.Tell(events)
	return err
}

// known is what profiles say of speed, as physics.
type known struct{ cluster.Profile }

// Name implements physics.Model.
func (known) Name() string { return "profile" }

// improve goes through what the base has proposed since the mark. Where another choice is better it is made, and the base
// proposes anew what comes after it.
func (r *Scheduler) improve(tx *cluster.Txn, from int) error {
	for {
		plan, only := starts(tx, from, nil)
		if !only || !r.worthwhile(tx, plan) {
			return nil
		}
		tx.Rollback(from)
		own, done, err := r.walk(tx, plan)
		if err != nil || own || done {
			return err
		}
		from = tx.Mark()
		r.front.stale = true
		if err := r.front.Schedule(tx); err != nil {
			return err
		}
	}
}

// worthwhile reports whether a choice may matter: jobs wait, or GPUs are short for those to come.
func (r *Scheduler) worthwhile(tx *cluster.Txn, plan []start) bool {
	s := tx.State()
	scattered := slices.ContainsFunc(plan, func(st start) bool { return len(st.at) > fewest(s, &st) })
	scarce := float64(s.FreeTotal())*cluster.WholeGPU < r.Scarce*float64(s.Total().GPUMilli)
	return len(s.Pending()) > 0 || scattered || len(plan) > 0 && scarce
}

// walk makes the choices of a plan one after another until one is not the base's. own reports that there was none, done that
// nothing is left to decide at this instant.
func (r *Scheduler) walk(tx *cluster.Txn, plan []start) (own, done bool, err error) {
	for i := 0; i <= len(plan); i++ {
		base := option{commitment: r.front.commitment}
		if i < len(plan) {
			base.starts = plan[i : i+1]
		}
		better, err := r.judge(tx, base, r.options(tx, plan, i))
		if err != nil {
			return false, false, err
		}
		if better != nil {
			return false, better.stop, r.take(tx, better, plan[i:])
		}
		if i < len(plan) {
			if err := tx.Place(plan[i].job, plan[i].at); err != nil {
				return false, false, err
			}
		}
	}
	return true, true, nil
}

// take makes a choice that is not the base's.
func (r *Scheduler) take(tx *cluster.Txn, o *option, plan []start) error {
	r.tally[o.kind]++
	r.front.stale = true
	r.front.commitment = o.commitment
	for _, st := range o.starts {
		if err := tx.Place(st.job, st.at); err != nil {
			return err
		}
	}
	if o.stop {
		r.front.stop = false
		for _, st := range plan {
			r.keep(tx, st.job)
		}
	} else if len(plan) > 0 && !slices.ContainsFunc(o.starts, func(st start) bool { return st.job == plan[0].job }) {
		r.keep(tx, plan[0].job)
	}
	return nil
}

// keep notes that a job is kept from a start that the base proposed.
func (r *Scheduler) keep(tx *cluster.Txn, id cluster.JobID) {
	if _, ok := r.held[id]; !ok {
		r.held[id] = tx.Now()
	}
	tx.WakeAt(min(tx.Now()+nap, r.held[id]+r.Hold))
}

// exempt reports whether a job has been kept long enough.
func (r *Scheduler) exempt(s *cluster.State, id cluster.JobID) bool {
	since, ok := r.held[id]
	return ok && s.Now()-since >= r.Hold
}

// foresee returns the k-th future of this decision.
func (r *Scheduler) foresee(s *cluster.State, k int) *sim.Rest {
	if r.Oracle != nil && len(r.futures) == 0 {
		r.futures = append(r.futures, r.Oracle(s.Now()))
	}
	for len(r.futures) <= k {
		random := rng.Stream(r.seed, "rollout", strconv.FormatUint(r.round, 10), strconv.Itoa(len(r.futures)))
		r.futures = append(r.futures, r.past.draw(s, r.Ahead, random))
	}
	return &r.futures[k]
}
