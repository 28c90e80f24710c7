package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func nativeWriter(jobs []trace.Job) func(io.Writer) error {
	return func(w io.Writer) error { return trace.WriteNative(w, jobs) }
}

type genOptions struct {
	Params string  `flag:"params" default:"venus" complete:"workload" help:"the model: venus, philly, or a file of its parameters"`
	Jobs   int     `flag:"jobs" required:"true" help:"how many jobs to draw"`
	Seed   uint64  `flag:"seed" default:"1" help:"seed of the draw"`
	Load   float64 `flag:"load" help:"set the arrival rate so that the expected load of --gpus is this"`
	GPUs   int     `flag:"gpus" help:"number of GPUs for --load"`
	outOptions
}

func newTraceGenCmd(a *app) *cobra.Command {
	return newCommand(a, &genOptions{}, &cobra.Command{
		Use:   "gen --jobs N",
		Short: "Generate a trace",
		Long: cmdline.Long(`
Draws a workload from a fitted model (arrivals with daily cycle and bursts, gangs, heavy-tailed durations, users with
recurring jobs) and writes it in the native format. Equal parameters and seed give equal bytes.`),
		Example: `  clustergym trace gen --jobs 1000 --seed 7 -o jobs.csv
  clustergym trace gen --jobs 5000 --params philly --load 1.2 --gpus 64 -o busy.csv.gz`,
	}, runTraceGen)
}

func runTraceGen(_ context.Context, a *app, opts *genOptions, _ []string) error {
	p, err := findParams(opts.Params)
	if err != nil {
		return err
	}
	if (opts.Load != 0) != (opts.GPUs != 0) {
		return cmdline.Usage("--load %v --gpus %d: want both or neither", opts.Load, opts.GPUs)
	}
	if opts.Load != 0 {
		if p, err = p.WithLoad(opts.Load, opts.GPUs); err != nil {
			return err
		}
	}
	w, err := trace.Generate(p, opts.Jobs, opts.Seed)
	if err != nil {
		return err
	}
	return writeTrace(a, opts.Out, w)
}

// findParams returns a workload model by its name or from a file.
func findParams(name string) (trace.Params, error) {
	switch name {
	case "venus":
		return trace.Default(), nil
	case "philly":
		return trace.Philly(), nil
	}
	return trace.ReadParams(name)
}
