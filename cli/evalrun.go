package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/playjob"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/policy"
)

// suite is a set of evaluation cases with the scenario that they come from.
type suite struct {
	eval.Suite
	source  *scenario.Source
	windows []int // their indices, nil for all
}

// evaluate runs the comparison and writes its results into the folder.
func evaluate(ctx context.Context, a *app, opts *evalOptions) (*evaluated, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	gate, err := opts.readGate()
	if err != nil {
		return nil, err
	}
	policies, err := a.findPolicies(opts.Policies, opts.Baseline)
	if err != nil {
		return nil, err
	}
	suites, err := opts.open()
	if err != nil {
		return nil, err
	}
	for i := range suites {
		for _, line := range suites[i].source.ReadNotes() {
			a.Say("%s", line)
		}
	}
	if opts.Out, err = opts.folder(a, suites); err != nil {
		return nil, err
	}
	plan, err := opts.plan(suites, policies)
	if err != nil {
		return nil, err
	}
	if err := CheckOverlap(&a.App, &plan); err != nil {
		return nil, err
	}
	if err := opts.unfit(plan.Validate()); err != nil {
		return nil, err
	}
	if gate != nil {
		if err := gate.Fits(&plan, opts.Baseline); err != nil {
			return nil, cmdline.Usage("%w", err)
		}
	}
	results, failed, err := play(ctx, a, plan, &opts.Pool)
	if err != nil {
		return nil, err
	}
	out := &evaluated{Out: plan.Journal, Latency: latencies(results), failed: failed}
	if failed != nil {
		for _, err := range failed.Errs {
			out.Failed = append(out.Failed, err.Error())
		}
	}
	if len(results) == 0 {
		return nil, out.verdict()
	}
	out.results, out.objectives = results, plan.Objectives
	whole := plan.Complete(results)
	if out.Comparisons, err = eval.CompareAll(whole, opts.Baseline); err != nil {
		return nil, err
	}
	for i := range out.Comparisons {
		c := &out.Comparisons[i]
		if c.Baseline != opts.Baseline {
			a.Warn(fmt.Errorf("%s: the baseline %s failed: policies are compared with %s", c.Scenario, opts.Baseline, c.Baseline))
		}
		own := &suites[slices.IndexFunc(suites, func(s suite) bool { return s.Scenario == c.Scenario })]
		c.Note, c.Few = own.Note, own.Few
	}
	if gate != nil {
		out.Gate = gate.Check(out.Comparisons, opts.Baseline)
	}
	return out, opts.write(out, suites, policies, whole)
}

// open reads the scenarios and selects their windows.
func (o *evalOptions) open() ([]suite, error) {
	var all []suite
	var windows []int
	for i := range o.Windows {
		windows = append(windows, i)
	}
	for _, name := range o.Scenarios {
		s, err := (&flags.Scenario{Name: name, Sets: o.Sets}).Load()
		if err != nil {
			return nil, err
		}
		own, err := openSuite(s, o.Split, windows)
		if err != nil && own.source != nil && o.Windows > own.source.Count(scenario.Split(o.Split)) {
			return nil, cmdline.Usage("--windows %d: the split %s of %s has %d", o.Windows, o.Split, s.Name,
				own.source.Count(scenario.Split(o.Split)))
		}
		if err != nil {
			return nil, err
		}
		if o.Seeds > 0 {
			own.Seeds = own.Seeds[:0]
			for i := range o.Seeds {
				own.Seeds = append(own.Seeds, uint64(i+1))
			}
		}
		all = append(all, own)
	}
	return all, nil
}

// openSuite opens a scenario and selects windows of a split, nil for all.
func openSuite(s *scenario.Scenario, split string, windows []int) (suite, error) {
	src, err := s.Open()
	if err != nil {
		return suite{}, err
	}
	own, err := eval.NewSuite(src, scenario.Split(split), windows)
	return suite{own, src, windows}, err
}

// plan returns the evaluation plan for the suites and policies.
func (o *evalOptions) plan(suites []suite, policies []policy.Policy) (eval.Plan, error) {
	build, err := work.Executable() // a stored result of another build may differ and is not reused
	if err != nil {
		return eval.Plan{}, err
	}
	plan := newPlan(suites, policies)
	if plan.Objectives, err = openObjectives(o.Objective); err != nil {
		return eval.Plan{}, err
	}
	plan.Overlap, plan.Workers, plan.Journal, plan.Build = o.Overlap, o.Cores, o.Out, build
	if !o.Pool.used() {
		return plan, nil
	}
	job := playjob.Job{Split: o.Split, Policies: o.Policies, Baseline: o.Baseline, Overlap: o.Overlap}
	for _, m := range plan.Objectives {
		job.Objectives = append(job.Objectives, m.Text())
	}
	plan.Job, err = jobText(&job, suites, policies)
	return plan, err
}

// play runs the plan and shows its progress. The options say which other processes play cases. It returns in failed the cases
// that failed, nil if none did.
func play(
	ctx context.Context, a *app, plan eval.Plan, by *poolOptions,
) (results []eval.Result, failed *eval.FailedError, err error) {
	p, err := a.openPlayer(ctx, plan.Journal, by)
	if err != nil {
		return nil, nil, err
	}
	results, failed, err = p.play(ctx, plan)
	p.pool.finish(err == nil)
	return results, failed, err
}

// casePlayer plays one plan after another and shows their progress. Its pool, which may be nil, must be finished in the end.
type casePlayer struct {
	app  *app
	pool *workerPool
	bar  atomic.Pointer[progress.Bar] // of the plan in progress
}

// openPlayer returns a player. The options say which other processes play cases; dir is the folder of the results.
func (a *app) openPlayer(ctx context.Context, dir string, by *poolOptions) (p *casePlayer, err error) {
	p = &casePlayer{app: a}
	p.pool, err = by.open(ctx, dir, a, p.warn, func(s work.Status) {
		if bar := p.bar.Load(); bar != nil {
			bar.Note(poolNote("cases", s))
		}
	})
	return p, err
}

func (p *casePlayer) warn(err error) {
	if bar := p.bar.Load(); bar != nil {
		bar.Clear()
	}
	p.app.Warn(err)
}

// play runs a plan, as the function play does.
func (p *casePlayer) play(ctx context.Context, plan eval.Plan) (results []eval.Result, failed *eval.FailedError, err error) {
	a := p.app
	for _, s := range plan.Suites {
		a.Say("%s: %d windows of %s, %d seeds, %d policies", s.Scenario, len(s.Windows), s.Split, len(s.Seeds), len(plan.Policies))
	}
	bar := progress.New(a.Talk, progress.Options{
		Quiet: a.Quiet, Total: int64(len(plan.Cases())), Label: "eval", Unit: "episodes", Timed: true,
	})
	p.bar.Store(bar)
	plan.Warn = p.warn
	if p.pool != nil {
		plan.Pool = p.pool.of(caseJob)
	}
	plan.Fitting = func(scenario string, n, of int) { bar.Note(fitting(scenario, n, of)) }
	results, err = eval.Run(ctx, plan, func(p eval.Progress) {
		if p.Done == p.Kept && p.Kept > 0 {
			bar.Skip(int64(p.Kept))
			bar.Note(fmt.Sprintf("%d done before", p.Kept))
		}
		bar.Left(p.Left)
		bar.Set(int64(p.Done))
	})
	bar.Finish()
	failed, some := errors.AsType[*eval.FailedError](err)
	if some {
		err = nil
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; the same command goes on from there", err)
	}
	return results, failed, err
}

// fitting is the note of a progress bar while policies are fitted on the training split of a scenario, "" at the end.
func fitting(scenario string, n, of int) string {
	if n == of {
		return ""
	}
	return fmt.Sprintf("fit on the training split of %s: %d of %d jobs", scenario, n, of)
}

// unfit makes the error about a policy that cannot play a scenario one of usage.
func unfit(err error) error {
	_, unestimated := errors.AsType[*eval.EstimatesError](err)
	if unestimated || errors.Is(err, eval.ErrNoPast) {
		return cmdline.Fail(cmdline.CodeUsage, err)
	}
	return err
}

// unfit is the function unfit for an evaluation, whose baseline may be one that no flag names.
func (o *evalOptions) unfit(err error) error {
	if e, ok := errors.AsType[*eval.EstimatesError](err); ok && slices.Contains(e.Policies, o.Baseline) {
		err = fmt.Errorf("%w; %s is the baseline, --baseline names another", err, o.Baseline)
	}
	return unfit(err)
}

// CheckOverlap returns an error if the plan evaluates a policy on jobs that it, or a network that it reads, was trained on. If
// the plan allows that, or if the training jobs are not known, CheckOverlap only reports it.
func CheckOverlap(a *cmdline.App, plan *eval.Plan) error {
	for i := range plan.Policies {
		if p := &plan.Policies[i]; p.Trained() && len(p.Training.Seen) == 0 {
			a.Say("policy %s does not say which jobs it was trained on: whether they are among these is not known", p.Name)
		}
	}
	for _, shared := range plan.Overlaps() {
		if !plan.Overlap {
			return cmdline.Fail(cmdline.CodeMismatch,
				fmt.Errorf("%w: take another split, or --allow-overlap to see how well it knows them", shared))
		}
		a.Say("%v", shared)
	}
	return nil
}
