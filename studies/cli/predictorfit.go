package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
)

type predictorFitOptions struct {
	Scenario flags.Scenario
	Kind     string `flag:"kind" default:"forest" help:"predictor to train: see predictor --help"`
	Seed     uint64 `flag:"seed" default:"1" help:"seed of the predictor's random draws"`
	Out      string `flag:"out,o" required:"true" help:"file to write; its name ends in .predictor"`
}

func newPredictorFitCmd(a *cmdline.App) *cobra.Command {
	return flags.Command(&cobra.Command{
		Use:   "fit --scenario NAME --out FILE",
		Short: "Train a predictor on the training split of a scenario",
		Long: cmdline.Long(`
Shows the training split to a predictor in order of time, with each job ending as if no job queued, and writes what the
predictor learned. The file is accepted wherever a predictor is named, and can be stored with a policy. Equal command lines
write equal bytes. eval does the same by itself, on at most the latest 50,000 jobs, for policies with the option
predictor=fitted.`,
			cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym-studies predictor fit --scenario venus-contended-v1 --out venus.predictor
  clustergym-studies predictor fit --scenario my.yaml --kind group-median --out - > median.predictor`,
	}, &predictorFitOptions{}, flags.Shared, func(ctx context.Context, o *predictorFitOptions, _ []string) error {
		return runPredictorFit(ctx, a, o)
	})
}

// predictorFitted is the result of predictor fit.
type predictorFitted struct {
	Out       string `json:"out"`
	Scenario  string `json:"scenario"`
	Predictor string `json:"predictor"`
	Jobs      int    `json:"jobs"`
	Seed      uint64 `json:"seed"`
}

func runPredictorFit(ctx context.Context, a *cmdline.App, opts *predictorFitOptions) error {
	if opts.Out != "-" && !strings.HasSuffix(opts.Out, option.FileExtension) {
		return cmdline.Usage("--out %q, want a name that ends in %s, or - for standard output", opts.Out, option.FileExtension)
	}
	p, err := flags.Predictor("kind", opts.Kind)
	if err != nil {
		return err
	}
	s, err := opts.Scenario.Load()
	if err != nil {
		return err
	}
	jobs, err := flags.SplitJobs(s, scenario.Train, opts.Seed)
	if err != nil {
		return err
	}
	bar := progress.New(a.Talk, progress.Options{Quiet: a.Quiet, Total: int64(len(jobs)), Label: "fit", Unit: "jobs"})
	err = predict.Teach(ctx, jobs, p, opts.Seed, func(n int) { bar.Set(int64(n)) })
	bar.Finish()
	if err != nil {
		return err
	}
	if err := a.Write(opts.Out, func(w io.Writer) error { return predict.Save(w, p) }); err != nil {
		return err
	}
	r := predictorFitted{opts.Out, s.Name, p.Name(), len(jobs), opts.Seed}
	switch {
	case opts.Out == "-": // standard output contains the predictor itself
		return nil
	case a.JSON:
		return a.PrintJSON(r)
	}
	a.Printf("%s: %s, by %d jobs of the training split of %s\n", r.Out, r.Predictor, r.Jobs, r.Scenario)
	return nil
}
