package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
)

func newPredictorCmd(a *app) *cobra.Command {
	return cmdline.NewGroup("predictor", "Train predictors of how long jobs run",
		`Policies such as A-SRPT order jobs by how many training iterations each will take. They predict this number from similar jobs
that have ended. `+flags.PredictorHelp,
		newPredictorFitCmd(a))
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
Shows the training split to a predictor in order of time, with each job ending as if no job queued, and writes what the
predictor learned. The file is accepted wherever a predictor is named, and can be stored with a policy. Equal command lines
write equal bytes. eval and headroom do the same by themselves, on at most the latest 50,000 jobs, for policies with the
option predictor=fitted.`,
			cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym predictor fit --scenario venus-contended-v1 --out venus.predictor
  clustergym predictor fit --scenario my.yaml --kind group-median --out - > median.predictor`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPredictorFit(cmd.Context(), a, opts) },
	}
	opts.scenario.Add(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.kind, "kind", "forest", "predictor to train: see predictor --help")
	f.Uint64Var(&opts.seed, "seed", 1, "seed of the predictor's random draws")
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
	p, err := flags.Predictor("kind", opts.kind)
	if err != nil {
		return err
	}
	s, err := opts.scenario.Load()
	if err != nil {
		return err
	}
	jobs, err := flags.SplitJobs(s, scenario.Train, opts.seed)
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
	case opts.out == "-": // standard output contains the predictor itself
		return nil
	case a.JSON:
		return a.PrintJSON(result)
	}
	a.Printf("%s: %s, by %d jobs of the training split of %s\n", result.Out, result.Predictor, result.Jobs, result.Scenario)
	if tested([]*scenario.Scenario{s}) {
		const rule = "a-srpt:backfill=true:predictor="
		a.Printf("evaluate: %s\n", next(slices.Concat([]string{"eval", "--scenario", opts.scenario.Name}, opts.scenario.Again(),
			[]string{"--policies", list([]string{"fjf", rule + "group-median", rule + opts.out}), "--baseline", "fjf"})...))
	}
	return nil
}
