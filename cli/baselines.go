package cli

import (
	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newBaselinesCmd(a *app) *cobra.Command {
	return cmdline.NewGroup("baselines", "List and describe the built-in policies",
		`A baseline is a scheduler that learned policies are measured against. docs/policies.md compares them.`,
		newBaselinesLsCmd(a), newBaselinesDescribeCmd(a))
}

func newBaselinesLsCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the baselines",
		Long: cmdline.Long(`
Lists the baselines with a line about each. These names are accepted wherever a command takes a policy. So are prior, the
base policy from which a learned team starts; released, the learned policy that comes with the program; and the folder of an
exported policy or of a training run. Suffixes change a policy. With +menu, a baseline that is marked so gives jobs GPU
shares, CPU, memory and workers from the menu that learned policies have, instead of what they ask for. With +move it moves
running jobs to where they run faster. With +loan it borrows the servers that an inference pool lends. Several suffixes have
this order: srsf+menu+move+loan.`),
		Example: "  clustergym baselines ls",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runBaselinesLs(a) },
	}
}

func runBaselinesLs(a *app) error {
	type line struct {
		Name  string `json:"name"`
		About string `json:"about"`
		Menu  bool   `json:"menu"`
	}
	lines := []line{}
	for _, b := range baselines.All() {
		lines = append(lines, line{b.Name, b.About, b.Orders()})
	}
	if a.JSON {
		return a.PrintJSON(lines)
	}
	rows := [][]string{{"baseline", "+menu", "about"}}
	for _, l := range lines {
		mark := ""
		if l.Menu {
			mark = "yes"
		}
		rows = append(rows, []string{l.Name, mark, l.About})
	}
	return a.PrintRows(rows)
}

func newBaselinesDescribeCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME",
		Short: "Describe how a baseline decides, what information it needs and its options",
		Long: cmdline.Long(`
Describes how a baseline decides, which publication it follows, what information it needs, and its options: each with its
default, its possible values and the source of the default. Also describes +menu, +move and +loan. Options follow the name,
each after a colon: sjfhold:times=3.`),
		Example: `  clustergym baselines describe sjfhold
  clustergym baselines describe +loan`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return describable(), cobra.ShellCompDirectiveNoFileComp
		},
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runBaselinesDescribe(a, args[0]) },
	}
}

// describable returns the names that can be described.
func describable() []string {
	return append(baselines.Names(), baselines.MenuSuffix, baselines.MoveSuffix, baselines.LoanSuffix, baselines.KnowSuffix)
}

func runBaselinesDescribe(a *app, name string) error {
	b, ok := baselines.Describe(name)
	if !ok {
		return cmdline.Usage("no baseline %q%s", name, cmdline.DidYouMean(name, describable()))
	}
	type description struct {
		Name    string          `json:"name"`
		About   string          `json:"about"`
		Rule    string          `json:"rule"`
		Source  string          `json:"source"`
		Needs   string          `json:"needs"`
		Menu    bool            `json:"menu"`
		Options []option.Option `json:"options"`
	}
	d := description{b.Name, b.About, b.Rule, b.Source, b.Needs, b.Orders(), b.Options()}
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
	if len(d.Options) == 0 {
		return nil
	}
	a.Printf("\noptions\n")
	for _, o := range d.Options {
		a.Printf("  %s=%s\n      %s\n      values: %s\n      default: %s\n", o.Name, o.Default, o.About, o.Values, o.Source)
	}
	return nil
}
