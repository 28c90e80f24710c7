package headroom

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/policy"
)

// searchOptions bound a search.
type searchOptions struct {
	Effort int    // episodes to simulate, beside those of the policies that it begins with; about as many
	Seed   uint64 // of the search and of schedulers that draw
	// Wider is how many times as many candidates a second search over decisions draws from, 1 or less for none. It begins where
	// the first began and plays as many episodes, so it takes half of Effort more.
	Wider int
	// Step, if not nil, is called with the number of episodes simulated so far.
	Step func(episodes int)
}

// Found is what a search that knows the future achieved on one episode. No deployable policy can be told what it knows. It is
// an achieved value, not a bound: more effort may find more.
type Found struct {
	Base      string        `json:"base"`            // the policy that it began with
	Informed  bool          `json:"informed"`        // which was told true run times instead of the scenario's estimates
	BaseSum   time.Duration `json:"base_sum_jct_ns"` // the sum of its completion times, warm jobs left out
	OrderSum  time.Duration `json:"told_sum_jct_ns"` // after the search over what the policy is told: never more
	Sum       time.Duration `json:"sum_jct_ns"`      // after the search over decisions: never more
	Decisions int           `json:"decisions"`       // in which it departs from the policy
	Played    int           `json:"episodes"`        // simulated
	Metrics   eval.Metrics  `json:"metrics"`
	Wider     *Wider        `json:"wider,omitempty"` // absent where it was not asked for
}

// Wider is what a search over decisions achieved that drew from more candidates, with as many plays. Where the longer lists have
// nothing that the usual ones have not, it is the same search.
type Wider struct {
	Times     int           `json:"times"` // as many candidates
	Sum       time.Duration `json:"sum_jct_ns"`
	Decisions int           `json:"decisions"`
	Played    int           `json:"episodes"` // with those of the search over what the policy is told
	Metrics   eval.Metrics  `json:"metrics"`
}

// errNoBase says that none of the policies finishes every job of an episode.
var errNoBase = errors.New("no policy finishes every job")

// passes is how often decisions are gone through, each time by itself.
const passes = 2

// finder is the state of one search.
type finder struct {
	start  *sim.Episode
	opts   searchOptions
	warm   int
	least  []float64 // seconds that each job takes at least, as far as is known
	played int
	spent  float64 // of an episode, by forks
	taken  int
	before int             // episodes that the usual search over decisions simulated, while the wider one runs
	rivals []policy.Policy // whose proposals are among the candidates, best first
}

// step tells how far the search is.
func (f *finder) step() {
	if f.opts.Step != nil {
		f.opts.Step(f.before + f.played)
	}
}

// spend counts a part of an episode.
func (f *finder) spend(share float64) {
	for f.spent += share; f.spent >= 1; f.spent-- {
		f.played++
		f.step()
	}
}

// search looks for a better schedule of an episode than any of the policies has, in full knowledge of the future:
//
//  1. Every policy plays the episode, also with true run times in the place of estimates. The best go on.
//  2. A hill climb over what such a policy is told, in half of the effort: other estimates of jobs, which change its order, and
//     later submissions, which hold servers free.
//  3. A rollout with the true future, in the other half: at decision points alternatives are tried by Sim.Fork and
//     Sim.Continue, and taken where the episode then ends better. They are the candidates of a wide list, and to hold a
//     job until an instant of the future, which no generator of candidates knows.
//
// Every step only takes what is better to the end, so the result is never worse than the best policy. The same episode,
// policies and options give the same result.
func search(ctx context.Context, e *sim.Episode, policies []policy.Policy, opts searchOptions) (*Found, error) {
	if opts.Effort < 0 {
		return nil, fmt.Errorf("search with an effort of %d, want 0 or more", opts.Effort)
	}
	f := &finder{start: e, opts: opts, warm: e.Config.Warm}
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
	out := &Found{Base: first.name, Informed: first.informed, BaseSum: first.sum}
	first, err = f.orders(ctx, bases)
	if err != nil {
		return nil, err
	}
	out.OrderSum = first.sum
	for _, b := range bases { // with estimates others may be able to play than without
		if b.informed == first.informed && b.name != first.name {
			f.rivals = append(f.rivals, policy.Policy{Name: b.name, New: b.new})
		}
	}
	ordered, spent := f.played, f.spent
	best, decisions, err := f.decisions(ctx, first, 1)
	if err != nil {
		return nil, err
	}
	out.Sum, out.Decisions, out.Played, out.Metrics = best.sum, decisions, f.played, eval.Measure(best.log)
	if opts.Wider > 1 {
		f.before, f.played, f.spent = f.played-ordered, ordered, spent
		if best, decisions, err = f.decisions(ctx, first, opts.Wider); err != nil {
			return nil, err
		}
		out.Wider = &Wider{opts.Wider, best.sum, decisions, f.played, eval.Measure(best.log)}
	}
	return out, nil
}

// decisions searches over decisions with what is left of the effort, among so many times as many candidates as usual.
func (f *finder) decisions(ctx context.Context, first base, times int) (best *course, decisions int, err error) {
	best = first.course
	for pass := range passes {
		// Luck decides which alternatives are seen, and one that is taken shuts out others: so not all is put on one pass.
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
		if got.sum < best.sum {
			best, decisions = got, f.taken
		}
	}
	return best, decisions, nil
}

// leasts bounds the times of jobs from below, by 0 under physics of which no bound is known.
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

// base is a candidate and what it comes to.
type base struct {
	*candidate
	*course
	informed bool
}

// bases plays the policies, best first.
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
	slices.SortStableFunc(all, func(a, b base) int { return cmp.Compare(a.sum, b.sum) })
	return all, nil
}

// orders climbs from the two best policies for an eighth of the effort each, and from the better of both for a quarter more.
func (f *finder) orders(ctx context.Context, bases []base) (base, error) {
	draw := rng.Stream(f.opts.Seed, "headroom", "climb")
	some := bases[:min(2, len(bases))]
	for i := range some {
		var err error
		if some[i], err = f.climb(ctx, some[i], f.opts.Effort/8, draw); err != nil {
			return base{}, err
		}
	}
	return f.climb(ctx, slices.MinFunc(some, func(a, b base) int { return cmp.Compare(a.sum, b.sum) }), f.opts.Effort/4, draw)
}
