package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/progress"
)

type evalOptions struct {
	scenario scenarioOptions
	policies []string
	baseline string
	seeds    int
	split    string
	windows  int
	workers  int
	out      string
	overlap  bool
}

func newEvalCmd(a *app) *cobra.Command {
	var opts evalOptions
	cmd := &cobra.Command{
		Use:   "eval --scenario S --policies A,B,...",
		Short: "Compare policies on the same arrivals",
		Long: long(`
Plays every window of a split under every policy and every seed, in parallel, and prints means and paired differences from the
baseline with 95 % confidence intervals over windows. Writes report.html, results.json, results.jsonl, cdf.svg and gantt.svg
into --out: equal command lines write equal bytes.

A policy is a baseline (see baselines ls), prior, or the folder of an exported policy or of a run, whose best weights are used;
name=folder names it in the tables. A learned policy is not judged by the windows that it was trained on: that is refused.`,
			codeNoRun, codeMismatch),
		Example: `  clustergym eval --scenario embedded-small-v1 --policies fifo,sjfskip,srtf,las
  clustergym eval --scenario venus-contended-v1 --policies fifo,srtf,learned=runs/venus --seeds 5 --out runs/venus/report`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runEval(cmd.Context(), a, opts) },
	}
	opts.scenario.addFlags(cmd)
	f := cmd.Flags()
	f.StringSliceVarP(&opts.policies, "policies", "p", nil, "the policies to compare, separated by commas")
	f.StringVar(&opts.baseline, "baseline", "sjfskip", "the policy that the others are set against; it joins them if need be")
	f.IntVar(&opts.seeds, "seeds", 0, "run every window with the seeds 1 to n, 0 for the scenario's own seeds")
	f.StringVar(&opts.split, "split", string(scenario.Test), "whose windows to play: train, validation or test")
	f.IntVar(&opts.windows, "windows", 0, "how many windows to play, from the first on, 0 for all")
	f.IntVar(&opts.workers, "workers", 0, "episodes at a time, 0 for one a core")
	f.StringVarP(&opts.out, "out", "o", "", "folder of the report (default runs/eval-SCENARIO)")
	f.BoolVar(&opts.overlap, "allow-overlap", false, "also judge learned policies by windows that they were trained on")
	require(cmd, "scenario", "policies")
	complete(cmd, "policies", policyNames)
	complete(cmd, "baseline", policyNames)
	complete(cmd, "split", splitNames)
	return cmd
}

// evaluated is the result of eval. All single results are in the file results.json of the report's folder.
type evaluated struct {
	Report     string          `json:"report"`
	Comparison eval.Comparison `json:"comparison"`
}

func runEval(ctx context.Context, a *app, opts evalOptions) error {
	result, err := evaluate(ctx, a, opts)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(result)
	}
	if err := result.Comparison.WriteTable(a.out); err != nil {
		return err
	}
	a.say("\nreport: %s", result.Report)
	return nil
}

// evaluate runs the comparison and writes its report.
func evaluate(ctx context.Context, a *app, opts evalOptions) (*evaluated, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	policies, err := findPolicies(opts.policies, opts.baseline)
	if err != nil {
		return nil, err
	}
	s, err := opts.scenario.load()
	if err != nil {
		return nil, err
	}
	if err := opts.checkOverlap(a, s, policies); err != nil {
		return nil, err
	}
	src, err := s.Open()
	if err != nil {
		return nil, err
	}
	plan, err := opts.plan(src, policies)
	if err != nil {
		return nil, err
	}
	a.say("%s: %d windows of %s, %d seeds, %d policies", s.Name, len(plan.Windows), plan.Split, len(plan.Seeds), len(plan.Policies))
	bar := progress.New(a.talk, progress.Options{
		Quiet: a.quiet, Total: int64(len(plan.Cases())), Label: "eval", Unit: "episodes",
	})
	results, err := eval.Run(ctx, plan, func(n int, _ *eval.Result) { bar.Set(int64(n)) })
	bar.Finish()
	if err != nil {
		return nil, err
	}
	comparison, err := eval.Compare(results, opts.baseline)
	if err != nil {
		return nil, err
	}
	out := opts.out
	if out == "" {
		out = filepath.Join("runs", "eval-"+s.Name)
	}
	report := eval.Report{Comparison: comparison, Results: results, Scenario: s, Featured: featured(policies)}
	if err := eval.WriteReport(out, report); err != nil {
		return nil, err
	}
	return &evaluated{filepath.Join(out, "report.html"), comparison}, nil
}

func (o *evalOptions) validate() error {
	if err := oneOf("split", o.split, splitNames()...); err != nil {
		return err
	}
	if len(o.policies) == 0 {
		return usage("--policies is empty: want at least one")
	}
	if o.seeds < 0 || o.windows < 0 || o.workers < 0 {
		return usage("--seeds %d, --windows %d, --workers %d: want 0 or more", o.seeds, o.windows, o.workers)
	}
	return nil
}

// plan says what to run.
func (o *evalOptions) plan(src *scenario.Source, policies []policy) (eval.Plan, error) {
	split := scenario.Split(o.split)
	var windows []int
	if o.windows > 0 {
		if n := src.Count(split); o.windows > n {
			return eval.Plan{}, usage("--windows %d: the split %s of %s has %d", o.windows, split, src.Scenario().Name, n)
		}
		for i := range o.windows {
			windows = append(windows, i)
		}
	}
	var list []eval.Policy
	for _, p := range policies {
		list = append(list, p.Policy)
	}
	plan, err := eval.NewPlan(src, split, windows, list)
	if err != nil {
		return eval.Plan{}, err
	}
	if o.seeds > 0 {
		plan.Seeds = plan.Seeds[:0]
		for i := range o.seeds {
			plan.Seeds = append(plan.Seeds, uint64(i+1))
		}
	}
	plan.Workers = o.workers
	return plan, plan.Validate()
}

// checkOverlap refuses to judge a learned policy by its training windows, and says so where it cannot be told.
func (o *evalOptions) checkOverlap(a *app, s *scenario.Scenario, policies []policy) error {
	moved := slices.ContainsFunc(o.scenario.sets, func(set string) bool {
		key := strings.TrimPrefix(set, scenarioPrefix)
		return strings.HasPrefix(key, "window.") || strings.HasPrefix(key, "workload.")
	})
	for _, p := range policies {
		switch {
		case p.learned == nil || p.training.Trace != s.Workload.Trace:
		case p.training.Scenario == s.Name && o.split == string(scenario.Train) && !o.overlap:
			return &exitError{codeMismatch, fmt.Errorf("policy %s was trained on the windows of train of %s: "+
				"take --split test, or --allow-overlap to see how well it knows them", p.Name, s.Name)}
		case p.training.Scenario != s.Name || moved:
			a.say("policy %s was trained on other windows of the same trace (%s of %s): whether they share jobs with these is not known",
				p.Name, p.training.Scenario, p.training.Trace)
		}
	}
	return nil
}

// featured is the policy whose schedule the report shows: the first learned one.
func featured(policies []policy) string {
	for _, p := range policies {
		if p.learned != nil {
			return p.Name
		}
	}
	return ""
}
