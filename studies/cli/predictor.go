package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/studies/predictors"
)

func newPredictorCmd(a *cmdline.App) *cobra.Command {
	return cmdline.NewGroup("predictor", "Train and compare predictors of how long jobs run",
		`Policies such as A-SRPT order jobs by how many training iterations each will take. They predict this number from similar jobs
that have ended. `+flags.PredictorHelp,
		newPredictorFitCmd(a), newPredictorCompareCmd(a))
}

type predictorCompareOptions struct {
	trace      string
	read       flags.Trace
	window     flags.Window
	scenario   flags.Scenario
	split      string
	generated  int
	recurring  float64
	estimates  trace.Estimates
	predictors []string
	seed       uint64
}

func newPredictorCompareCmd(a *cmdline.App) *cobra.Command {
	var opts predictorCompareOptions
	cmd := &cobra.Command{
		Use:   "compare --trace FILE | --scenario NAME | --generated N",
		Short: "Compare predictors of iterations on jobs in order of time",
		Long: cmdline.Long(`
Asks each predictor about every job at its submission, and reports to it every job that has ended, at submit + work, as if no
job queued. Prints results for all jobs, and by how many runs of the recurring job had ended before: the median of |predicted
- true| / true, the mean of |ln predicted - ln true|, and R2, the share of the variance of ln true that is explained (below
0: worse than the mean). cold counts the jobs for which the predictor had no similar earlier jobs.

The iterations of a job are its isolated run time divided by the time of an iteration at the best placement. If a trace has
no models, they are seconds. Runs are the jobs of a group or, as the public traces have no groups, jobs of one user with
equal requests.

--trace reads a trace. --scenario takes the jobs of a split, with the models, groups and estimates of its episodes.
--generated draws jobs as trace gen does, assigns models by GPU-hours, and makes a share of the jobs runs of recurring jobs,
by user, size and class of GPU-hours. These groups come from no real trace: by construction a job's model and group reveal
how long it is.`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym-studies predictor compare --trace venus.csv.gz --format helios
  clustergym-studies predictor compare --scenario venus-contended-v1 --predictors venus.predictor,group-median,granted
  clustergym-studies predictor compare --generated 20000 --recurring 0.7 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPredictorCompare(cmd.Context(), a, opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.trace, "trace", "", "CSV file of jobs, plain or gzip; - for standard input")
	flags.Bind(cmd, &opts.read, flags.Shared)
	flags.Bind(cmd, &opts.window, flags.Shared)
	flags.Bind(cmd, &opts.scenario, flags.Shared)
	f.StringVar(&opts.split, "split", string(scenario.Test), "part of the scenario's jobs: train, validation or test")
	f.IntVar(&opts.generated, "generated", 0, "generate this many jobs")
	f.Float64Var(&opts.recurring, "recurring", 1, "share of the drawn jobs that are runs of recurring jobs")
	f.StringVar((*string)(&opts.estimates.Kind), "estimates", string(trace.None),
		"estimates for granted and noisy, unless --scenario is given: oracle, noisy, profiled or none")
	f.Float64Var(&opts.estimates.Sigma, "sigma", 0, "noisy estimates: standard deviation of the error's logarithm")
	f.StringSliceVarP(&opts.predictors, "predictors", "p", []string{"group-mean", "group-median", "forest"},
		"predictors to compare: see predictor --help; repeatable, or separated by commas")
	f.Uint64Var(&opts.seed, "seed", 1, "seed of generated jobs, of noise and of the predictors' random draws")
	cmd.MarkFlagsOneRequired("trace", "scenario", "generated")
	cmd.MarkFlagsMutuallyExclusive("trace", "scenario", "generated")
	cmd.MarkFlagsMutuallyExclusive("scenario", "estimates")
	cmdline.Complete(cmd, "predictors", predict.Kinds)
	cmdline.Complete(cmd, "estimates", flags.EstimateKinds)
	cmdline.Complete(cmd, "split", flags.Splits)
	return cmd
}

// predictorsCompared is the result of predictor compare.
type predictorsCompared struct {
	Workload  string                `json:"workload"`
	Generated bool                  `json:"generated"` // drawn, with generated groups and models
	Jobs      int                   `json:"jobs"`
	Seed      uint64                `json:"seed"`
	Rows      []predictors.Accuracy `json:"predictors"`
}

func runPredictorCompare(ctx context.Context, a *cmdline.App, opts predictorCompareOptions) error {
	var list []predict.Predictor
	for _, kind := range opts.predictors {
		p, err := flags.Predictor("predictors", kind)
		if err != nil {
			return err
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		return cmdline.Usage("--predictors is empty, want some of %s", strings.Join(predict.Kinds(), ", "))
	}
	result := predictorsCompared{Seed: opts.seed}
	jobs, err := opts.jobs(ctx, a, &result)
	if err != nil {
		return err
	}
	result.Jobs = len(jobs)
	bar := progress.New(a.Talk, progress.Options{
		Quiet: a.Quiet, Total: int64(len(jobs) * len(list)), Label: "compare", Unit: "predictions",
	})
	result.Rows, err = predictors.Compare(ctx, jobs, list, opts.seed, func(n int) { bar.Set(int64(n)) })
	bar.Finish()
	if err != nil {
		return err
	}
	each := len(result.Rows) / len(list)
	for i := range result.Rows {
		result.Rows[i].Predictor = opts.predictors[i/each] // the name the user gave: two files may contain predictors of one kind
	}
	return result.print(a)
}

// jobs reads or generates the jobs, selects the window, and describes them in result.
func (o *predictorCompareOptions) jobs(ctx context.Context, a *cmdline.App, result *predictorsCompared) ([]trace.Job, error) {
	if o.scenario.Name != "" {
		if err := cmdline.OneOf("split", o.split, flags.Splits()...); err != nil {
			return nil, err
		}
		s, err := o.scenario.Load()
		if err != nil {
			return nil, err
		}
		result.Workload = fmt.Sprintf("%s, %s split", s.Name, o.split)
		return flags.SplitJobs(s, scenario.Split(o.split), o.seed)
	}
	err := cmp.Or(cmdline.OneOf("estimates", string(o.estimates.Kind), flags.EstimateKinds()...), o.estimates.Validate())
	if err != nil {
		return nil, cmdline.Fail(cmdline.CodeUsage, err)
	}
	var w trace.Workload
	if o.trace != "" {
		if w, err = o.read.Read(ctx, o.trace, a.In, a.Say); err == nil {
			w, err = o.window.Cut(w)
		}
		result.Workload = w.Name
	} else {
		w, err = o.generate()
		result.Generated = true
		result.Workload = fmt.Sprintf(
			"generated: jobs like those of %s, models dealt by GPU-hours, %g %% made runs of recurring jobs", w.Name, 100*o.recurring)
	}
	if err != nil {
		return nil, err
	}
	return w.Jobs, o.estimates.Apply(w.Jobs, rng.Stream(o.seed, "predictor", "estimates"))
}

func (o *predictorCompareOptions) generate() (trace.Workload, error) {
	mix := trace.Mix{Classes: scenario.DefaultClasses(), Recurring: o.recurring}
	if err := mix.Validate(); err != nil {
		return trace.Workload{}, cmdline.Usage("--recurring: %w", err)
	}
	if o.generated < 1 {
		return trace.Workload{}, cmdline.Usage("--generated %d, want at least 1", o.generated)
	}
	w, err := trace.Generate(trace.Default(), o.generated, o.seed)
	if err == nil {
		mix.Apply(w.Jobs, o.seed)
	}
	return w, err
}

func (r *predictorsCompared) print(a *cmdline.App) error {
	if a.JSON {
		return a.PrintJSON(r)
	}
	a.Printf("%s; %d jobs, seed %d\n", r.Workload, r.Jobs, r.Seed)
	rows := [][]string{{"earlier runs", "jobs", "predictor", "cold", "median |error|", "mean |ln error|", "R2 of ln"}}
	for _, runs := range predictors.EarlierRuns() {
		for _, p := range r.Rows {
			if p.Runs != runs || p.Jobs == 0 {
				continue
			}
			rows = append(rows, []string{
				runs, strconv.Itoa(p.Jobs), p.Predictor, strconv.Itoa(p.Cold), fmt.Sprintf("%.1f %%", 100*float64(p.Relative)),
				fmt.Sprintf("%.3f", float64(p.Log)), fmt.Sprintf("%.3f", float64(p.R2)),
			})
		}
	}
	return a.PrintRows(rows)
}
