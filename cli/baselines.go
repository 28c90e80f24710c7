package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newBaselinesCmd(a *app) *cobra.Command {
	return newCommand(a, &none{}, &cobra.Command{
		Use:   "baselines [NAME]",
		Short: "List the built-in policies, or describe one",
		Long: cmdline.Long(`
A baseline is a scheduler that learned policies are measured against. docs/policies.md compares them. Without NAME the command
lists them with a line about each. These names are accepted wherever a command takes a policy. So are prior, the base policy
from which a learned team starts; released, the learned policy that comes with the program; and the folder of an exported policy
or of a training run. Suffixes change a policy. With +menu, a baseline that is marked so gives jobs GPU shares, CPU, memory and
workers from the menu that learned policies have, instead of what they ask for. With +move it moves running jobs to where they
run faster. With +loan it borrows the servers that an inference pool lends. Several suffixes have this order:
srsf+menu+move+loan.

With NAME it describes how a baseline or a suffix decides, which publication it follows, what information it needs, and its
options: each with its default, its possible values and the source of the default. Options follow the name, each after a colon:
sjfhold:times=3.`),
		Example:           "  clustergym baselines\n  clustergym baselines sjfhold\n  clustergym baselines +loan",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeArgs(func() []string { return describable(a) }),
	}, runBaselines)
}

// describable returns the names that can be described.
func describable(a *app) []string {
	return append(a.table().Names(), baselines.Suffixes()...)
}

func runBaselines(_ context.Context, a *app, _ *none, args []string) error {
	if len(args) > 0 {
		return describeBaseline(a, args[0])
	}
	type line struct {
		Name  string `json:"name"`
		About string `json:"about"`
		Menu  bool   `json:"menu"`
	}
	lines, rows := []line{}, [][]string{{"baseline", "+menu", "about"}}
	for _, b := range a.table().All() {
		lines = append(lines, line{b.Name, b.About, b.Orders()})
		rows = append(rows, []string{b.Name, map[bool]string{true: "yes"}[b.Orders()], b.About})
	}
	return a.Print(lines, rows)
}

func describeBaseline(a *app, name string) error {
	b, ok := a.table().Find(name)
	if !ok {
		return cmdline.Usage("no baseline %q%s", name, cmdline.DidYouMean(name, describable(a)))
	}
	d := struct {
		baselines.Baseline
		Menu    bool            `json:"menu"`
		Options []option.Option `json:"options"`
	}{b, b.Orders(), b.Options()}
	if a.JSON {
		return a.PrintJSON(d)
	}
	a.Printf("%s: %s\n", d.Name, d.About)
	if d.Rule != "" { // a user's own scheduler may have no rule
		a.Printf("\n%s\n", d.Rule)
	}
	a.Printf("\n")
	for _, line := range [][2]string{{"source", d.Source}, {"needs", d.Needs}} {
		if line[1] != "" {
			a.Printf("%s: %s\n", line[0], line[1])
		}
	}
	if d.Menu {
		a.Printf("takes %s: yes\n", baselines.MenuSuffix)
	}
	if len(d.Options) > 0 {
		a.Printf("\noptions\n")
	}
	for _, o := range d.Options {
		a.Printf("  %s=%s\n      %s\n      values: %s\n      default: %s\n", o.Name, o.Default, o.About, o.Values, o.Source)
	}
	return nil
}
