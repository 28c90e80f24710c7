package headroom

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/policy"
)

// searchOptions limit a search.
type searchOptions struct {
	Effort int    // about how many episodes to simulate, beyond one for each policy that it begins with
	Seed   uint64 // seeds the search and the schedulers that draw random numbers
	// Objective is what the search lowers; nil is the sum of completion times.
	Objective *objectives.Objective
	// Wider makes a second search over decisions draw from this many times as many candidates; 1 or less means no second search.
	// It begins where the first search over decisions began and plays as many episodes, so it adds half of Effort.
	Wider int
	// Step, if not nil, is called with the number of episodes simulated so far.
	Step func(episodes int)
}

// Found is what a search with knowledge of the future achieved on one episode. No deployable policy has that knowledge. Found is
// an achieved value, not a bound: more effort may find a better one.
type Found struct {
	Base      string       `json:"base"`      // the policy that it began with
	Informed  bool         `json:"informed"`  // whether that policy saw true run times instead of the scenario's estimates
	BaseCost  float64      `json:"base_cost"` // by the objective; job-hours of completion times without one
	OrderCost float64      `json:"told_cost"` // after the search over estimates and holds; never more than BaseCost
	Cost      float64      `json:"cost"`      // after the search over decisions; never more than OrderCost
	Decisions int          `json:"decisions"` // number of decisions that differ from the policy's
	Played    int          `json:"episodes"`  // number of episodes simulated
	Metrics   eval.Metrics `json:"metrics"`
	Wider     *Wider       `json:"wider,omitempty"` // absent if searchOptions.Wider is 1 or less
}

// Wider is what a search over decisions achieved with more candidates and the same number of episodes. If the longer lists
// contain nothing beyond the usual ones, it is the same search.
type Wider struct {
	Times     int          `json:"times"` // how many times as many candidates
	Cost      float64      `json:"cost"`
	Decisions int          `json:"decisions"`
	Played    int          `json:"episodes"` // including those of the search over estimates and holds
	Metrics   eval.Metrics `json:"metrics"`
}

// errNoBase reports that none of the policies finishes every job of an episode.
var errNoBase = errors.New("no policy finishes every job")

// passes is the number of independent passes over the decisions of an episode.
const passes = 2

// finder is the state of one search.
type finder struct {
	start     *sim.Episode
	opts      searchOptions
	objective *objectives.Objective
	least     []float64 // lower bound on each job's time in seconds; 0 if none is known
	played    int
	spent     float64 // fraction of an episode that forks have simulated and played does not count yet
	taken     int
	before    int             // episodes that the usual search over decisions simulated, while the wider search runs
	rivals    []policy.Policy // policies whose proposals are candidates, best first
}

// step reports the number of episodes simulated so far.
func (f *finder) step() {
	if f.opts.Step != nil {
		f.opts.Step(f.before + f.played)
	}
}

// spend counts a fraction of a simulated episode.
func (f *finder) spend(share float64) {
	for f.spent += share; f.spent >= 1; f.spent-- {
		f.played++
		f.step()
	}
}

// search looks for a better schedule of an episode than that of any policy, with full knowledge of the future:
//
//  1. Every policy plays the episode, once with the scenario's estimates and once with true run times. The best policies go on.
//  2. Half of the effort goes to a hill climb over what such a policy is told: other estimates of jobs, which change its order,
//     and later submissions, which keep servers free.
//  3. The other half goes to rollouts with the true future: at decision points the search tries alternatives with Sim.Fork and
//     Sim.Continue, and adopts one if the episode then ends better. An alternative is a candidate from a wide list, or a hold of
//     a job until a time in the future, which no candidate generator can know.
//
// Every step adopts only what lowers the final cost, so the result is never worse than the best policy. The same episode,
// policies and options give the same result.
func search(ctx context.Context, e *sim.Episode, policies []policy.Policy, opts searchOptions) (*Found, error) {
	if opts.Effort < 0 {
		return nil, fmt.Errorf("search with an effort of %d, want 0 or more", opts.Effort)
	}
	f := &finder{start: e, opts: opts, objective: opts.Objective}
	if f.objective == nil {
		f.objective = objectives.Usual()
	}
	f.least = leasts(e)
	bases, err := f.bases(ctx, policies)
	if err != nil {
		return nil, err
	}
	f.played = 0
	first := bases[0]
	if len(first.rows) == 0 {
		f.opts.Effort = 0
	}
	out := &Found{Base: first.name, Informed: first.informed, BaseCost: first.cost}
	first, err = f.orders(ctx, bases)
	if err != nil {
		return nil, err
	}
	out.OrderCost = first.cost
	for _, b := range bases { // the others may be able to play only with, or only without, true run times
		if b.informed == first.informed && b.name != first.name {
			f.rivals = append(f.rivals, policy.Policy{Name: b.name, New: b.new})
		}
	}
	ordered, spent := f.played, f.spent
	best, decisions, err := f.decisions(ctx, first, 1)
	if err != nil {
		return nil, err
	}
	out.Cost, out.Decisions, out.Played, out.Metrics = best.cost, decisions, f.played, eval.Measure(best.log)
	if opts.Wider > 1 {
		f.before, f.played, f.spent = f.played-ordered, ordered, spent
		if best, decisions, err = f.decisions(ctx, first, opts.Wider); err != nil {
			return nil, err
		}
		out.Wider = &Wider{opts.Wider, best.cost, decisions, f.played, eval.Measure(best.log)}
	}
	return out, nil
}

// decisions searches over decisions with the remaining effort. The parameter times multiplies the usual number of candidates.
func (f *finder) decisions(ctx context.Context, first base, times int) (best *course, decisions int, err error) {
	best = first.course
	for pass := range passes {
		// Chance decides which alternatives a pass examines, and an adopted one rules out others. So the effort is divided between
		// passes.
		budget := (f.opts.Effort - f.played) / (passes - pass)
		if budget < 2 {
			continue
		}
		f.taken = 0
		got, err := f.decide(ctx, first.candidate, first.course, budget-1, times, strconv.Itoa(pass))
		if errors.Is(err, errUnfinished) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if got.cost < best.cost {
			best, decisions = got, f.taken
		}
	}
	return best, decisions, nil
}

// leasts returns a lower bound on each job's time in seconds, or 0 if the physics has no known bound.
func leasts(e *sim.Episode) []float64 {
	all := make([]float64, len(e.Jobs))
	v, err := newSpeeds(&e.Config)
	if err != nil {
		return all
	}
	for i := range all {
		if luck, err := v.luck(&e.Jobs[i].JobSpec); err == nil {
			all[i] = v.least(&e.Jobs[i], luck)
		}
	}
	return all
}

// base is a candidate and the course it leads to.
type base struct {
	*candidate
	*course
	informed bool
}

// bases plays the policies and returns them best first.
func (f *finder) bases(ctx context.Context, policies []policy.Policy) ([]base, error) {
	given, known := truth(f.start.Jobs, false), truth(f.start.Jobs, true)
	var all []base
	var failed error
	for _, p := range policies {
		for _, w := range []*influence{given, known} {
			if w == known && slices.Equal(known.told, given.told) {
				continue
			}
			c := &candidate{p.Name, p.New, w, w}
			got, err := f.play(ctx, c)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				failed = cmp.Or(failed, fmt.Errorf("%s: %w", p.Name, err))
				continue
			}
			all = append(all, base{c, got, w == known})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("search: %w: %w", errNoBase, failed)
	}
	slices.SortStableFunc(all, func(a, b base) int { return cmp.Compare(a.cost, b.cost) })
	return all, nil
}

// orders climbs from the two best policies, with an eighth of the effort each, and then from the better result, with a quarter of
// the effort.
func (f *finder) orders(ctx context.Context, bases []base) (base, error) {
	draw := rng.Stream(f.opts.Seed, "headroom", "climb")
	some := bases[:min(2, len(bases))]
	for i := range some {
		var err error
		if some[i], err = f.climb(ctx, some[i], f.opts.Effort/8, draw); err != nil {
			return base{}, err
		}
	}
	return f.climb(ctx, slices.MinFunc(some, func(a, b base) int { return cmp.Compare(a.cost, b.cost) }), f.opts.Effort/4, draw)
}
