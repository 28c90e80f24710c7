package train

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
)

// next plays the episodes of one update and learns from them.
func (r *run) next(ctx context.Context) (*Metrics, error) {
	m := &Metrics{Update: r.update + 1}
	if m.Update == 1 {
		m.Start, m.StartKept = r.startJCT, r.startKept
	}
	var samples []learn.Sample
	var err error
	if r.expert(m.Update) {
		samples, err = r.study(ctx, m)
	} else {
		samples, err = r.gather(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	progress := float64(r.update) / float64(r.cfg.total(m.Update))
	draw := rng.Stream(r.cfg.Seed, "train", "learn", strconv.Itoa(m.Update))
	r.watch.samples(samples)
	if m.Update == r.cfg.Expert+1 {
		r.learner.forget() // the size of labels' gradients says nothing about that of draws
	}
	if len(samples) > 0 {
		if err := r.learner.improve(samples, r.expert(m.Update), progress, draw, m); err != nil {
			return nil, err
		}
	}
	if r.cfg.due(m.Update) {
		return m, r.validate(ctx, m)
	}
	return m, nil
}

// due reports whether an update ends with validation and a checkpoint.
func (c *Config) due(update int) bool {
	return update%c.Every == 0 || update == c.Updates || update == c.total(update)
}

// expert reports whether an update learns from labels.
func (r *run) expert(update int) bool { return update <= r.cfg.Expert }

// study adds the update's windows to the labelled ones and draws samples to learn from all of them.
func (r *run) study(ctx context.Context, m *Metrics) ([]learn.Sample, error) {
	if err := r.labels.extend(ctx, r, m.Update*r.cfg.Windows); err != nil {
		return nil, err
	}
	fresh := slices.Concat(r.labels.windows[(m.Update-1)*r.cfg.Windows:]...)
	m.Unseen = unseen(r.policy, fresh, r.cfg.Margin)
	m.Choices = len(fresh)
	for i := range fresh {
		r.policy.Range = r.policy.Range.Widen(&r.policy.Shape, fresh[i].Observation)
	}
	all := r.labels.draw(rng.Stream(r.cfg.Seed, "train", "replay", strconv.Itoa(m.Update)))
	m.Learned = len(all)
	return all, nil
}

// window is a training window of an update with its rollouts.
type window struct {
	bars
	source  *scenario.Source
	index   int // among the training windows of the source
	seed    uint64
	episode scenario.Episode
	group   []*rollout
}

// choose returns the windows of an update, without their episodes, and the stream of random numbers that chose them.
func (r *run) choose(n int) ([]window, *rand.Rand) {
	update := strconv.Itoa(n)
	pick := rng.Stream(r.cfg.Seed, "train", "windows", update)
	windows, sources := make([]window, r.cfg.Windows), r.stages[r.cfg.stage(n)]
	for w := range windows {
		v := &windows[w]
		v.source = sources[((n-1)*r.cfg.Windows+w)%len(sources)]
		v.index = pick.IntN(v.source.Count(scenario.Train))
		v.seed = rng.Derive(r.cfg.Seed, "train", "episode", update, strconv.Itoa(w))
	}
	return windows, pick
}

// open makes the episode of a window.
func (v *window) open() (err error) {
	v.episode, err = v.source.Episode(scenario.Train, v.index, v.seed)
	return err
}

// gather plays the update's episodes with the sampled policy and draws the samples to learn from.
func (r *run) gather(ctx context.Context, m *Metrics) ([]learn.Sample, error) {
	windows, pick := r.choose(m.Update)
	for w := range windows {
		if err := windows[w].open(); err != nil {
			return nil, err
		}
	}
	if err := r.play(ctx, m.Update, windows); err != nil {
		return nil, err
	}
	if r.central != nil {
		if err := r.central.judge(windows, rng.Stream(r.cfg.Seed, "train", "critic", strconv.Itoa(m.Update)), m); err != nil {
			return nil, err
		}
	}
	var all []learn.Sample
	var returns []float64
	others, choices := 0, 0
	var costs contest
	made := newProposals(r.policy.Wide.Rivals)
	for w := range windows {
		v := &windows[w]
		for _, g := range v.group {
			g.judge(r.cfg.Memory, r.cfg.Credit)
			costs.add(v.source, g.curve, &v.bars)
			made.add(&g.proposals)
			for kind, n := range g.kinds {
				choices += n
				if candidates.Kind(kind) != candidates.Own {
					others += n
				}
			}
			m.Return -= g.curve.total
			returns = append(returns, -g.curve.total)
		}
	}
	relate(windows)
	for w := range windows {
		for _, g := range windows[w].group {
			all = append(all, g.samples...)
		}
	}
	r.watch.returns(returns)
	n := float64(r.cfg.Windows * r.cfg.Rollouts)
	m.Return /= n
	relative := costs.over(costs.prior)
	m.Relative = &relative
	m.Against, m.Best = costs.means(r.cfg.against())
	m.Proposed, m.Taken = made.offered, made.taken
	m.Choices, m.Departs = choices, float64(others)/float64(max(choices, 1))
	if len(all) > r.cfg.Choices {
		pick.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:r.cfg.Choices]
	}
	m.Learned = len(all)
	for i := range all {
		r.policy.Range = r.policy.Range.Widen(&r.policy.Shape, all[i].Observation)
	}
	return all, nil
}

// play fills in the rollouts of every window and the costs with which they are compared.
func (r *run) play(ctx context.Context, update int, windows []window) error {
	var outs []*rollout
	var elsewhere *rolls
	var err error
	if r.opt.Pool != nil {
		if elsewhere, err = r.giveRollouts(update); err != nil {
			return err
		}
	}
	costs, err := r.compare(ctx, len(windows), func(i int) (*scenario.Source, sim.Episode, error) {
		return windows[i].source, windows[i].episode.Episode, nil
	})
	if err != nil {
		return err
	}
	if elsewhere != nil {
		if outs, err = elsewhere.wait(ctx, r.opt.Pool); err != nil {
			return err
		}
	}
	var players []*player
	for w := range windows {
		windows[w].bars = costs[w]
		for i := range r.cfg.Rollouts {
			if outs != nil && outs[w*r.cfg.Rollouts+i] != nil {
				windows[w].group = append(windows[w].group, outs[w*r.cfg.Rollouts+i])
				continue
			}
			g, err := r.player(update, w, i, &windows[w])
			if err != nil {
				return err
			}
			players = append(players, g)
			windows[w].group = append(windows[w].group, g.out)
		}
	}
	return playAll(ctx, players, r.opt.Workers, func(int, *rollout) error { return nil })
}

// player returns the player of the i-th episode on the w-th window of an update.
func (r *run) player(update, w, i int, v *window) (*player, error) {
	draw := rng.Stream(r.cfg.Seed, "train", "rollout", strconv.Itoa(update), strconv.Itoa(w), strconv.Itoa(i))
	g, err := newPlayer(r.at(v.source, r.policy), v.episode.Episode, r.goal, -1, draw)
	if err != nil {
		return nil, err
	}
	g.team.Explore(draw, r.cfg.temperature())
	if r.cfg.drawsEstimate() {
		g.ends(&r.cfg)
	}
	g.learned = r.cfg.learnsCritic()
	return g, nil
}

// margins are the multiples of Config.Margin to validate. Bids have errors, so the highest bid is often one that is too high; a
// larger margin trusts bids less. Validation chooses the margin together with the weights.
var margins = []float64{1, 2, 4}

// validate plays the greedy policy on the validation windows with several margins. It keeps the weights, with the margin that
// costs least, if they are better than those kept so far by more than the standard error of the ratio.
func (r *run) validate(ctx context.Context, m *Metrics) error {
	if len(r.windows) == 0 {
		return nil
	}
	var best *contest
	for _, times := range margins {
		p := *r.policy
		p.Margin *= times
		costs, made, err := r.relative(ctx, &p)
		if err != nil {
			return err
		}
		mean := costs.over(costs.prior)
		if m.Validation == nil || mean < *m.Validation {
			best, m.Validation, m.ValidationError, m.Margin = costs, &mean, costs.uncertain(), p.Margin
			m.ValidationCost, m.ValidationPrior = stats.Mean(costs.team), stats.Mean(costs.prior)
			m.ValidationAgainst, m.ValidationBest = costs.means(r.cfg.against())
			m.ValidationProposed, m.ValidationTaken = made.offered, made.taken
		}
	}
	if now := best.scaled(best.team); better(now, r.topCosts) {
		m.Kept = true
		r.top, r.topCosts, r.topJCT, r.topMargin, r.topUpdate = r.policy.Params.Clone(), now, *m.Validation, m.Margin, m.Update
	}
	return nil
}

// relative returns a policy's costs on the validation windows beside those of the prior and the rivals, and how many of their
// proposals it took.
func (r *run) relative(ctx context.Context, p *agents.Policy) (all *contest, made proposals, err error) {
	costs, seen := make([]*curve, len(r.windows)), make([]proposals, len(r.windows))
	err = r.each(ctx, len(r.windows), func(i int) error {
		x := &r.windows[i]
		e, err := x.source.Episode(scenario.Validation, x.window, r.cfg.Seed)
		if err != nil {
			return err
		}
		team := agents.NewTeam(r.at(x.source, p))
		if seen[i] = newProposals(p.Wide.Rivals); len(p.Wide.Rivals) > 0 {
			team.Record(func(_ *cluster.Txn, c *agents.Choice) error {
				seen[i].see(c)
				return nil
			})
		}
		costs[i], err = r.goal.follow(team, e.Episode)
		return err
	})
	if err != nil {
		return nil, made, err
	}
	all, made = &contest{}, newProposals(p.Wide.Rivals)
	for i := range r.windows {
		x := &r.windows[i]
		all.add(x.source, costs[i], &x.bars)
		made.add(&seen[i])
	}
	return all, made, nil
}
