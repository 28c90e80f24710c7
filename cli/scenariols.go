package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// listOptions are the flags of scenario ls.
type listOptions struct {
	All bool `flag:"all" help:"list every scenario of the families"`
}

func newScenarioLsCmd(a *app) *cobra.Command {
	return newCommand(a, &listOptions{}, &cobra.Command{
		Use:   "ls",
		Short: "List the built-in scenarios",
		Long: cmdline.Long(`
Lists the built-in scenarios with a line about each. A family is one line: its scenarios differ in load, interference on
shared GPUs and elasticity, from which their names are built; --all lists each of them. scenario describe says more of one.

A scenario NAME-v1 gives schedulers full information, unless its card says otherwise. Each also goes by NAME-untold-v1: the same
scenario, whose schedulers are told neither run times nor speeds nor models.`),
		Example: "  clustergym scenario ls\n  clustergym scenario ls --all",
	}, runScenarioLs)
}

// listed is a built-in scenario, or a family of them.
type listed struct {
	Name   string   `json:"name"`
	About  string   `json:"about"`
	GPUs   int      `json:"gpus,omitempty"`
	Family []string `json:"family,omitempty"` // names of the family's scenarios
}

func runScenarioLs(_ context.Context, a *app, opts *listOptions, _ []string) error {
	names := scenario.Names()
	if opts.All {
		names = scenario.All()
	}
	lines, rows := []listed{}, [][]string{{"scenario", "GPUs", "about"}}
	for _, name := range names {
		s, err := scenario.Load(name)
		if err != nil {
			return err
		}
		lines = append(lines, listed{Name: name, About: s.About, GPUs: s.Cluster.GPUs()})
		rows = append(rows, []string{name, strconv.Itoa(s.Cluster.GPUs()), s.About})
	}
	if !opts.All {
		for _, f := range scenario.Families() {
			lines = append(lines, listed{Name: familyName(f), About: f.About, Family: f.Names()})
			rows = append(rows, []string{familyName(f), "", f.About})
		}
	}
	return a.Print(lines, rows)
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
