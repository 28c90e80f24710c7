package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// benchResults is the file of results in the folder of a benchmark.
const benchResults = "results.json"

type benchOptions struct {
	tasks    []string
	policies []string
	untold   string
	cores    int
	out      string
	byTask   bool
	markdown bool
}

func newBenchCmd(a *app) *cobra.Command {
	var opts benchOptions
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Play the benchmark: twelve fixed tasks, and a ranking of policies over all of them",
		Long: cmdline.Long(`
Plays policies on the tasks of the benchmark and prints a ranking. A task is a built-in scenario with fixed test windows and a
fixed seed; bench ls lists the tasks and the standard policies. Without flags the command plays all standard policies on all
tasks. docs/bench.md has the rules: what may be tuned on what, and what must be said of a policy.

The score of a policy is its mean job completion time divided by that of the reference rule in the same window, as a geometric
mean over windows and tasks. The 95 % interval is a bootstrap over windows. A policy is ranked behind those that are clearly
better: the others are ties.

Some tasks tell policies run times and speeds, others tell neither. --policy P plays P on all of them, --untold Q plays Q in its
place where nothing is told, such as the same policy with +know. A standard policy has its own setting for these tasks. Policies
are those of eval; one that was trained on jobs of a task is refused.

Tasks on real traces need files that are not part of the program. Tasks whose files are missing are left out, with a note that
names the file; a task that --task names must have its files.

The folder --out keeps finished cases. To continue after an interrupt, give the same command again. Its file results.json has all
rows that were played in the folder, with digests of the program, the scenarios and the policies. Send this file to others:
bench join puts several of them into one ranking. Equal rows have equal bytes.`,
			cmdline.CodeSomeFailed, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym bench
  clustergym bench --policy mine=runs/mine --untold mine=runs/mine-untold
  clustergym bench --task embedded-small-v1 --policy srsf:place=compact --out runs/one
  clustergym bench join runs/bench/results.json other.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBench(cmd.Context(), a, &opts) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&opts.tasks, "task", "t", nil, "the tasks to play, separated by commas, none for all: see bench ls")
	f.StringSliceVarP(&opts.policies, "policy", "p", nil, "the policies to play, separated by commas, none for all standard ones")
	f.StringVar(&opts.untold, "untold", "", "the policy that plays in place of --policy where run times and speeds are not told")
	f.IntVar(&opts.cores, "cores", 0, "how many episodes to play at once, 0 for one per core; does not change the results")
	f.StringVarP(&opts.out, "out", "o", filepath.Join("runs", "bench"), "folder of the results")
	addBenchTable(cmd, &opts)
	cmdline.CompleteList(cmd, "task", bench.TaskNames)
	cmd.AddCommand(newBenchLsCmd(a), newBenchJoinCmd(a))
	return cmd
}

func addBenchTable(cmd *cobra.Command, opts *benchOptions) {
	cmd.Flags().BoolVar(&opts.byTask, "by-task", false, "also print the ratio to the reference on each task")
	cmd.Flags().BoolVar(&opts.markdown, "markdown", false, "print the ranking and the ratios on each task as Markdown")
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

func runBench(ctx context.Context, a *app, o *benchOptions) error {
	tasks, err := bench.FindTasks(o.tasks)
	if err != nil {
		return cmdline.Usage("--task: %w", err)
	}
	entries, err := o.entries(a)
	if err != nil {
		return err
	}
	unlock, err := lockFolder(o.out)
	if err != nil {
		return err
	}
	defer unlock()
	opened, left, err := o.open(a, tasks)
	if err != nil {
		return err
	}
	out := &benched{File: filepath.Join(o.out, benchResults), Skipped: left}
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
	case o.markdown:
		a.Printf("%s", b.Ranking.Markdown())
	default:
		a.Printf("%s", b.Ranking.Text(o.byTask))
	}
	if b.File != "" {
		a.Say("\nresults: %s", b.File)
	}
	return nil
}
