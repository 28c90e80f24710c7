package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/units"
	"github.com/clustergym/clustergym/train/recipe"
)

// Options say where and how a run works. They do not affect its result.
type Options struct {
	// Dir is the run's folder. It contains run.yaml, metrics.jsonl, timing.jsonl, event files, checkpoints/ and labels/.
	Dir string
	// Resume continues from the newest checkpoint in Dir. Without it Dir must not contain a run.
	Resume bool
	// Workers is the number of cores to use; 0 means all.
	Workers int
	// Pool has other processes compute labels and play the episodes of PPO, each with a Worker. A unit is a window to label, or an
	// episode. If Pool is nil, the run does all this itself.
	Pool units.Pool
	// Labels is the folder that stores labels. The run reuses labels with the same settings that the folder contains already. If
	// Labels is empty, the run uses the folder labels in Dir.
	Labels string
	// Scenarios are the workloads to learn from. The run draws windows from each of them in turn.
	Scenarios []*scenario.Scenario
	// From is the policy that a new run begins with, nil for an untrained one. A resumed run has what it began with in its folder;
	// if From is given too, Run returns an error unless it is the same policy.
	From *From
	// Given returns what the training split of a scenario gives baselines with these needs. A prior with seen=training needs it, and
	// so does a baseline in Config.Against; see eval.Given.
	Given func(context.Context, *scenario.Source, baselines.Needs) (baselines.Given, error)
	// Older is called if a run is resumed and its newest checkpoint is damaged. If Older returns nil, the run continues from the
	// newest good checkpoint; if it returns an error, the run ends with it. If Older is nil, the run ends with the OlderError.
	Older func(*OlderError) error
	// Warn is called for each scenario of whose validation windows the policy From has seen jobs: it looks better there than it is.
	// It is also called for what was left out of a scenario's trace, and for splits with few windows. Warn may be nil.
	Warn func(error)
	// Progress is called after every update and, when a run is resumed, once with its last finished update. It may be nil.
	Progress func(*Metrics)
	// Clock returns the wall-clock time for timing.jsonl and the event files. If it is nil, the run writes neither.
	Clock func() time.Time
	// Stop, once closed, ends the run after the update in progress, with a checkpoint. It may be nil.
	Stop <-chan struct{}
}

// Run trains a team and returns the policy that did best on the validation windows of the scenarios. The untrained policy, which
// decides as the prior, counts as one of them, and so does the policy that the run began with. Without validation windows Run
// returns the policy of the last update.
//
// stopped reports whether something ended the run before Config.Updates, apart from Config.Patience. If Stop ended the run, all
// finished updates are stored. If ctx ended it, the updates up to the last checkpoint are stored. After an error, the earlier
// checkpoints are still there. Run returns an error if another run uses the folder.
func Run(ctx context.Context, cfg Config, opt Options) (policy *agents.Policy, stopped bool, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, false, fmt.Errorf("train: %w", err)
	}
	unlock, err := recipe.Lock(opt.Dir, opt.Resume)
	if err != nil {
		return nil, false, fmt.Errorf("train: %w", err)
	}
	defer unlock()
	r, err := start(ctx, cfg, opt)
	if err != nil {
		return nil, false, fmt.Errorf("train: %w", err)
	}
	defer r.close()
	for r.update < cfg.Updates && !r.cfg.endsEarly(r.update, r.topUpdate) {
		select {
		case <-opt.Stop:
			return r.best(), true, r.save()
		default:
		}
		m, err := r.next(ctx)
		if ctx.Err() != nil {
			return r.best(), true, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("train: update %d: %w", r.update+1, err)
		}
		r.update++
		if err := r.record(m); err != nil {
			return nil, false, fmt.Errorf("train: %w", err)
		}
		if opt.Progress != nil {
			opt.Progress(m)
		}
	}
	return r.best(), false, nil
}

// run is the state of a training run.
type run struct {
	cfg       Config
	goal      goal
	opt       Options
	sources   []*scenario.Source
	stages    [][]*scenario.Source                 // those of training windows, by stage of the curriculum; the last are sources
	given     map[*scenario.Source]baselines.Given // what the prior, and those in Config.Against, may use
	policy    *agents.Policy                       // its parameters are shared with the learner
	learner   *learner
	central   *central // nil without a learned critic
	labels    *labels
	files     *runFiles
	watch     *watch    // nil without a clock, or if no update is left
	began     time.Time // time at which the run began or was resumed
	resumed   bool      // whether no update has finished since the run was resumed
	update    int       // number of finished updates
	top       agents.Params
	topMargin float64   // its margin
	topUpdate int       // after which update it was found; 0 for the prior and for the policy that the run began with
	topJCT    float64   // its relative cost on validation; +Inf before the first validation
	topCosts  []float64 // its costs on the validation windows, see contest.scaled
	windows   []validation
	beginning *Beginning // nil for a run that began untrained
	startJCT  *float64   // relative cost on validation of the policy that it began with; nil without validation windows
	startKept bool       // whether that policy is better than the prior
}

func (r *run) close() {
	r.learner.close()
	r.central.close()
	r.watch.close()
}

// best returns the policy that Run returns.
func (r *run) best() *agents.Policy {
	p := *r.policy
	p.Params, p.Range = r.policy.Params.Clone(), slices.Clone(r.policy.Range)
	if !math.IsInf(r.topJCT, 1) {
		p.Params, p.Margin = r.top.Clone(), r.topMargin
	}
	return &p
}

// start begins or resumes a run. The settings must be valid and the folder locked.
func start(ctx context.Context, cfg Config, opt Options) (*run, error) {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if err := cfg.Settle(); err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, opt: opt, topJCT: math.Inf(1)}
	var err error
	if r.goal, err = cfg.goal(); err != nil {
		return nil, err
	}
	servers, digests, err := r.openSources()
	if err != nil {
		return nil, err
	}
	var before *Recipe // a new untrained run needs none
	if opt.Resume || opt.From != nil {
		if before, err = r.before(); err != nil {
			return nil, err
		}
	}
	if err := r.from(before); err != nil {
		return nil, err
	}
	workloads, all, err := r.openStages(digests)
	if err != nil {
		return nil, err
	}
	if err := r.give(ctx); err != nil {
		return nil, err
	}
	prior, err := r.tune()
	if err != nil {
		return nil, err
	}
	design := cfg.design("learned", prior)
	init := rng.Stream(cfg.Seed, "train", "weights")
	r.policy, err = design.Make(func(s agents.Shape) (agents.Params, error) { return agents.Init(s, init), nil })
	if err != nil {
		return nil, fmt.Errorf("make policy: %w", err)
	}
	was := r.recorded(before)
	if r.files, err = openRunFiles(was, prior, r.beginning, opt, r.sources, digests, workloads); err != nil {
		return nil, err
	}
	dir := cmp.Or(opt.Labels, filepath.Join(opt.Dir, labelsName))
	if opt.Labels == "" { // another folder may have other writers
		if err := CleanLabels(dir); err != nil {
			return nil, err
		}
	}
	if r.labels, err = newLabels(prior, dir, r, all, r.beginner); err != nil {
		return nil, err
	}
	if r.learner, err = newLearner(&r.cfg, r.policy, servers, opt.Workers); err != nil {
		return nil, err
	}
	if r.central, err = newCentral(&r.cfg, r.policy, servers, opt.Workers); err != nil {
		r.learner.close()
		return nil, err
	}
	if opt.Clock != nil {
		r.began = opt.Clock()
	}
	if err = r.begin(ctx); err == nil {
		err = r.extend(was)
	}
	if err == nil && opt.Clock != nil && r.update < cfg.Updates {
		r.watch, err = openWatch(opt.Dir, r.update, r.began)
	}
	if err != nil {
		r.learner.close()
		r.central.close()
	}
	return r, err
}

// openSources opens the scenarios. It returns the servers of the largest cluster and the digest of each scenario's jobs.
func (r *run) openSources() (servers int, digests []string, err error) {
	for _, s := range r.opt.Scenarios {
		src, err := s.Open()
		if err != nil {
			return 0, nil, err
		}
		if src.Count(scenario.Train) == 0 {
			return 0, nil, fmt.Errorf("scenario %s has no training windows", s.Name)
		}
		rules, err := s.SimConfig()
		if err != nil {
			return 0, nil, err
		}
		r.warnOf(src)
		servers = max(servers, len(rules.Cluster.Servers))
		digest, err := src.Digest()
		if err != nil {
			return 0, nil, err
		}
		r.sources, digests = append(r.sources, src), append(digests, digest)
	}
	if len(r.sources) == 0 {
		return 0, nil, fmt.Errorf("no scenario, want 1 or more")
	}
	return servers, digests, nil
}

// warnOf warns of what was left out of the trace of a scenario, and of splits with few windows.
func (r *run) warnOf(src *scenario.Source) {
	if r.opt.Warn == nil {
		return
	}
	for _, text := range append(src.ReadNotes(), src.Few(scenario.Train), src.Few(scenario.Validation)) {
		if text != "" {
			r.opt.Warn(errors.New(text))
		}
	}
}

// give finds what the priors, and those in Config.Against, may use in each scenario.
func (r *run) give(ctx context.Context) error {
	var needs baselines.Needs
	for _, of := range []struct {
		key   string
		names []string
	}{{"train.prior", r.cfg.priors()}, {"train.rivals", r.cfg.told()}, {"train.against", r.cfg.against()}} {
		for _, name := range of.names {
			if name == ownPrior {
				continue
			}
			s, err := r.cfg.Table.Parse(name)
			n := s.Needs()
			if err == nil && n.Past() && r.opt.Given == nil {
				err = baselines.ErrUnfitted
			}
			if err == nil {
				err = r.estimated(s)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", of.key, err)
			}
			needs.Add(n)
		}
	}
	r.given = map[*scenario.Source]baselines.Given{}
	if !needs.Past() {
		return nil
	}
	for _, src := range slices.Concat(r.stages...) {
		var err error
		if r.given[src], err = r.opt.Given(ctx, src, needs); err != nil {
			return err
		}
	}
	return nil
}

// told returns the names of the rivals, which see what the priors see, with the suffix of each prior that says what it knows.
func (c *Config) told() (names []string) {
	for _, prior := range c.priors() {
		s, _ := c.Table.Parse(prior) // a mistake has been found before
		_, knows := s.CutKnow()
		for _, rival := range listed(c.Rivals) {
			names = append(names, rival+knows)
		}
	}
	return names
}

// estimated returns an error if a baseline needs estimates that a scenario does not tell.
func (r *run) estimated(s baselines.Spec) error {
	for _, src := range slices.Concat(r.stages...) {
		if inner, _ := s.CutKnow(); !src.Scenario().Estimated() && s.Needs().Estimates {
			return fmt.Errorf("%s needs an estimate of every job's duration, and %s tells none: want one that needs none, such as %s",
				s, src.Scenario().Name, inner.String()+baselines.KnowSuffix)
		}
	}
	return nil
}

// baseline returns a scheduler with what it is given in a scenario.
func (r *run) baseline(src *scenario.Source, name string) (cluster.Scheduler, error) {
	s, err := r.cfg.Table.Parse(name)
	if err != nil {
		return nil, err
	}
	return s.New(r.given[src])
}

// at returns the policy as it plays in a scenario.
func (r *run) at(src *scenario.Source, p *agents.Policy) *agents.Policy {
	own := *p
	own.Given = r.given[src]
	return &own
}

// validation is a validation window.
type validation struct {
	bars
	source *scenario.Source
	window int
}

// begin plays the prior and its rivals on the validation windows. It then restores the run, or stores the start of a new one.
func (r *run) begin(ctx context.Context) error {
	for _, src := range r.sources {
		n := src.Count(scenario.Validation)
		some := min(n, r.cfg.Validation)
		for i := range some {
			r.windows = append(r.windows, validation{source: src, window: i * n / some}) // spread evenly
		}
	}
	if len(r.windows) == 0 && r.cfg.Patience > 0 {
		return fmt.Errorf("train.patience: %d, and no scenario has validation windows; want 0 without them", r.cfg.Patience)
	}
	costs, err := r.compare(ctx, len(r.windows), func(i int) (*scenario.Source, sim.Episode, error) {
		x := &r.windows[i]
		e, err := x.source.Episode(scenario.Validation, x.window, r.cfg.Seed)
		return x.source, e.Episode, err
	})
	if err != nil {
		return err
	}
	for i := range costs {
		r.windows[i].bars = costs[i]
	}
	if r.opt.Resume {
		found, err := r.restore()
		if err == nil && found && len(r.windows) > 0 {
			err = r.replayTop(ctx)
		}
		if found || err != nil {
			return err
		}
	}
	if len(r.windows) > 0 { // the untrained policy decides as the prior
		var prior contest
		for i := range r.windows {
			prior.add(r.windows[i].source, r.windows[i].prior, &r.windows[i].bars)
		}
		r.top, r.topCosts, r.topJCT, r.topMargin = r.policy.Params.Clone(), prior.scaled(prior.team), 1, r.policy.Margin
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	return r.save()
}

// replayTop plays the best policy of a resumed run on the validation windows again, for its costs there.
func (r *run) replayTop(ctx context.Context) error {
	p := *r.policy
	p.Params, p.Margin = r.top, r.topMargin
	costs, _, err := r.relative(ctx, &p)
	if err == nil {
		r.topCosts = costs.scaled(costs.team)
	}
	return err
}

// each calls do for 0 to n-1, several at a time, until one call fails or ctx ends.
func (r *run) each(ctx context.Context, n int, do func(i int) error) error {
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(r.opt.Workers)
	for i := range n {
		tasks.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return do(i)
		})
	}
	return tasks.Wait()
}
