package train

import (
	"context"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/rng"
)

// validationWindows bounds how many windows choose the best policy.
const validationWindows = 8

// validationEpisode returns the i-th of at most validationWindows windows, spread evenly.
func (r *run) validationEpisode(i int) (scenario.Episode, error) {
	n := r.source.Count(scenario.Validation)
	return r.source.Episode(scenario.Validation, i*n/min(n, validationWindows), r.cfg.Seed)
}

// next plays and learns one update.
func (r *run) next(ctx context.Context) (*Metrics, error) {
	m := &Metrics{Update: r.update + 1}
	samples, err := r.gather(ctx, m)
	if err != nil {
		return nil, err
	}
	progress := float64(r.update) / float64(r.cfg.Updates)
	draw := rng.Stream(r.cfg.Seed, "train", "learn", strconv.Itoa(m.Update))
	r.watch.samples(samples)
	if len(samples) > 0 {
		if err := r.learner.improve(samples, progress, draw, m); err != nil {
			return nil, err
		}
	}
	if r.due(m.Update) {
		return m, r.validate(ctx, m)
	}
	return m, nil
}

// due reports whether an update ends with validation and a checkpoint.
func (r *run) due(update int) bool { return update%r.cfg.Every == 0 || update == r.cfg.Updates }

// window is one window of an update and what was played on it.
type window struct {
	episode scenario.Episode
	group   []*rollout
	prior   *curve
}

// gather plays the update's episodes side by side and draws the samples to learn from.
func (r *run) gather(ctx context.Context, m *Metrics) ([]learn.Sample, error) {
	update := strconv.Itoa(m.Update)
	pick := rng.Stream(r.cfg.Seed, "train", "windows", update)
	windows := make([]window, r.cfg.Windows)
	for w := range windows {
		seed := rng.Derive(r.cfg.Seed, "train", "episode", update, strconv.Itoa(w))
		var err error
		windows[w].group = make([]*rollout, r.cfg.Rollouts)
		windows[w].episode, err = r.source.Episode(scenario.Train, pick.IntN(r.source.Count(scenario.Train)), seed)
		if err != nil {
			return nil, err
		}
	}
	if err := r.playAll(ctx, update, windows); err != nil {
		return nil, err
	}
	var all []learn.Sample
	var returns []float64
	for w := range windows {
		v := &windows[w]
		for _, g := range v.group {
			g.judge(r.cfg.Memory, r.cfg.Credit)
			all = append(all, g.samples...)
			m.Return -= g.curve.total
			returns = append(returns, -g.curve.total)
			m.Relative += g.curve.over(v.prior)
		}
	}
	r.watch.returns(returns)
	n := float64(r.cfg.Windows * r.cfg.Rollouts)
	m.Return /= n
	m.Relative /= n
	m.Choices = len(all)
	if len(all) > r.cfg.Choices {
		pick.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:r.cfg.Choices]
	}
	return all, nil
}

// playAll fills in the rollouts and the prior of every window.
func (r *run) playAll(ctx context.Context, update string, windows []window) error {
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(r.opt.Workers)
	for w := range windows {
		v := &windows[w]
		for g := range v.group {
			tasks.Go(func() (err error) {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				draw := rng.Stream(r.cfg.Seed, "train", "rollout", update, strconv.Itoa(w), strconv.Itoa(g))
				v.group[g], err = play(r.policy, v.episode.Episode, r.cfg.Memory, draw)
				return err
			})
		}
		tasks.Go(func() (err error) {
			v.prior, err = follow(heuristic(r.policy, v.episode.Jobs), v.episode.Episode, r.cfg.Memory)
			return err
		})
	}
	return tasks.Wait()
}

// validate plays the greedy policy on the validation windows and keeps it if it is the best so far.
func (r *run) validate(ctx context.Context, m *Metrics) error {
	if len(r.bar) == 0 {
		return nil
	}
	ratio := make([]float64, len(r.bar))
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(r.opt.Workers)
	for i := range r.bar {
		tasks.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			e, err := r.validationEpisode(i)
			if err != nil {
				return err
			}
			c, err := follow(agents.NewTeam(r.policy), e.Episode, r.cfg.Memory)
			if err == nil {
				ratio[i] = c.over(r.bar[i])
			}
			return err
		})
	}
	if err := tasks.Wait(); err != nil {
		return err
	}
	mean := 0.0
	for _, x := range ratio {
		mean += x / float64(len(ratio))
	}
	m.Validation = &mean
	if mean < r.topJCT {
		r.top, r.topJCT = r.policy.Params.Clone(), mean
	}
	return nil
}
