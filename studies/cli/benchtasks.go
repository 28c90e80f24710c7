package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/eval/tune"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/table"
	"github.com/clustergym/clustergym/studies/headroom"
)

// benchTasksOptions say which tasks are measured, and how thoroughly.
type benchTasksOptions struct {
	tasks   []string
	rules   []string
	windows int
	effort  int
	cores   int
}

func newBenchTasksCmd(a *cmdline.App) *cobra.Command {
	var opts benchTasksOptions
	cmd := &cobra.Command{
		Use:   "bench-tasks",
		Short: "Measure what the tasks of the benchmark leave to gain",
		Long: cmdline.Long(`
For each task of clustergym bench, on validation windows: the best of all rules with their options, those of clustergym tune; the
best of fifo and las, which see no run times and are blind; and what a search that knows the future finds. A task
is worth playing if the search is at least 10 % below the best rule, and the blind rule clearly above it. The best rules are
chosen on the windows on which they are compared, which favours them. Differences are those of sums over windows, with 95 %
intervals. Prints Markdown.`, cmdline.CodeNoRun),
		Example: "  clustergym-studies bench-tasks --task small-first@embedded-small-v1 --windows 2",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runBenchTasks(cmd.Context(), a, opts) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&opts.tasks, "task", nil, "the tasks to measure, separated by commas, none for all")
	f.StringSliceVar(&opts.rules, "rules", tune.Names(), "the rules, separated by commas")
	f.IntVar(&opts.windows, "windows", 6, "how many validation windows to play, from the first on")
	f.IntVar(&opts.effort, "effort", 150, "how many episodes the search simulates per window")
	f.IntVar(&opts.cores, "cores", 0, "how many windows to process at once, 0 for one per core; does not change the results")
	cmdline.CompleteList(cmd, "task", bench.TaskNames)
	return cmd
}

func runBenchTasks(ctx context.Context, a *cmdline.App, o benchTasksOptions) error {
	if o.windows < 1 || o.effort < 0 || o.cores < 0 {
		return cmdline.Usage("--windows %d, --effort %d, --cores %d: want 1, 0 and 0 or more", o.windows, o.effort, o.cores)
	}
	tasks, err := bench.FindTasks(o.tasks)
	if err != nil {
		return cmdline.Usage("--task: %w", err)
	}
	rows := [][]string{{"task", "windows", "best rule", "cost of a window", "best blind rule", "blind, %", "search, %"}}
	var reports []*headroom.Report
	for i := range tasks {
		a.Say("%s", tasks[i].Name())
		p, err := o.plan(&tasks[i])
		if err != nil {
			return err
		}
		r, err := measureHeadroom(ctx, a, p)
		if err != nil {
			return err
		}
		reports = append(reports, r)
		rows = append(rows, benchTaskRow(tasks[i].Name(), r))
	}
	if a.JSON {
		return a.PrintJSON(reports)
	}
	var b strings.Builder
	table.Markdown(&b, rows)
	a.Printf("%s", b.String())
	return nil
}

// blind matches rules that look at what jobs ask for and have got, and at no run times.
var blind = regexp.MustCompile("^(fifo|las)(:|$)")

// plan returns what to measure of a task. Blind rules are those of the group Fixed, and the others those of the group Menu.
func (o *benchTasksOptions) plan(t *bench.Task) (headroom.Plan, error) {
	opened, err := t.OpenSplit(scenario.Validation, o.windows)
	if err != nil {
		return headroom.Plan{}, err
	}
	p := headroom.Plan{Suite: opened.Suite, Objective: opened.By, Effort: o.effort, Workers: o.cores}
	from := finder()
	from.Fits = true
	for _, name := range o.rules {
		group := headroom.Fixed
		if !blind.MatchString(name) {
			group = headroom.Menu
			if !opened.Told() {
				name += bench.Learns
			}
		}
		rule, err := from.Load(name)
		if err != nil {
			return p, cmdline.Usage("--rules: %w", err)
		}
		p.Rivals = append(p.Rivals, headroom.Rival{Policy: *rule, Group: group})
	}
	return p, nil
}

// benchTaskRow returns the row of a task.
func benchTaskRow(task string, r *headroom.Report) []string {
	best := slices.MinFunc(r.Rivals, func(a, b headroom.Tried) int {
		switch {
		case a.MeanJCT < b.MeanJCT:
			return -1
		case a.MeanJCT > b.MeanJCT:
			return 1
		}
		return 0
	})
	row := []string{
		"`" + task + "`", strconv.Itoa(r.Windows), "`" + best.Policy + "`", fmt.Sprintf("%.4g %s", float64(best.MeanJCT), r.Unit),
		"", "", "",
	}
	if i := slices.IndexFunc(r.Rows, func(x headroom.Row) bool { return x.Group == headroom.Fixed }); i >= 0 {
		row[4], row[5] = "`"+r.Rows[i].Policy+"`", signed(r.Rows[i].VsMenu)
	}
	gain := r.Searched
	row[6] = signed(&eval.Difference{Mean: -gain.Mean, Lo: -gain.Hi, Hi: -gain.Lo})
	return row
}

// signed formats a difference in percent.
func signed(d *eval.Difference) string {
	if d == nil {
		return "-"
	}
	return fmt.Sprintf("%+.0f [%+.0f, %+.0f]", float64(d.Mean), float64(d.Lo), float64(d.Hi))
}
