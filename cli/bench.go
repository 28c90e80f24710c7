package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/table"
)

// benchResults is the file of results in the folder of a benchmark.
const benchResults = "results.json"

type benchOptions struct {
	Tasks    []string `flag:"task,t" complete:"task" help:"the tasks to play or rank, separated by commas, none for all: see --list"`
	Policies []string `flag:"policy,p" help:"the policies to play, separated by commas, none for all standard ones"`
	Untold   string   `flag:"untold" help:"the policy that plays in place of --policy where run times and speeds are not told"`
	Cores    int      `flag:"cores" min:"0" help:"how many episodes to play at once, 0 for one per core; does not change the results"`
	Out      string   `flag:"out,o" default:"runs/bench" file:"dir" help:"folder of the results"`
	List     bool     `flag:"list" help:"list the tasks and the standard policies, and play nothing"`
	Markdown bool     `flag:"markdown" help:"print Markdown"`
}

func newBenchCmd(a *app) *cobra.Command {
	return newCommand(a, &benchOptions{}, &cobra.Command{
		Use:   "bench [FILE...]",
		Short: "Play the benchmark: fixed tasks, and a ranking of policies over all of them",
		Long: cmdline.Long(`
Plays policies on the tasks of the benchmark and prints a ranking. A task is an objective on a built-in scenario, with fixed
test windows and a fixed seed. Without flags the command plays all standard policies on all tasks. docs/bench.md has the rules:
what may be tuned on what, and what must be said of a policy.

Some tasks tell policies run times and speeds, others tell neither. --policy P plays P on all of them, --untold Q plays Q in its
place where nothing is told, such as the same policy with +know. Policies are those of eval; one that was trained on jobs of a
task is refused. Tasks whose traces are missing are left out, with a note that names the file, unless --task names them.

The folder --out keeps finished cases. To continue after an interrupt, give the same command again. Its file results.json has all
rows that were played in the folder. Equal rows have equal bytes.

With FILE, the command plays nothing, and ranks the policies of such files, from here or elsewhere, together. It fails if the
reference rule has not done the same in all of them, window for window. If two files have different results of the same policy,
the later file's name stands behind the policy's. Policies that did not play all tasks are listed without a rank.`,
			cmdline.CodeSomeFailed, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym bench
  clustergym bench --policy mine=runs/mine --untold mine=runs/mine-untold
  clustergym bench --task small-first@embedded-small-v1 --policy srsf:place=compact --out runs/one
  clustergym bench docs/bench-v2.json runs/bench/results.json`,
		Args: cobra.ArbitraryArgs,
	}, runBench)
}

// benched is the result of bench.
type benched struct {
	File    string         `json:"file"`
	Ranking *bench.Ranking `json:"ranking"`
	Skipped []skipped      `json:"skipped,omitempty"`
	Failed  []string       `json:"failed,omitempty"` // policies on tasks, each with its error
}

// skipped is a task that needs a file that is not there.
type skipped struct {
	Task string `json:"task"`
	File string `json:"file"`
}

func runBench(ctx context.Context, a *app, o *benchOptions, files []string) error {
	tasks, err := bench.FindTasks(o.Tasks)
	switch {
	case err != nil:
		return cmdline.Usage("--task: %w", err)
	case o.List:
		return listBench(a, o.Markdown)
	case len(files) > 0:
		return o.join(a, tasks, files)
	}
	entries, err := o.entries(a)
	if err != nil {
		return err
	}
	unlock, err := lockFolder(o.Out)
	if err != nil {
		return err
	}
	defer unlock()
	opened, left, err := o.open(a, tasks)
	if err != nil {
		return err
	}
	out := &benched{File: filepath.Join(o.Out, benchResults), Skipped: left}
	file, err := o.play(ctx, a, opened, entries)
	if file == nil {
		return err
	}
	if err != nil {
		out.Failed = strings.Split(err.Error(), "\n")
	}
	if file, err = o.keep(a, out.File, file); err != nil {
		return err
	}
	played := make([]bench.Task, len(opened))
	for i, t := range opened {
		played[i] = t.Task
	}
	if out.Ranking, err = bench.Rank(file, played); err != nil {
		return err
	}
	err = out.print(a, o)
	if len(out.Failed) > 0 {
		some := fmt.Errorf("some policies failed:\n%s", strings.Join(out.Failed, "\n"))
		err = errors.Join(err, cmdline.Fail(cmdline.CodeSomeFailed, some))
	}
	return err
}

func (b *benched) print(a *app, o *benchOptions) error {
	switch {
	case a.JSON:
		return a.PrintJSON(b)
	case o.Markdown:
		a.Printf("%s", b.Ranking.Markdown())
	default:
		a.Printf("%s", b.Ranking.Text())
	}
	if b.File != "" {
		a.Say("\nresults: %s", b.File)
	}
	return nil
}

// join ranks the results in files together.
func (o *benchOptions) join(a *app, tasks []bench.Task, paths []string) error {
	var files []bench.Named
	for _, path := range paths {
		f, err := readBench(path)
		if err != nil {
			return err
		}
		files = append(files, bench.Named{Name: path, File: f})
	}
	file, err := bench.Join(files...)
	if err != nil {
		return cmdline.Fail(cmdline.CodeMismatch, err)
	}
	if len(o.Tasks) == 0 {
		tasks = slices.DeleteFunc(tasks, func(t bench.Task) bool { return !file.Played(t) })
	}
	out := &benched{}
	if out.Ranking, err = bench.Rank(file, tasks); err != nil {
		return err
	}
	if shared := bench.Shared(file, tasks); len(shared) > 0 && len(shared) < len(tasks) {
		a.Say("some policies played a part of the tasks and have no rank: --task %s ranks all of them", strings.Join(shared, ","))
	}
	return out.print(a, o)
}

// benchList is the result of bench --list.
type benchList struct {
	Suite     string        `json:"suite"`
	Reference string        `json:"reference"`
	Tasks     []bench.Facts `json:"tasks"`
	Policies  []bench.Entry `json:"policies"`
}

func listBench(a *app, markdown bool) (err error) {
	out := benchList{Suite: bench.Suite, Reference: bench.Reference}
	if out.Policies, err = standardEntries(a); err != nil {
		return err
	}
	quote := map[bool]string{true: "`"}[markdown]
	tasks := [][]string{{"", "task", "scenario", "windows", "told", "restart", "files"}}
	for i, t := range bench.Tasks() {
		f, err := t.Facts()
		if err != nil {
			return err
		}
		out.Tasks = append(out.Tasks, f)
		tasks = append(tasks, []string{strconv.Itoa(i + 1), quote + f.Task + quote, quote + f.Scenario + quote, strconv.Itoa(f.Windows),
			map[bool]string{true: "all", false: "nothing"}[f.Told], f.Restart, strings.Join(strings.Fields(f.Files), " ")})
	}
	policies := [][]string{{"policy", "plays where all is told", "plays where nothing is told"}}
	for _, e := range out.Policies {
		policies = append(policies, []string{e.Name, quote + e.Told + quote, quote + e.Untold + quote})
	}
	if a.JSON || !markdown {
		return a.Print(out, tasks, policies)
	}
	var b strings.Builder
	table.Markdown(&b, tasks)
	b.WriteString("\n")
	table.Markdown(&b, policies)
	a.Printf("%s", b.String())
	return nil
}
