package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newScenarioCmd(a *app) *cobra.Command {
	return cmdline.NewGroup("scenario", "List and show scenarios",
		`A scenario describes what an experiment runs on: cluster, workload, windows, physics, horizon, estimates and seeds. It is
built in, or a YAML file; docs/scenarios.md describes every key.`,
		newScenarioLsCmd(a), newScenarioDescribeCmd(a))
}

type describeOptions struct {
	Sets    []string `flag:"set" keys:"scenariokeys" help:"change the scenario: key=value, such as cluster.servers=16; repeatable"`
	Measure bool     `flag:"measure" help:"play the test windows under sjfskip and print the share of the mean JCT that jobs wait"`
}

func newScenarioDescribeCmd(a *app) *cobra.Command {
	return newCommand(a, &describeOptions{}, &cobra.Command{
		Use:   "describe NAME",
		Short: "Show a scenario's card: all its values, what is real and what is assumed, and its workload",
		Long: cmdline.Long(`
Prints all values of a scenario as YAML, which is itself a scenario file. Then it prints, as comments, the scenario's card:
what is real and what is assumed, servers, physics, models, and the windows of each split with their load. So it also checks a
file: every key and value, its workload and inference demand. --measure plays the test windows under sjfskip and adds the share
of the mean JCT that jobs wait.`),
		Example: `  clustergym scenario describe embedded-small-v1 --measure
  clustergym scenario describe my.yaml --set cluster.servers=16`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeArgs(scenario.All),
	}, runScenarioDescribe)
}

// described is a scenario's description and its YAML.
type described struct {
	scenario.Description
	YAML    string `json:"yaml"`
	CPUOnly int    `json:"cpu_only_rows"`
}

func runScenarioDescribe(ctx context.Context, a *app, opts *describeOptions, args []string) error {
	s, err := (&flags.Scenario{Name: args[0], Sets: opts.Sets}).Load()
	if err != nil {
		return err
	}
	var yaml, card strings.Builder
	if err := s.Write(&yaml); err != nil {
		return err
	}
	src, err := s.Open()
	if err != nil {
		return err
	}
	read := src.Report()
	d := described{Description: src.Describe(), YAML: yaml.String(), CPUOnly: read.CPUOnly()}
	if opts.Measure {
		bar := a.bar("measure", "windows", int64(src.Count(scenario.Test)))
		create := func() cluster.Scheduler {
			sched, err := baselines.New("sjfskip")
			if err != nil {
				panic("clustergym: " + err.Error())
			}
			return sched
		}
		d.Queueing, err = src.Queueing(ctx, scenario.Test, s.Seeds[0], create, func(n int) { bar.Set(int64(n)) })
		bar.Finish()
		if err != nil {
			return err
		}
	}
	if a.JSON {
		return a.PrintJSON(d)
	}
	if err := d.WriteText(&card); err != nil {
		return err
	}
	a.Printf("%s", d.YAML)
	for line := range strings.Lines(card.String()) {
		a.Printf("%s\n", strings.TrimRight("# "+line, " \n"))
	}
	return nil
}
