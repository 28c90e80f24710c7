package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/internal/rng"
)

func newPredictorCmd(a *app) *cobra.Command {
	return cmdline.NewGroup("predictor", "Train and compare predictors of how long jobs run",
		`Policies such as A-SRPT order jobs by how many training iterations each will take, which they learn from the jobs like it
that have ended. A predictor is one of granted (what the scenario tells), group-mean, group-median and forest (by the runs of
the recurring job), noisy(SIGMA) (what the scenario tells, distorted), or a file that predictor fit wrote.`,
		newPredictorFitCmd(a), newPredictorCompareCmd(a))
}

type predictorFitOptions struct {
	scenario flags.Scenario
	kind     string
	seed     uint64
	out      string
}

func newPredictorFitCmd(a *app) *cobra.Command {
	var opts predictorFitOptions
	cmd := &cobra.Command{
		Use:   "fit --scenario NAME --out FILE",
		Short: "Train a predictor on the training split of a scenario",
		Long: cmdline.Long(`
Plays the training split to a predictor in order of time, each job ending as if none queued, and writes all that it learned.
The file goes wherever a predictor is named, and may travel with a policy. Equal command lines write equal bytes.`,
			cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym predictor fit --scenario venus-contended-v1 --out venus.predictor
  clustergym predictor fit --scenario my.yaml --kind group-median --out - > median.predictor`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPredictorFit(cmd.Context(), a, opts) },
	}
	opts.scenario.Add(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.kind, "kind", "forest", "predictor to train: see predictor --help")
	f.Uint64Var(&opts.seed, "seed", 1, "of what the predictor draws")
	f.StringVarP(&opts.out, "out", "o", "", "file to write; its name ends in "+option.FileExtension)
	cmdline.Require(cmd, "scenario", "out")
	cmdline.Complete(cmd, "kind", predict.Kinds)
	return cmd
}

// predictorFitted is the result of predictor fit.
type predictorFitted struct {
	Out       string `json:"out"`
	Scenario  string `json:"scenario"`
	Predictor string `json:"predictor"`
	Jobs      int    `json:"jobs"`
	Seed      uint64 `json:"seed"`
}

func runPredictorFit(ctx context.Context, a *app, opts predictorFitOptions) error {
	if opts.out != "-" && !strings.HasSuffix(opts.out, option.FileExtension) {
		return cmdline.Usage("--out %q, want a name that ends in %s, or - for standard output", opts.out, option.FileExtension)
	}
	p, err := findPredictor("kind", opts.kind)
	if err != nil {
		return err
	}
	s, err := opts.scenario.Load()
	if err != nil {
		return err
	}
	jobs, err := splitJobs(s, scenario.Train, opts.seed)
	if err != nil {
		return err
	}
	bar := progress.New(a.Talk, progress.Options{Quiet: a.Quiet, Total: int64(len(jobs)), Label: "fit", Unit: "jobs"})
	err = predict.Teach(ctx, jobs, p, opts.seed, func(n int) { bar.Set(int64(n)) })
	bar.Finish()
	if err != nil {
		return err
	}
	if err := a.Write(opts.out, func(w io.Writer) error { return predict.Save(w, p) }); err != nil {
		return err
	}
	result := predictorFitted{opts.out, s.Name, p.Name(), len(jobs), opts.seed}
	switch {
	case opts.out == "-": // what standard output holds is the predictor
		return nil
	case a.JSON:
		return a.PrintJSON(result)
	}
	a.Printf("%s: %s, by %d jobs of the training split of %s\n", result.Out, result.Predictor, result.Jobs, result.Scenario)
	a.Printf("compare:  clustergym predictor compare --scenario %s --predictors %s,group-median\n",
		opts.scenario.Name, opts.out)
	return nil
}

// findPredictor is the predictor that a flag names.
func findPredictor(flag, kind string) (predict.Predictor, error) {
	p, err := predict.New(kind)
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, cmdline.NoRun(err)
	case errors.Is(err, predict.ErrFormat):
		return nil, cmdline.Fail(cmdline.CodeMismatch, err)
	}
	return nil, cmdline.Usage("--%s: %w", flag, err)
}

// splitJobs returns all jobs of a split; one that the scenario does not have is an error of usage.
func splitJobs(s *scenario.Scenario, split scenario.Split, seed uint64) ([]trace.Job, error) {
	src, err := s.Open()
	if err != nil {
		return nil, err
	}
	if src.Count(split) == 0 {
		return nil, cmdline.Usage("scenario %s has no %s split", s.Name, split)
	}
	return src.Jobs(split, seed)
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

func newPredictorCompareCmd(a *app) *cobra.Command {
	var opts predictorCompareOptions
	cmd := &cobra.Command{
		Use:   "compare --trace FILE | --scenario NAME | --generated N",
		Short: "Compare predictors of iterations on jobs in order of time",
		Long: cmdline.Long(`
Asks each predictor about every job when it is submitted, and tells it of every job when it ends: at submit + work, as if
none queued. Prints, for all jobs and by how many runs of the recurring job had ended before, the median of
|predicted - true| / true, the mean of |ln predicted - ln true|, and R2, the share of the variance of ln true that is explained
(below 0: worse than the mean). cold counts the jobs that were cold starts to the predictor.

Iterations of a job are its isolated run time over the time of an iteration placed best. Where a trace names no models, they
are seconds. Runs are those of a group, or, as the public traces name none, jobs of one user with equal requests.

--trace reads a trace. --scenario takes the jobs of a split, with models and groups as its episodes have them, and the
estimates that it grants. --generated draws jobs like those of trace gen, deals them models by GPU-hours, and makes a share of
them runs of recurring jobs, by user, size and class of GPU-hours: no real trace stands behind these groups, and model and group
tell of a job's length by construction.`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym predictor compare --trace venus.csv.gz --format helios
  clustergym predictor compare --scenario venus-contended-v1 --predictors venus.predictor,group-median,granted
  clustergym predictor compare --generated 20000 --recurring 0.7 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPredictorCompare(cmd.Context(), a, opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.trace, "trace", "", "CSV file of jobs, plain or gzip; - for standard input")
	opts.read.Add(cmd)
	opts.window.Add(cmd)
	opts.scenario.Add(cmd)
	f.StringVar(&opts.split, "split", string(scenario.Test), "part of the scenario's jobs: train, validation or test")
	f.IntVar(&opts.generated, "generated", 0, "draw so many jobs")
	f.Float64Var(&opts.recurring, "recurring", 1, "share of the drawn jobs that are runs of recurring jobs")
	f.StringVar((*string)(&opts.estimates.Kind), "estimates", string(trace.None),
		"run times told to granted and noisy, but for a scenario: oracle, noisy, profiled or none")
	f.Float64Var(&opts.estimates.Sigma, "sigma", 0, "noisy estimates: standard deviation of the error's logarithm")
	f.StringSliceVarP(&opts.predictors, "predictors", "p", []string{"group-mean", "group-median", "forest"},
		"what to compare: see predictor --help; repeatable, or separated by commas")
	f.Uint64Var(&opts.seed, "seed", 1, "of drawn jobs, of noise and of what predictors draw")
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
	Workload  string             `json:"workload"`
	Generated bool               `json:"generated"` // drawn, with groups and models by construction
	Jobs      int                `json:"jobs"`
	Seed      uint64             `json:"seed"`
	Rows      []predict.Accuracy `json:"predictors"`
}

func runPredictorCompare(ctx context.Context, a *app, opts predictorCompareOptions) error {
	var predictors []predict.Predictor
	for _, kind := range opts.predictors {
		p, err := findPredictor("predictors", kind)
		if err != nil {
			return err
		}
		predictors = append(predictors, p)
	}
	if len(predictors) == 0 {
		return cmdline.Usage("--predictors is empty, want some of %s", strings.Join(predict.Kinds(), ", "))
	}
	result := predictorsCompared{Seed: opts.seed}
	jobs, err := opts.jobs(a, &result)
	if err != nil {
		return err
	}
	result.Jobs = len(jobs)
	bar := progress.New(a.Talk, progress.Options{
		Quiet: a.Quiet, Total: int64(len(jobs) * len(predictors)), Label: "compare", Unit: "predictions",
	})
	result.Rows, err = predict.Compare(ctx, jobs, predictors, opts.seed, func(n int) { bar.Set(int64(n)) })
	bar.Finish()
	if err != nil {
		return err
	}
	each := len(result.Rows) / len(predictors)
	for i := range result.Rows {
		result.Rows[i].Predictor = opts.predictors[i/each] // as it was asked for: two files may hold predictors of one kind
	}
	return result.print(a)
}

// jobs reads, cuts or draws the jobs, and says in result what they are.
func (o *predictorCompareOptions) jobs(a *app, result *predictorsCompared) ([]trace.Job, error) {
	if o.scenario.Name != "" {
		if err := cmdline.OneOf("split", o.split, flags.Splits()...); err != nil {
			return nil, err
		}
		s, err := o.scenario.Load()
		if err != nil {
			return nil, err
		}
		result.Workload = fmt.Sprintf("%s, %s split", s.Name, o.split)
		return splitJobs(s, scenario.Split(o.split), o.seed)
	}
	err := cmp.Or(cmdline.OneOf("estimates", string(o.estimates.Kind), flags.EstimateKinds()...), o.estimates.Validate())
	if err != nil {
		return nil, cmdline.Fail(cmdline.CodeUsage, err)
	}
	var w trace.Workload
	if o.trace != "" {
		if w, err = o.read.Read(o.trace, a.In, a.Say); err == nil {
			w, err = o.window.Cut(w, a.Say)
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

func (r *predictorsCompared) print(a *app) error {
	if a.JSON {
		return a.PrintJSON(r)
	}
	a.Printf("%s; %d jobs, seed %d\n", r.Workload, r.Jobs, r.Seed)
	rows := [][]string{{"earlier runs", "jobs", "predictor", "cold", "median |error|", "mean |ln error|", "R2 of ln"}}
	for _, runs := range predict.EarlierRuns() {
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
