package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/studies/starts"
)

// startsOptions say what is played, and how often it is asked.
type startsOptions struct {
	scenarios []string
	policies  []string
	split     string
	windows   int
	every     int
	seed      uint64
}

func newStartsCmd(a *cmdline.App) *cobra.Command {
	var opts startsOptions
	cmd := &cobra.Command{
		Use:   "starts --scenario S,... --policies P,...",
		Short: "Measure how forecasts of starts turn out",
		Long: cmdline.Long(`
Plays windows of scenarios with policies and forecasts in them, as clustergym serve --starts does, when each job starts that has
to wait. Prints how many jobs started before the 90th percentile and before the median of their first forecast, and how many
waited between half of the median and twice that, where times below 30 s count as 30 s. What is learned of run times and of
earlier forecasts is kept from one window to the next. Equal command lines print equal results.
`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym-studies starts --scenario embedded-small-v1 --policies fifo
  clustergym-studies starts --scenario venus-load110-strong-rigid-untold-v1 --policies fifo,fjf --windows 10`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStarts(cmd.Context(), a, opts) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&opts.scenarios, "scenario", "s", nil, "built-in scenarios, see scenario ls, or YAML files, commas between")
	f.StringSliceVar(&opts.policies, "policies", nil, "policies, commas between")
	f.StringVar(&opts.split, "split", string(scenario.Test), "split whose windows are played: train, validation or test")
	f.IntVar(&opts.windows, "windows", 0, "how many windows to play, from the first; 0, or more than there are, for all")
	f.IntVar(&opts.every, "every", 1, "forecast for every so many jobs that have to wait")
	f.Uint64Var(&opts.seed, "seed", 1, "seed of the windows, of the draws and of policies that draw random numbers")
	cmdline.Require(cmd, "scenario", "policies")
	cmdline.CompleteList(cmd, "scenario", scenario.All)
	cmdline.CompleteList(cmd, "policies", finder().Names)
	cmdline.Complete(cmd, "split", flags.Splits)
	return cmd
}

// checked is the result for one scenario and policy.
type checked struct {
	Scenario string  `json:"scenario"`
	Policy   string  `json:"policy"`
	Windows  int     `json:"windows"`
	Jobs     int     `json:"jobs"` // that had to wait, and were forecast
	Within   float64 `json:"before_p90"`
	Before   float64 `json:"before_median"`
	Near     float64 `json:"near_median"`
}

func runStarts(ctx context.Context, a *cmdline.App, opts startsOptions) error {
	if opts.windows < 0 || opts.every < 1 {
		return cmdline.Usage("--windows %d, --every %d: want 0 or more, and 1 or more", opts.windows, opts.every)
	}
	var found []policy.Policy
	for _, name := range opts.policies {
		p, err := finder().Load(name)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(found, func(o policy.Policy) bool { return o.Name == p.Name }) {
			return cmdline.Usage("two policies have the name %q: give one another, with name=%s", p.Name, name)
		}
		found = append(found, *p)
	}
	if err := opts.estimated(found); err != nil {
		return err
	}
	results, failed := []checked{}, []error{}
	for _, name := range opts.scenarios {
		for _, by := range opts.policies {
			r, err := check(ctx, a, name, by, opts)
			switch {
			case ctx.Err() != nil:
				return err
			case err != nil:
				failed = append(failed, err)
			default:
				results = append(results, *r)
			}
		}
	}
	if len(results) == 0 {
		return errors.Join(failed...)
	}
	return errors.Join(append([]error{printChecked(a, results)}, failed...)...)
}

// estimated returns an error if some of the policies need estimates and some of the scenarios tell none.
func (o *startsOptions) estimated(policies []policy.Policy) error {
	var suites []eval.Suite
	for _, name := range o.scenarios {
		s, err := scenario.Load(name)
		if err != nil {
			return err
		}
		suites = append(suites, eval.Suite{Scenario: s.Name, Unestimated: !s.Estimated()})
	}
	if err := eval.CheckEstimates(suites, policies); err != nil {
		return cmdline.Fail(cmdline.CodeUsage, err)
	}
	return nil
}

func printChecked(a *cmdline.App, results []checked) error {
	if a.JSON {
		return a.PrintJSON(results)
	}
	rows := [][]string{{"scenario", "policy", "windows", "jobs", "before P90", "before median", "near median"}}
	for _, r := range results {
		share := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
		rows = append(rows, []string{
			r.Scenario, r.Policy, fmt.Sprint(r.Windows), fmt.Sprint(r.Jobs), share(r.Within), share(r.Before), share(r.Near),
		})
	}
	return a.PrintRows(rows)
}

// check measures the forecasts for one policy on the windows of one scenario.
func check(ctx context.Context, a *cmdline.App, name, by string, opts startsOptions) (*checked, error) {
	s, err := scenario.Load(name)
	if err != nil {
		return nil, err
	}
	src, err := s.Open()
	if err != nil {
		return nil, err
	}
	p, err := finder().Load(by)
	if err != nil {
		return nil, err
	}
	split := scenario.Split(opts.split)
	n := src.Count(split)
	if n == 0 {
		return nil, fmt.Errorf("scenario %s has no windows of %s", s.Name, split)
	}
	if opts.windows > 0 {
		n = min(n, opts.windows)
	}
	meter := starts.Meter{Policy: *p, Every: opts.every, Forecaster: whatif.Forecaster{Options: whatif.Options{Seed: opts.seed}}}
	var c starts.Coverage
	for i := range n {
		a.Say("%s, %s: window %d of %d", s.Name, by, i+1, n)
		e, err := src.Episode(split, i, opts.seed)
		if err != nil {
			return nil, err
		}
		more, err := meter.Measure(ctx, &e.Episode, opts.seed)
		if err != nil {
			return nil, err
		}
		c.Add(more)
	}
	if c.Forecasts == 0 {
		return nil, fmt.Errorf("scenario %s: no job had to wait under %s, so there is nothing to measure", s.Name, by)
	}
	return &checked{
		Scenario: s.Name, Policy: by, Windows: n, Jobs: c.Forecasts,
		Within: c.Share(c.Within), Before: c.Share(c.Before), Near: c.Share(c.Near),
	}, nil
}
