package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/studies/generator"
)

func newTraceCmd(a *cmdline.App) *cobra.Command {
	return cmdline.NewGroup("trace", "Fit the generator of traces",
		"The generator of traces draws jobs by parameters fitted to real ones.", newTraceFitCmd(a))
}

type fitOptions struct {
	traces []string
	read   flags.Trace
	window flags.Window
	name   string
	source string
	out    string
}

func newTraceFitCmd(a *cmdline.App) *cobra.Command {
	var opts fitOptions
	cmd := &cobra.Command{
		Use:   "fit FILE...",
		Short: "Fit the generator to traces",
		Long: cmdline.Long(`
Estimates the parameters from which clustergym trace gen draws (--params FILE), from the jobs of all
traces together, and writes them as YAML. A report on standard error compares quantiles of the fitted durations with those of
the traces.`),
		Example: `  clustergym-studies trace fit venus.csv.gz --format helios --name venus -o venus.yaml
  clustergym-studies trace fit philly.csv.gz --format philly-all --from 1152h --to 1392h -o -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.traces = args
			return runTraceFit(cmd.Context(), a, opts)
		},
	}
	flags.Bind(cmd, &opts.read, flags.Shared)
	flags.Bind(cmd, &opts.window, flags.Shared)
	f := cmd.Flags()
	f.StringVar(&opts.name, "name", "fitted", "name of the workloads that these parameters generate")
	f.StringVar(&opts.source, "source", "", "source and licence of the traces; by default the files' names")
	f.StringVarP(&opts.out, "out", "o", "-", "file to write; - for standard output")
	return cmd
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

func runTraceFit(ctx context.Context, a *cmdline.App, opts fitOptions) error {
	var all []trace.Workload
	var names []string
	for _, path := range opts.traces {
		w, err := opts.read.Read(ctx, path, a.In, a.Say)
		if err != nil {
			return err
		}
		if w, err = opts.window.Cut(w); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, w)
		names = append(names, w.Name)
	}
	p, report, err := generator.Fit(all...)
	if err != nil {
		return err
	}
	p.Name, p.Source = opts.name, cmp.Or(opts.source, strings.Join(names, ", "))
	if err := a.Write(opts.out, p.Write); err != nil {
		return err
	}
	if a.JSON && opts.out != "-" {
		result := traceFit{Out: opts.out, Jobs: report.Jobs, Users: report.Users, Days: report.Days}
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
