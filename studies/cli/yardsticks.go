package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/internal/table"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/studies/yardsticks"
	"github.com/clustergym/clustergym/train"
)

func newYardsticksCmd(a *cmdline.App) *cobra.Command {
	return cmdline.NewGroup("yardsticks", "Train standard multi-agent learners and compare the team with them",
		`Independent PPO and value decomposition learn from scratch in the public environment, where every server is an agent.
studies/yardsticks.md shows what they reach.`,
		newYardsticksLearnCmd(a), newYardsticksCompareCmd(a))
}

// yardstickScenario are the flags that both commands share.
type yardstickScenario struct {
	scenario flags.Scenario
	prior    string
}

func (o *yardstickScenario) addFlags(cmd *cobra.Command) {
	flags.Bind(cmd, &o.scenario, flags.Shared)
	cmd.Flags().StringVar(&o.prior, "prior", "fifo", "the prior: the baseline whose proposals the agents review")
	cmdline.Require(cmd, "scenario")
	cmdline.Complete(cmd, "prior", all.Table().Names)
}

func (o *yardstickScenario) open() (*scenario.Source, error) {
	if _, err := all.Table().Parse(o.prior); err != nil {
		return nil, cmdline.Usage("--prior: %v", err)
	}
	s, err := o.scenario.Load()
	if err != nil {
		return nil, err
	}
	return s.Open()
}

func newYardsticksLearnCmd(a *cmdline.App) *cobra.Command {
	var opts yardstickScenario
	var dir string
	cfg := yardsticks.DefaultConfig()
	cmd := &cobra.Command{
		Use:   "learn --scenario S --dir D",
		Short: "Train a standard learner in the public environment",
		Long: cmdline.Long(`
Trains every server as an agent, on training windows, and keeps the weights that do best on validation windows: their mean
cost relative to the prior is the curve that is printed. ippo is independent PPO, vdn is value decomposition with double
Q-learning. An agent sees its own server, its own candidates with their jobs, and the cluster's features. The decision of
all agents in one round counts as one.

The folder gets the curve and the recipe in run.json, and the weights. Equal command lines give equal weights. If the folder
contains a finished run of the same recipe, the command prints it and trains nothing.`, cmdline.CodeMismatch),
		Example: "  clustergym-studies yardsticks learn --learner vdn --scenario embedded-small-v1 --decisions 5000 --dir runs/vdn",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cfg.Validate(); err != nil {
				return cmdline.Fail(cmdline.CodeUsage, err)
			}
			return runYardsticksLearn(a, &opts, cfg, dir)
		},
	}
	opts.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&cfg.Learner, "learner", cfg.Learner, "who learns: "+strings.Join(yardsticks.Learners(), " or "))
	f.Uint64Var(&cfg.Seed, "seed", cfg.Seed, "seed of everything random")
	f.IntVar(&cfg.Decisions, "decisions", cfg.Decisions, "number of joint decisions to learn from")
	f.Float64Var(&cfg.Rate, "rate", cfg.Rate, "Adam's learning rate")
	f.DurationVar(&cfg.Memory, "memory", cfg.Memory, "time in which a reward is discounted to 1/e")
	f.IntVar(&cfg.Rollout, "rollout", cfg.Rollout, "number of rounds that ippo plays before an update, at least")
	f.IntVar(&cfg.Checks, "checks", cfg.Checks, "how often to play the validation windows, in equal distances")
	f.StringVar(&dir, "dir", "", "folder to write")
	cmdline.Require(cmd, "dir")
	cmdline.Complete(cmd, "learner", yardsticks.Learners)
	return cmd
}

func runYardsticksLearn(a *cmdline.App, opts *yardstickScenario, cfg yardsticks.Config, dir string) error {
	src, err := opts.open()
	if err != nil {
		return err
	}
	r, err := yardsticks.On(src, opts.scenario.Sets, opts.prior, cfg)
	if err != nil {
		return err
	}
	switch before, err := yardsticks.Open(dir); {
	case err == nil && before.Same(r):
		a.Say("%s: trained before", dir)
		return printYardstick(a, before, dir)
	case err == nil:
		return cmdline.Fail(cmdline.CodeMismatch, fmt.Errorf("%s contains a run of another recipe: want another --dir", dir))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	bar := progress.New(a.Talk, progress.Options{Quiet: a.Quiet, Total: int64(cfg.Decisions), Label: cfg.Learner, Unit: "decisions"})
	defer bar.Finish()
	began := cmdline.CPUTime()
	err = r.Learn(src, func(p yardsticks.Point) {
		bar.Set(int64(p.Decisions))
		bar.Note(fmt.Sprintf("validation %.3f of the prior's cost", p.Cost))
	})
	if err != nil {
		return err
	}
	r.CPU = (cmdline.CPUTime() - began).Seconds()
	bar.Finish()
	if err := r.Save(dir); err != nil {
		return err
	}
	return printYardstick(a, r, dir)
}

func printYardstick(a *cmdline.App, r *yardsticks.Run, dir string) error {
	if a.JSON {
		return a.PrintJSON(r)
	}
	rows := [][]string{{"decisions", "episodes", "cost on validation, of the prior's"}}
	for _, p := range r.Curve {
		rows = append(rows, []string{fmt.Sprint(p.Decisions), fmt.Sprint(p.Episodes), fmt.Sprintf("%.3f", p.Cost)})
	}
	a.Say("%s: %s with seed %d on %s, %.0f s of CPU time", dir, r.Learner, r.Seed, r.Scenario, r.CPU)
	return a.PrintRows(rows)
}

func newYardsticksCompareCmd(a *cmdline.App) *cobra.Command {
	var opts yardstickScenario
	var markdown bool
	cmd := &cobra.Command{
		Use:   "compare --scenario S POLICY...",
		Short: "Compare standard learners with the team and with baselines on test windows",
		Long: cmdline.Long(`
Plays the policies and the prior on all test windows, once each, and prints the differences of the mean JCT from that of the
prior, as clustergym eval does. A policy is random (every agent draws from its candidates), a folder of yardsticks learn, a
folder of clustergym train, or a baseline. Decisions are those that a policy was trained on: joint decisions of all agents,
or labelled decisions where the team learned from labels. CPU is the time of the training; it is not known of the team.`),
		Example: "  clustergym-studies yardsticks compare --scenario embedded-small-v1 random srsf runs/ippo-1 runs/vdn-1",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runYardsticksCompare(cmd.Context(), a, &opts, args, markdown)
		},
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a Markdown table")
	return cmd
}

// yardstickRow is a row of the comparison: a policy, what it learned from, and its mean JCT.
type yardstickRow struct {
	Policy    string           `json:"policy"`
	Decisions int              `json:"decisions,omitempty"`
	Seconds   float64          `json:"cpu_s,omitempty"`
	MeanJCT   float64          `json:"mean_jct_s"`
	Relative  *eval.Difference `json:"relative_pct,omitempty"` // nil for the prior
}

func runYardsticksCompare(ctx context.Context, a *cmdline.App, opts *yardstickScenario, args []string, markdown bool) error {
	src, err := opts.open()
	if err != nil {
		return err
	}
	suite, err := eval.NewSuite(src, scenario.Test, nil)
	if err != nil {
		return err
	}
	suite.Seeds = suite.Seeds[:1]
	plan := eval.Plan{Suites: []eval.Suite{suite}}
	var rows []yardstickRow
	for _, arg := range append([]string{opts.prior}, args...) {
		p, row, err := yardstickPolicy(arg, opts.prior)
		if err != nil {
			return err
		}
		plan.Policies, rows = append(plan.Policies, p), append(rows, row)
	}
	bar := progress.New(a.Talk, progress.Options{Quiet: a.Quiet, Total: int64(len(plan.Cases())), Label: "compare", Unit: "it"})
	defer bar.Finish()
	results, err := eval.Run(ctx, plan, func(p eval.Progress) { bar.Set(int64(p.Done)) })
	if err != nil {
		return err
	}
	bar.Finish()
	c, err := eval.Compare(results, opts.prior)
	if err != nil {
		return err
	}
	for i, s := range c.Policies {
		for _, m := range s.Metrics {
			if m.Key == "mean_jct_s" {
				rows[i].MeanJCT, rows[i].Relative = float64(m.Mean), m.Relative
			}
		}
	}
	if a.JSON {
		return a.PrintJSON(rows)
	}
	cells := yardstickCells(rows, len(c.Windows))
	if !markdown {
		return a.PrintRows(cells)
	}
	var b strings.Builder
	table.Markdown(&b, cells)
	a.Printf("%s", b.String())
	return nil
}

// yardstickPolicy finds a policy of the comparison.
func yardstickPolicy(arg, prior string) (policy.Policy, yardstickRow, error) {
	name := filepath.Base(arg)
	if arg == yardsticks.Random {
		return yardsticks.RandomPolicy(prior), yardstickRow{Policy: name}, nil
	}
	r, err := yardsticks.Open(arg)
	if err == nil {
		if r.Prior != prior {
			return policy.Policy{}, yardstickRow{}, cmdline.Usage("%s has the prior %s, want --prior %s", arg, r.Prior, prior)
		}
		return r.As(name), yardstickRow{Policy: name, Decisions: r.Curve[len(r.Curve)-1].Decisions, Seconds: r.CPU}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return policy.Policy{}, yardstickRow{}, err
	}
	row := yardstickRow{Policy: name}
	p, err := finder().Load(arg)
	if err != nil {
		return policy.Policy{}, row, cmdline.Fail(cmdline.CodeUsage, err)
	}
	if p.Learned == nil {
		return *p, row, nil
	}
	p.Name = name
	all, err := train.ReadMetrics(arg)
	for _, m := range all {
		row.Decisions += m.Choices
	}
	return *p, row, err
}

func yardstickCells(rows []yardstickRow, windows int) [][]string {
	cells := [][]string{{"policy", "decisions", "CPU, s", fmt.Sprintf("mean JCT, %d windows", windows), "against the prior, %"}}
	for _, r := range rows {
		decisions, seconds, relative := "", "", "the prior"
		if r.Decisions > 0 {
			decisions = table.Thousands(fmt.Sprint(r.Decisions))
		}
		if r.Seconds > 0 {
			seconds = fmt.Sprintf("%.0f", r.Seconds)
		}
		if d := r.Relative; d != nil {
			relative = fmt.Sprintf("%+.1f [%+.1f, %+.1f]", d.Mean, d.Lo, d.Hi)
		}
		cells = append(cells, []string{r.Policy, decisions, seconds, table.Thousands(fmt.Sprintf("%.0f", r.MeanJCT)) + " s", relative})
	}
	return cells
}
