package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newBenchJoinCmd(a *app) *cobra.Command {
	var opts benchOptions
	cmd := &cobra.Command{
		Use:   "join FILE...",
		Short: "Rank the results of several benchmarks together",
		Long: cmdline.Long(`
Reads files that bench wrote, here or elsewhere, and prints one ranking of all their policies. The reference rule must have done
the same in all of them, window for window: otherwise their programs or traces differ, and the command fails. A file may have a
part of the tasks only. If two files have different results of the same policy, the later file's name stands behind the policy's.

The ranking is over all tasks of the reference, or those of --task. Policies that did not play all of them are listed without a
rank, and a note names the tasks that all have played.`, cmdline.CodeMismatch),
		Example: `  clustergym bench join docs/bench-v1.json runs/bench/results.json
  clustergym bench join --task embedded-small-v1,turns-small-v1 mine.json yours.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runBenchJoin(a, &opts, args) },
	}
	cmd.Flags().StringSliceVarP(&opts.tasks, "task", "t", nil, "rank over these tasks, separated by commas, none for all there are")
	addBenchTable(cmd, &opts)
	cmdline.CompleteList(cmd, "task", bench.TaskNames)
	return cmd
}

func runBenchJoin(a *app, o *benchOptions, paths []string) error {
	tasks, err := bench.FindTasks(o.tasks)
	if err != nil {
		return cmdline.Usage("--task: %w", err)
	}
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
	if len(o.tasks) == 0 {
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
