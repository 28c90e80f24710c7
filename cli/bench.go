package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/folderlock"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/progress"
)

// benchResults is the file of results in the folder of a benchmark.
const benchResults = "results.json"

type benchOptions struct {
	tasks    []string
	policies []string
	untold   string
	workers  int
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
	f.IntVar(&opts.workers, "workers", 0, "how many episodes to play at once, 0 for one per core; does not change the results")
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
		err = errors.Join(err, cmdline.Fail(cmdline.CodeSomeFailed, fmt.Errorf("some policies failed:\n%s", strings.Join(out.Failed, "\n"))))
	}
	return err
}

func lockFolder(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return folderlock.Acquire(dir)
}

// standardEntries returns the standard policies. Two of them are the released policy and its prior.
func standardEntries(a *app) ([]bench.Entry, error) {
	p, err := a.finder().Load(released.Name)
	if err != nil {
		return nil, err
	}
	return bench.Standard(p.Learned.Prior), nil
}

// entries returns what the flags ask for, and the reference.
func (o *benchOptions) entries(a *app) ([]bench.Entry, error) {
	standard, err := standardEntries(a)
	if err != nil {
		return nil, err
	}
	if o.untold != "" && len(o.policies) != 1 {
		return nil, cmdline.Usage("--untold %s: want exactly one --policy beside it, got %d", o.untold, len(o.policies))
	}
	if len(o.policies) == 0 {
		return standard, nil
	}
	reference, _ := bench.FindStandard(standard, bench.Reference)
	all := []bench.Entry{reference}
	for _, arg := range o.policies {
		e, ok := bench.FindStandard(standard, arg)
		if !ok || o.untold != "" {
			p, err := a.fitter().Load(arg)
			if err != nil {
				return nil, err
			}
			e = bench.Entry{Name: p.Name, Told: arg, Untold: arg}
		}
		if o.untold != "" {
			e.Untold = o.untold
		}
		if e == reference {
			continue
		}
		if slices.ContainsFunc(all, func(x bench.Entry) bool { return x.Name == e.Name }) {
			return nil, cmdline.Usage("--policy: two have the name %q: give one another, with name=%s", e.Name, arg)
		}
		all = append(all, e)
	}
	return all, nil
}

// open reads the workloads of the tasks. Those whose files are missing are left out, with a note, unless --task names them.
func (o *benchOptions) open(a *app, tasks []bench.Task) (opened []*bench.Opened, left []skipped, err error) {
	for i := range tasks {
		t, err := tasks[i].Open()
		if missing, ok := errors.AsType[*bench.MissingError](err); ok && len(o.tasks) == 0 {
			a.Say("task %s is left out: there is no file %s in the folder traces of the shared data: "+
				"docs/data-sources.md says where to get it, and %s is the variable for the folder above traces",
				missing.Task, missing.File, scenario.SharedVariable)
			left = append(left, skipped{missing.Task, missing.File})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		opened = append(opened, t)
	}
	return opened, left, nil
}

// play plays the entries and shows the progress. If some of them failed, it returns the rest with an error.
func (o *benchOptions) play(ctx context.Context, a *app, tasks []*bench.Opened, entries []bench.Entry) (*bench.File, error) {
	build, err := buildDigest()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	a.Say("%s: %s, policies: %d", bench.Suite, phrase.Count(len(tasks), "task"), len(entries))
	var bar *progress.Bar
	opts := bench.Options{
		Dir: o.out, Workers: o.workers, Load: a.fitter().Load, Clock: func() time.Duration { return time.Since(began) },
		Program: bench.Program{Version: version, Revision: revision(), Build: build, Go: runtime.Version()},
		Warn:    a.Warn,
		Progress: func(p bench.Progress) {
			if bar == nil {
				bar = progress.New(a.Talk, progress.Options{Quiet: a.Quiet, Total: int64(p.Of), Label: "bench", Unit: "episodes"})
			}
			bar.Skip(int64(p.Kept))
			bar.Set(int64(p.Done))
			bar.Note(p.Row)
		},
	}
	file, err := bench.Play(ctx, tasks, entries, opts)
	if bar != nil {
		bar.Finish()
	}
	if refused, ok := errors.AsType[*eval.OverlapError](err); ok {
		return nil, cmdline.Fail(cmdline.CodeMismatch, fmt.Errorf("%w: the benchmark wants policies that did not see its jobs", refused))
	}
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w; the same command goes on from there", err)
	}
	return file, unfit(err)
}

// keep puts the results into the file of the folder, beside the rows of policies that it had before, and returns all of them.
func (o *benchOptions) keep(a *app, path string, file *bench.File) (*bench.File, error) {
	old, err := readBench(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: move it away, or take another folder with --out", err)
	}
	if old != nil {
		var dropped []string
		if file, dropped = bench.Update(old, file); len(dropped) > 0 {
			a.Warn(fmt.Errorf("the reference does something else than before, so older results are dropped of %s",
				strings.Join(dropped, ", ")))
		}
	}
	return file, a.Write(path, file.Write)
}

// readBench reads a file of results.
func readBench(path string) (*bench.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := bench.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
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
