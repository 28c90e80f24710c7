package headroom

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
)

// coupler measures the decision points of one window. It uses a decider to find candidates and to play forks.
type coupler struct {
	*decider
	plan *CouplingPlan
	all  []trace.Job // in the true future, by their times of submission
	step func(played int)
}

// juncture is a decision point with some of its candidates.
type juncture struct {
	decision int // how many decisions come before it
	now      time.Duration
	choices  [][]cluster.Proposal
	pairs    [][2]int // choices that can be carried out together, the lower index first; set by best
}

func newCoupler(p *CouplingPlan, start *sim.Episode, seed uint64) (*coupler, error) {
	e := *start
	e.Jobs = slices.Clone(e.Jobs)
	slices.SortStableFunc(e.Jobs, func(a, b trace.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	f := &finder{start: &e, opts: searchOptions{Seed: seed}, warm: e.Config.Warm}
	c := &coupler{plan: p, all: e.Jobs, decider: &decider{
		finder: f, until: make([]time.Duration, len(e.Jobs)), draw: rng.Stream(seed, "headroom", "coupling"),
	}}
	c.base = &candidate{name: p.Base.Name, new: p.Base.New}
	c.foresee(e.Jobs)
	var err error
	c.board, err = c.newBoard(1, 0)
	return c, err
}

// foresee makes the episodes to come end with these jobs.
func (c *coupler) foresee(jobs []trace.Job) {
	c.start.Jobs, c.base.influence = jobs, truth(jobs, false)
}

// measure draws decision points and values their candidates.
func (c *coupler) measure(ctx context.Context, w *CoupledWindow) error {
	points, sum, err := c.survey(ctx, w)
	if err != nil {
		return err
	}
	for i := range points {
		v, err := c.value(ctx, &points[i])
		if errors.Is(err, errUnfinished) {
			continue
		}
		if err != nil {
			return err
		}
		w.Points++
		v.add(w, 100/sum.Seconds())
	}
	return nil
}

// survey plays the base and draws decision points, each with the same chance, among those with two candidates that can be
// carried out together. It returns them in the order of their times, with the base's sum of completion times.
func (c *coupler) survey(ctx context.Context, w *CoupledWindow) ([]juncture, time.Duration, error) {
	live, err := c.episode(c.base.influence)
	if err != nil {
		return nil, 0, err
	}
	if err := c.begins(); err != nil {
		return nil, 0, err
	}
	var drawn []juncture
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		tx, ok := live.Next()
		if !ok {
			break
		}
		look := len(tx.View().Pending()) > 0
		if look {
			live.Fork(&c.before)
		}
		if err := c.sched.Schedule(tx); err != nil {
			return nil, 0, fmt.Errorf("%s at %v: %w", c.base.name, tx.Now(), err)
		}
		if look {
			p := juncture{decision: n, now: tx.Now()}
			if err := c.list(&p, record(tx).ops); err != nil {
				return nil, 0, err
			}
			if len(p.choices) > 0 {
				w.Eligible++
				if at := c.draw.IntN(w.Eligible); len(drawn) < c.plan.Points {
					drawn = append(drawn, p)
				} else if at < len(drawn) {
					drawn[at] = p
				}
			}
		}
		live.Commit()
	}
	if !live.Outcome().Terminated {
		return nil, 0, fmt.Errorf("%s: %w", c.base.name, errUnfinished)
	}
	slices.SortFunc(drawn, func(a, b juncture) int { return a.decision - b.decision })
	return drawn, c.sched.sum, nil
}

// begins makes a new scheduler of the base and resets it.
func (c *coupler) begins() (err error) {
	if c.sched, err = c.scheduler(); err != nil {
		return err
	}
	return c.sched.Reset(c.opts.Seed)
}

// list finds the candidates at the decision point in c.before, where the base proposes ops. A candidate stops, moves, resizes
// or starts jobs, and starts one at most. The base's own start counts as one if it is the only one that the base proposes or a
// part of the proposal. list leaves p without choices if no two of them can be carried out together.
func (c *coupler) list(p *juncture, ops []cluster.Proposal) error {
	c.before.Fork(&c.fork)
	tx := c.fork.State().Txn()
	tx.Tell(c.fork.State().Introduce())
	c.own.ops = ops
	if err := c.board.Begin(tx); err != nil {
		return fmt.Errorf("find candidates at %v: %w", tx.Now(), err)
	}
	for _, x := range c.board.List() {
		if len(x.Ops) > 0 && (x.Kind != candidates.Own || len(x.Ops) == 1) && starts(x.Ops) <= 1 {
			p.choices = append(p.choices, own(x.Ops))
		}
	}
	if len(c.fitting(p.choices, 1)) == 0 {
		p.choices = nil
	}
	return nil
}

// fitting returns pairs of choices that can be carried out together at the decision point in c.before, the lower index first,
// and stops when it has enough.
func (c *coupler) fitting(choices [][]cluster.Proposal, enough int) (pairs [][2]int) {
	c.before.Fork(&c.fork)
	tx := c.fork.State().Txn()
	for i := range choices {
		for k := range i {
			if len(pairs) == enough || !disjoint(choices[k], choices[i]) {
				continue
			}
			mark := tx.Mark()
			if try(tx, choices[k]) && try(tx, choices[i]) {
				pairs = append(pairs, [2]int{k, i})
			}
			tx.Rollback(mark)
		}
	}
	return pairs
}

// best reduces the choices of a point to those that save most by themselves if no more jobs are submitted, at most half of them
// for one job, and finds their pairs.
func (c *coupler) best(ctx context.Context, p *juncture) error {
	c.foresee(c.all[:later(c.all, p.now)])
	if err := c.reach(p.decision); err != nil {
		return err
	}
	after := make([]time.Duration, len(p.choices))
	order := make([]int, len(p.choices))
	for i, ops := range p.choices {
		sum, err := c.play(ctx, ops)
		if err != nil {
			return err
		}
		order[i], after[i] = i, sum
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(after[i], after[k]) })
	var some [][]cluster.Proposal
	of := map[cluster.JobID]int{} // number of choices for a job
	for _, i := range order {
		ops := p.choices[i]
		job := ops[len(ops)-1].Job
		if of[job]++; of[job] <= max(c.plan.Candidates/2, 1) && len(some) < c.plan.Candidates {
			some = append(some, ops)
		}
	}
	p.choices, p.pairs = some, c.fitting(some, math.MaxInt)
	return nil
}

// value plays the best choices of a point, and all their pairs, in every future, and then without the jobs that are submitted
// later.
func (c *coupler) value(ctx context.Context, p *juncture) (*valued, error) {
	if err := c.best(ctx, p); err != nil {
		return nil, err
	}
	v := &valued{choices: len(p.choices), pairs: p.pairs, futures: c.plan.Futures}
	for future := range c.plan.Futures + 1 {
		jobs := c.all
		switch {
		case future == c.plan.Futures:
			jobs = c.all[:later(c.all, p.now)]
		case future > 0:
			name := strconv.Itoa(p.decision) + "/" + strconv.Itoa(future)
			jobs = reordered(c.all, p.now, rng.Stream(c.opts.Seed, "headroom", "future", name))
		}
		c.foresee(jobs)
		if err := c.reach(p.decision); err != nil {
			return nil, err
		}
		base, err := c.play(ctx, nil)
		if err != nil {
			return nil, err
		}
		saves := make([]float64, 0, len(p.choices)+len(p.pairs))
		for _, ops := range p.choices {
			sum, err := c.play(ctx, ops)
			if err != nil {
				return nil, err
			}
			saves = append(saves, (base - sum).Seconds())
		}
		for _, k := range p.pairs {
			sum, err := c.play(ctx, slices.Concat(p.choices[k[0]], p.choices[k[1]]))
			if err != nil {
				return nil, err
			}
			saves = append(saves, (base - sum).Seconds())
		}
		v.saves = append(v.saves, saves)
	}
	return v, nil
}

// reach plays the base up to a decision and leaves the state before it in c.before.
func (c *coupler) reach(decision int) error {
	live, err := c.episode(c.base.influence)
	if err != nil {
		return err
	}
	if err := c.begins(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		tx, ok := live.Next()
		if !ok {
			return errUnfinished
		}
		if n == decision {
			live.Fork(&c.before)
		}
		if err := c.sched.Schedule(tx); err != nil { // at the decision itself, to count the jobs that ended
			return fmt.Errorf("%s at %v: %w", c.base.name, tx.Now(), err)
		}
		if n == decision {
			return nil
		}
		live.Commit()
	}
}

// play carries out operations, lets the base play on and returns the sum of completion times.
func (c *coupler) play(ctx context.Context, ops []cluster.Proposal) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	c.played++
	c.step(c.played)
	return c.try(&other{ops: ops})
}

// reordered returns the jobs with those that are submitted after an instant in a random order, at the same times of submission.
func reordered(jobs []trace.Job, now time.Duration, draw *rand.Rand) []trace.Job {
	all := slices.Clone(jobs)
	shuffle(draw, all[later(jobs, now):])
	for i := range all {
		all[i].Submit = jobs[i].Submit
	}
	return all
}

// later returns the index of the first job that is submitted after an instant.
func later(jobs []trace.Job, now time.Duration) int {
	at, _ := slices.BinarySearchFunc(jobs, now+1, func(j trace.Job, at time.Duration) int { return cmp.Compare(j.Submit, at) })
	return at
}

func shuffle[T any](draw *rand.Rand, s []T) {
	draw.Shuffle(len(s), func(i, k int) { s[i], s[k] = s[k], s[i] })
}

// own returns operations that share no memory with a source of candidates.
func own(ops []cluster.Proposal) []cluster.Proposal {
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i].Placement = slices.Clone(ops[i].Placement)
	}
	return ops
}

func starts(ops []cluster.Proposal) (n int) {
	for i := range ops {
		if ops[i].Kind == cluster.OpPlace {
			n++
		}
	}
	return n
}

func disjoint(a, b []cluster.Proposal) bool {
	return !slices.ContainsFunc(a, func(x cluster.Proposal) bool {
		return slices.ContainsFunc(b, func(y cluster.Proposal) bool { return x.Job == y.Job })
	})
}

// try carries out operations as far as the state allows, and reports whether it allowed all.
func try(tx *cluster.Txn, ops []cluster.Proposal) bool {
	for i := range ops {
		if !tx.Try(&ops[i]) {
			return false
		}
	}
	return true
}
