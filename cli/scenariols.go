package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
)

// listOptions are the flags of scenario ls.
type listOptions struct {
	all     bool
	measure bool
}

func newScenarioLsCmd(a *app) *cobra.Command {
	var opts listOptions
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the built-in scenarios",
		Long: cmdline.Long(`
Lists the built-in scenarios with a line about each. A family is one line: its scenarios differ in load, interference on
shared GPUs and elasticity, from which their names are built; --all lists each of them. --measure plays the test windows of
each scenario under sjfskip and adds the share of the mean JCT that jobs wait.

A scenario NAME-v1 gives schedulers full information, unless its card says otherwise. Each also goes by NAME-untold-v1: the same
scenario, whose schedulers are told neither run times nor speeds nor models.`),
		Example: "  clustergym scenario ls\n  clustergym scenario ls --all --measure",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runScenarioLs(cmd.Context(), a, opts) },
	}
	cmd.Flags().BoolVar(&opts.all, "all", false, "list every scenario of the families")
	cmd.Flags().BoolVar(&opts.measure, "measure", false, "play the test windows and add their load and queueing; needs the traces")
	return cmd
}

// listed is a built-in scenario, or a family of them.
type listed struct {
	Name     string             `json:"name"`
	About    string             `json:"about"`
	GPUs     int                `json:"gpus,omitempty"`
	Family   []string           `json:"family,omitempty"` // names of the family's scenarios
	Windows  int                `json:"test_windows,omitempty"`
	Load     float64            `json:"load,omitempty"`
	Queueing *scenario.Queueing `json:"queueing,omitempty"`
}

func runScenarioLs(ctx context.Context, a *app, opts listOptions) error {
	names := scenario.Names()
	if opts.all {
		names = scenario.All()
	}
	lines := make([]listed, 0, len(names))
	bar := progress.New(a.Talk, progress.Options{
		Quiet: a.Quiet || !opts.measure, Total: int64(len(names)), Label: "measure", Unit: "scenarios",
	})
	for _, name := range names {
		line, err := listOne(ctx, name, opts.measure)
		if err != nil {
			bar.Finish()
			return err
		}
		lines = append(lines, line)
		bar.Add(1)
	}
	bar.Finish()
	if !opts.all {
		for _, f := range scenario.Families() {
			lines = append(lines, listed{Name: familyName(f), About: f.About, Family: f.Names()})
		}
	}
	if a.JSON {
		return a.PrintJSON(lines)
	}
	return a.PrintRows(listRows(lines, opts.measure))
}

func listOne(ctx context.Context, name string, measure bool) (listed, error) {
	s, err := scenario.Load(name)
	if err != nil {
		return listed{}, err
	}
	line := listed{Name: name, About: s.About, GPUs: s.Cluster.GPUs()}
	if !measure {
		return line, nil
	}
	src, err := s.Open()
	if err != nil {
		return line, err
	}
	for _, split := range src.Describe().Splits {
		if split.Split == scenario.Test {
			line.Windows, line.Load = split.Windows, split.Load
		}
	}
	line.Queueing, err = measureQueueing(ctx, src, nil)
	return line, err
}

// measureQueueing plays the test windows under sjfskip, with the scenario's first seed, and measures how long jobs wait.
func measureQueueing(ctx context.Context, src *scenario.Source, done func(n int)) (*scenario.Queueing, error) {
	create := func() cluster.Scheduler {
		sched, err := baselines.New("sjfskip")
		if err != nil {
			panic("clustergym: " + err.Error())
		}
		return sched
	}
	return src.Queueing(ctx, scenario.Test, src.Scenario().Seeds[0], create, done)
}

// familyName returns the common name of a family's scenarios, with the values of each axis in braces.
func familyName(f scenario.Family) string {
	loads := make([]string, len(scenario.Loads))
	for i, l := range scenario.Loads {
		loads[i] = fmt.Sprintf("%03d", l)
	}
	axis := func(words []string) string { return "{" + strings.Join(words, ",") + "}" }
	warm := ""
	if f.Warm {
		warm = "-warm"
	}
	return fmt.Sprintf("%s-load%s-%s-%s%s-v1", f.Trace, axis(loads), axis(scenario.Interferences), axis(scenario.Gangs), warm)
}

func listRows(lines []listed, measure bool) [][]string {
	head := []string{"scenario", "GPUs", "about"}
	if measure {
		head = []string{"scenario", "GPUs", "test windows", "load", "queueing", "about"}
	}
	rows := [][]string{head}
	for _, l := range lines {
		gpus := ""
		if l.GPUs > 0 {
			gpus = strconv.Itoa(l.GPUs)
		}
		row := []string{l.Name, gpus}
		if measure {
			row = append(row, "", "", "")
			if q := l.Queueing; q != nil {
				row = append(row[:2], strconv.Itoa(l.Windows), fmt.Sprintf("%.2f", l.Load), fmt.Sprintf("%.1f %%", 100*q.Share()))
			}
		}
		rows = append(rows, append(row, l.About))
	}
	return rows
}
