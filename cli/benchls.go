package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/table"
)

func newBenchLsCmd(a *app) *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the tasks of the benchmark and its standard policies",
		Long: cmdline.Long(`
Lists the tasks: how many windows are played, what schedulers are told, how long a restart takes, what speeds depend on, and the
files that a task needs from outside the program. Then it lists the standard policies, with the setting that plays where run
times and speeds are told and the one that plays where they are not. scenario describe prints all of a task's scenario.`),
		Example: `  clustergym bench ls`,
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runBenchLs(a, markdown) },
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print Markdown")
	return cmd
}

// benchList is the result of bench ls.
type benchList struct {
	Suite     string        `json:"suite"`
	Reference string        `json:"reference"`
	Tasks     []bench.Facts `json:"tasks"`
	Policies  []bench.Entry `json:"policies"`
}

func runBenchLs(a *app, markdown bool) error {
	out := benchList{Suite: bench.Suite, Reference: bench.Reference}
	for _, t := range bench.Tasks() {
		f, err := t.Facts()
		if err != nil {
			return err
		}
		out.Tasks = append(out.Tasks, f)
	}
	var err error
	if out.Policies, err = standardEntries(a); err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	quote := ""
	if markdown {
		quote = "`"
	}
	tasks := [][]string{{"", "task", "windows", "told", "restart", "speeds depend on", "files"}}
	for i, f := range out.Tasks {
		told := "nothing"
		if f.Told {
			told = "all"
		}
		tasks = append(tasks, []string{strconv.Itoa(i + 1), quote + f.Task + quote, strconv.Itoa(f.Windows), told, f.Restart,
			quote + f.Physics + quote, strings.Join(strings.Fields(f.Files), " ")})
	}
	policies := [][]string{{"policy", "plays where all is told", "plays where nothing is told"}}
	for _, e := range out.Policies {
		policies = append(policies, []string{e.Name, quote + e.Told + quote, quote + e.Untold + quote})
	}
	var b strings.Builder
	if markdown {
		table.Markdown(&b, tasks)
		b.WriteString("\n")
		table.Markdown(&b, policies)
	} else {
		table.Text(&b, len(tasks[0]), tasks)
		b.WriteString("\n")
		table.Text(&b, len(policies[0]), policies)
	}
	a.Printf("%s", b.String())
	return nil
}
