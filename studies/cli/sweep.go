package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/studies/sweep"
	"github.com/clustergym/clustergym/train"
)

type sweepOptions struct {
	scenario flags.Scenario
	vary     []string
	config   string
	dir      string
	parallel int
	cores    int
	markdown bool

	numbers []string // settings by flags that are numbers, KEY=VALUE
}

func newSweepCmd(a *cmdline.App) *cobra.Command {
	var opts sweepOptions
	cmd := &cobra.Command{
		Use:   "sweep --scenario S[,S...] --vary train.KEY=VALUE,... --dir D",
		Short: "Search for the best settings of training",
		Long: cmdline.Long(`
Trains a run for every combination of the values that --vary lists, a point, and for every seed, and prints a table of the
points, the best first. A point is as good as the lowest validation of its runs, averaged over its seeds. --random N draws N
points of the grid. With --halving 3 all points train up to an early update, a rung; the best third of them goes on to the next
rung, which is three times as far, and so on (successive halving; Jamieson and Talwalkar, 2016). Rungs are rounded up to
validations.

Every run is an ordinary run in D/runs, for TensorBoard, eval and export. Up to the rung at which it ended it equals the run
that trains to the end, and train --resume --labels D/labels continues it. All runs share the labels in D/labels: labels are
computed once for all points that agree in the settings on which labels depend. D/results.csv contains the table.

An interrupt lets the current updates finish and saves them. The same command continues, and so does sweep --dir D.
D/sweep.yaml contains what was asked for; another request for the same folder is refused. The same request gives the same
table, byte for byte, whatever the number of cores and of runs at a time.

A configuration file has the keys scenario, set, vary, seeds, random, halving, and train with the settings of train. Later
sources override earlier ones: defaults, --config, variables such as CLUSTERGYM_TRAIN_RATE, --set and the other flags. Vary any
setting that clustergym train --help lists, except those by which points are compared: train.prior, train.objective, train.seed,
train.validation and, with --halving, train.updates and train.every.`,
			cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym-studies sweep --scenario embedded-small-v1 --vary train.rate=1e-3,3e-3 \
    --vary train.size.graph=dynamic,none --seeds 3 --updates 40 --dir sweeps/first
  clustergym-studies sweep --dir sweeps/first
  clustergym-studies sweep --config sweep.yaml --random 27 --halving 3 --dir sweeps/second`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, flag := range []struct{ name, key string }{
				{"seeds", "seeds"}, {"random", "random"}, {"halving", "halving"}, {"updates", "train.updates"}, {"seed", "train.seed"},
			} {
				if f := cmd.Flags().Lookup(flag.name); f.Changed {
					opts.numbers = append(opts.numbers, flag.key+"="+f.Value.String())
				}
			}
			return runSweep(cmd.Context(), a, &opts)
		},
	}
	usual := sweep.DefaultRequest()
	f := cmd.Flags()
	f.StringVarP(&opts.scenario.Name, "scenario", "s", "", "built-in scenarios, see scenario ls, or YAML files, with commas between")
	f.StringArrayVar(&opts.vary, "vary", nil, "a setting to vary, train.KEY=VALUE,VALUE,...; repeatable")
	f.StringArrayVar(&opts.scenario.Sets, "set", nil,
		"change a setting of all runs: train.KEY=value or scenario.KEY=value; repeatable")
	cmdline.CompleteKeys(cmd, "set", trainKeys)
	f.StringVar(&opts.config, "config", "", "YAML file of the request")
	f.Int("seeds", usual.Seeds, "how many runs each point has: the seeds train.seed and those after it")
	f.Int("random", 0, "how many points to draw from the grid, 0 for all")
	f.Int("halving", 0, "one point in so many goes on at each rung, 0 to train all points to the end")
	f.Int("updates", usual.Train.Updates, "how many updates a run makes that is not stopped: train.updates")
	f.Uint64("seed", usual.Train.Seed, "first seed of every point, and seed of the draw of --random: train.seed")
	f.StringVar(&opts.dir, "dir", "", "folder of the sweep (default sweeps/SCENARIO)")
	f.IntVar(&opts.parallel, "parallel", 1, "how many runs to train at a time; does not change the result")
	f.IntVar(&opts.cores, "cores", 0, "cores to use, 0 for all; does not change the result")
	f.BoolVar(&opts.markdown, "markdown", false, "print the table as Markdown")
	cmdline.Complete(cmd, "scenario", scenario.Names)
	return cmd
}

func runSweep(ctx context.Context, a *cmdline.App, opts *sweepOptions) error {
	if opts.parallel < 1 {
		return cmdline.Usage("--parallel %d, want 1 or more", opts.parallel)
	}
	request, scenarios, err := opts.load()
	if err != nil {
		return err
	}
	if opts.dir == "" {
		opts.dir = filepath.Join("sweeps", scenarios[0].Name)
	}
	if strings.ContainsAny(opts.dir, ",=") {
		return cmdline.Usage("--dir %q: want a folder without commas and equals signs, which separate policies", opts.dir)
	}
	request.Train.Table = all.Table()
	plan, err := sweep.NewPlan(request)
	if err != nil {
		return err
	}
	a.Say("%s", planText(plan))
	result, err := opts.run(ctx, a, plan, scenarios)
	if errors.Is(err, sweep.ErrMismatch) {
		return cmdline.Fail(cmdline.CodeMismatch, err)
	}
	if err != nil {
		return err
	}
	out := newSwept(result)
	if err := a.Write(out.Table, out.WriteCSV); err != nil {
		return err
	}
	return out.print(a, opts.markdown)
}

// run carries out the plan and shows its progress. The first signal ends the sweep after the updates in progress.
func (o *sweepOptions) run(
	ctx context.Context, a *cmdline.App, plan *sweep.Plan, scenarios []*scenario.Scenario,
) (*sweep.Result, error) {
	var bar *progress.Bar
	finish := func() {
		if bar != nil {
			bar.Finish()
		}
	}
	defer finish()
	var last sweep.Progress
	result, err := plan.Run(context.WithoutCancel(ctx), sweep.Options{
		Dir: o.dir, Scenarios: scenarios, Parallel: o.parallel, Workers: o.cores, Stop: ctx.Done(),
		Train: train.Options{Given: eval.Given, Clock: time.Now},
		Warn: func(err error) {
			if bar != nil {
				bar.Clear()
			}
			a.Warn(err)
		},
		Progress: func(p sweep.Progress) {
			last = p
			if bar == nil {
				bar = progress.New(a.Talk, progress.Options{Quiet: a.Quiet, Total: int64(p.Total), Label: "sweep", Unit: "it"})
				bar.Skip(int64(p.Done))
				return
			}
			bar.Set(int64(p.Done))
			text := fmt.Sprintf("rung %d/%d  %s", p.Rung, len(plan.Rungs), p.Run)
			if v := p.Metrics.Validation; v != nil {
				text += fmt.Sprintf("  validation %.3f", *v)
			}
			bar.Note(text)
		},
	})
	if errors.Is(err, sweep.ErrStopped) {
		return nil, cmdline.Fail(cmdline.CodeInterrupted, fmt.Errorf("stopped after %d of %d updates of all runs: "+
			"go on with %s", last.Done, last.Total, commandLine("clustergym-studies", "sweep", "--dir", o.dir)))
	}
	return result, err
}

// planText returns what a sweep is about to do, in a line.
func planText(p *sweep.Plan) string {
	head := fmt.Sprintf("%s x %s: ", phrase.Count(len(p.Points), "point"), phrase.Count(p.Request.Seeds, "seed"))
	var parts []string
	for i, n := range p.Survivors {
		parts = append(parts, fmt.Sprintf("%d to update %d", n, p.Rungs[i]))
	}
	return head + strings.Join(parts, ", ")
}

// load returns the request and the scenarios: those of the sweep in --dir, if no flag asks for anything.
func (o *sweepOptions) load() (r sweep.Request, scenarios []*scenario.Scenario, err error) {
	var own, sets []string // of scenarios, of training
	for _, set := range o.scenario.Sets {
		if strings.HasPrefix(set, flags.ScenarioPrefix) {
			own = append(own, set)
		} else {
			sets = append(sets, set)
		}
	}
	if o.dir != "" && o.scenario.Name == "" && o.config == "" && len(o.vary)+len(o.scenario.Sets)+len(o.numbers) == 0 {
		r, scenarios, err = sweep.Read(o.dir)
		if errors.Is(err, checkpoints.ErrNone) {
			err = fmt.Errorf("%w: name a scenario with --scenario to begin one", err)
		}
		return r, scenarios, err
	}
	r = sweep.DefaultRequest()
	if _, err := config.Load(o.config, &r, config.Options{EnvPrefix: "CLUSTERGYM", Sets: append(sets, o.numbers...)}); err != nil {
		return r, nil, err
	}
	r.Scenario, r.Set = cmp.Or(o.scenario.Name, r.Scenario), append(r.Set, own...)
	if len(o.vary) > 0 {
		r.Vary = o.vary
	}
	if r.Scenario == "" {
		return r, nil, cmdline.Usage("no scenario: name one with --scenario, see clustergym scenario ls")
	}
	for _, name := range r.Scenarios() {
		s, err := (&flags.Scenario{Name: name, Sets: r.Set}).Load()
		if err != nil {
			return r, nil, err
		}
		scenarios = append(scenarios, s)
	}
	return r, scenarios, nil
}

// trainKeys returns the keys of the settings of training and of scenarios, with what they mean.
func trainKeys() []string {
	var keys []string
	for _, m := range train.Meanings() {
		keys = append(keys, "train."+m.Key+"\t"+m.Means)
	}
	return append(keys, flags.Keys(&scenario.Scenario{}, flags.ScenarioPrefix)...)
}
