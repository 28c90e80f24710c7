package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
)

func nativeWriter(jobs []trace.Job) func(io.Writer) error {
	return func(w io.Writer) error { return trace.WriteNative(w, jobs) }
}

type genOptions struct {
	Params string  `flag:"params" default:"venus" complete:"workload" help:"the model: venus, philly, or a file that trace fit wrote"`
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

type fitOptions struct {
	traceInput
	Name   string `flag:"name" default:"fitted" help:"name of the workloads that these parameters generate"`
	Source string `flag:"source" help:"source and licence of the traces; by default the files' names"`
	Out    string `flag:"out,o" default:"-" help:"file to write; - for standard output"`
}

func newTraceFitCmd(a *app) *cobra.Command {
	return newCommand(a, &fitOptions{}, &cobra.Command{
		Use:   "fit FILE...",
		Short: "Fit the generator to traces",
		Long: cmdline.Long(`
Estimates the parameters from which trace gen draws, from the jobs of all traces together, and writes them as YAML. A report
on standard error compares quantiles of the fitted durations with those of the traces.`),
		Example: `  clustergym trace fit venus.csv.gz --format helios --name venus --source "Helios Venus, CC BY 4.0" -o venus.yaml
  clustergym trace fit philly.csv.gz --format philly-all --from 1152h --to 1392h -o -`,
		Args: cobra.MinimumNArgs(1),
	}, runTraceFit)
}

// traceFit is the result of trace fit with --json, if the parameters go to a file.
type traceFit struct {
	Out     string     `json:"out"`
	Jobs    int        `json:"jobs"`
	Users   int        `json:"users"`
	Days    float64    `json:"days"`
	Classes []classFit `json:"classes"`
}

type classFit struct {
	MaxWorkers int32     `json:"max_workers"`
	Jobs       int       `json:"jobs"`
	Seen       []float64 `json:"seen_s"`   // at the quantiles .01, .10, .25, .50, .75, .90 and .99
	Fitted     []float64 `json:"fitted_s"` // the same quantiles of the fitted mixture
	KS         float64   `json:"ks"`       // largest distance of the two distribution functions
}

func runTraceFit(ctx context.Context, a *app, opts *fitOptions, traces []string) error {
	var all []trace.Workload
	var names []string
	for _, path := range traces {
		w, err := opts.workload(ctx, a, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, w)
		names = append(names, w.Name)
	}
	p, report, err := trace.Fit(all...)
	if err != nil {
		return err
	}
	p.Name, p.Source = opts.Name, cmp.Or(opts.Source, strings.Join(names, ", "))
	if err := a.Write(opts.Out, p.Write); err != nil {
		return err
	}
	if a.JSON && opts.Out != "-" {
		result := traceFit{Out: opts.Out, Jobs: report.Jobs, Users: report.Users, Days: report.Days}
		for _, c := range report.Classes {
			result.Classes = append(result.Classes, classFit(c))
		}
		return a.PrintJSON(result)
	}
	a.Say("%d jobs of %d users in %.1f days", report.Jobs, report.Users, report.Days)
	for _, c := range report.Classes {
		a.Say("gangs of up to %d: %d jobs, distribution functions at most %.3f apart", c.MaxWorkers, c.Jobs, c.KS)
		for i, q := range trace.ClassQuantiles() {
			a.Say("  p%-3.0f seen %-9s fitted %s", 100*q, phrase.Seconds(c.Seen[i]), phrase.Seconds(c.Fitted[i]))
		}
	}
	return nil
}
