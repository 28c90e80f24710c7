package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
)

func newScenarioCmd(a *app) *cobra.Command {
	return newGroup("scenario", "List, show and check scenarios",
		`A scenario says what an experiment runs on: cluster, workload, windows, physics, horizon, estimates and seeds. It is built
in or a YAML file; docs/scenarios.md describes every key.`,
		newScenarioLsCmd(a), newScenarioDescribeCmd(a), newScenarioValidateCmd(a))
}

// scenarioOptions name a scenario and change it.
type scenarioOptions struct {
	name string
	sets []string
}

func (o *scenarioOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.name, "scenario", "s", "", "a built-in scenario, see scenario ls, or a YAML file")
	o.addSetFlag(cmd, "change the scenario: key=value, such as cluster.servers=16; repeatable")
	complete(cmd, "scenario", scenario.Names)
}

func (o *scenarioOptions) addSetFlag(cmd *cobra.Command, help string) {
	cmd.Flags().StringArrayVar(&o.sets, "set", nil, help)
}

// load reads the scenario; the prefix "scenario." of a setting may be left out.
func (o *scenarioOptions) load() (*scenario.Scenario, error) {
	sets := make([]string, len(o.sets))
	for i, s := range o.sets {
		sets[i] = strings.TrimPrefix(s, scenarioPrefix)
	}
	return scenario.Load(o.name, sets...)
}

const scenarioPrefix = "scenario."

func newScenarioLsCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List the built-in scenarios",
		Long:    long("Lists the built-in scenarios with a line about each."),
		Example: "  clustergym scenario ls",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runScenarioLs(a) },
	}
}

func runScenarioLs(a *app) error {
	type line struct {
		Name  string `json:"name"`
		About string `json:"about"`
		GPUs  int    `json:"gpus"`
	}
	var lines []line
	rows := [][]string{{"scenario", "GPUs", "about"}}
	for _, name := range scenario.Names() {
		s, err := scenario.Load(name)
		if err != nil {
			return err
		}
		lines = append(lines, line{name, s.About, s.Cluster.GPUs()})
		rows = append(rows, []string{name, fmt.Sprint(s.Cluster.GPUs()), s.About})
	}
	if a.json {
		return a.printJSON(lines)
	}
	return a.printRows(rows)
}

func newScenarioDescribeCmd(a *app) *cobra.Command {
	var opts scenarioOptions
	cmd := &cobra.Command{
		Use:   "describe NAME",
		Short: "Show a scenario in full, and its workload",
		Long: long(`
Prints every value that a scenario runs with as YAML, itself a scenario file, and then, as comments, what its workload comes
to: jobs, windows of each split, and the load of each split on the cluster.`),
		Example: `  clustergym scenario describe embedded-small-v1
  clustergym scenario describe my.yaml --set cluster.servers=16`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE: func(_ *cobra.Command, args []string) error {
			opts.name = args[0]
			return runScenarioDescribe(a, opts)
		},
	}
	opts.addSetFlag(cmd, "change the scenario: key=value, such as cluster.servers=16; repeatable")
	return cmd
}

func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenario.Names(), cobra.ShellCompDirectiveDefault
}

// splitStats is what a scenario's split comes to.
type splitStats struct {
	Split   scenario.Split `json:"split"`
	Windows int            `json:"windows"`
	Jobs    int            `json:"jobs"` // of one window
	Load    float64        `json:"load"` // mean over the windows
}

func runScenarioDescribe(a *app, opts scenarioOptions) error {
	s, err := opts.load()
	if err != nil {
		return err
	}
	var yaml strings.Builder
	if err := s.Write(&yaml); err != nil {
		return err
	}
	src, err := s.Open()
	if err != nil {
		return err
	}
	splits, err := describeSplits(src)
	if err != nil {
		return err
	}
	r := src.Report()
	if a.json {
		return a.printJSON(map[string]any{
			"name": s.Name, "about": s.About, "yaml": yaml.String(), "gpus": s.Cluster.GPUs(), "jobs": r.Jobs,
			"oversize_jobs": src.Oversize(), "cpu_only_rows": r.CPUOnly, "splits": splits,
		})
	}
	a.printf("%s# %d jobs on %d GPUs; %d too large for them, dropped or clamped; %d rows without GPUs set aside\n", yaml.String(),
		r.Jobs, s.Cluster.GPUs(), src.Oversize(), r.CPUOnly)
	for _, p := range splits {
		a.printf("# %s: %d windows of %d jobs, mean load %.2f\n", p.Split, p.Windows, p.Jobs, p.Load)
	}
	return nil
}

func describeSplits(src *scenario.Source) ([]splitStats, error) {
	s := src.Scenario()
	var all []splitStats
	for _, split := range []scenario.Split{scenario.Train, scenario.Validation, scenario.Test} {
		n := src.Count(split)
		if n == 0 {
			continue
		}
		sum := 0.0
		for i := range n {
			e, err := src.Episode(split, i, 0)
			if err != nil {
				return nil, err
			}
			if d := trace.Describe(e.Jobs); d.Span > 0 { // a window of one instant has no load
				sum += d.Load(s.Cluster.GPUs())
			}
		}
		all = append(all, splitStats{split, n, s.Window.Arrivals, sum / float64(n)})
	}
	return all, nil
}

func newScenarioValidateCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check scenario files",
		Long: long(`
Reads each scenario, checks every key and value, and reads its workload and cuts its windows. Prints a line a scenario.`,
			codeSomeFailed),
		Example:           "  clustergym scenario validate scenarios/*.yaml",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE:              func(_ *cobra.Command, args []string) error { return runScenarioValidate(a, args) },
	}
	return cmd
}

func runScenarioValidate(a *app, names []string) error {
	type line struct {
		Scenario string `json:"scenario"`
		Error    string `json:"error,omitempty"`
	}
	var lines []line
	var failed []error
	for _, name := range names {
		s, err := scenario.Load(name)
		if err == nil {
			_, err = s.Open()
		}
		if err != nil {
			failed = append(failed, err)
			lines = append(lines, line{name, err.Error()})
			continue
		}
		lines = append(lines, line{Scenario: name})
		if !a.json {
			a.printf("%s: ok\n", name)
		}
	}
	if a.json {
		if err := a.printJSON(lines); err != nil {
			return err
		}
	}
	switch {
	case len(failed) == 0:
		return nil
	case len(failed) == len(names):
		return errors.Join(failed...)
	}
	return &exitError{codeSomeFailed, errors.Join(failed...)}
}
