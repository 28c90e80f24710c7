package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/folderlock"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/internal/work"
)

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
	if o.Untold != "" && len(o.Policies) != 1 {
		return nil, cmdline.Usage("--untold %s: want exactly one --policy beside it, got %d", o.Untold, len(o.Policies))
	}
	if len(o.Policies) == 0 {
		return standard, nil
	}
	reference, _ := bench.FindStandard(standard, bench.Reference)
	all := []bench.Entry{reference}
	for _, arg := range o.Policies {
		e, ok := bench.FindStandard(standard, arg)
		if !ok || o.Untold != "" {
			p, err := a.fitter().Load(arg)
			if err != nil {
				return nil, err
			}
			_, taken := bench.FindStandard(standard, p.Name)
			if (taken || a.table().Known(p.Name)) && p.Rule != p.Name && arg != p.Name {
				return nil, cmdline.Usage("--policy %s: another policy has the name %q: give it another name, with name=%s", arg, p.Name, arg)
			}
			e = bench.Entry{Name: p.Name, Told: arg, Untold: arg}
		}
		if o.Untold != "" {
			e.Untold = o.Untold
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
		if missing, ok := errors.AsType[*bench.MissingError](err); ok && len(o.Tasks) == 0 {
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
	build, err := work.Executable()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	a.Say("%s: %s, policies: %d", bench.Suite, phrase.Count(len(tasks), "task"), len(entries))
	var bar *progress.Bar
	opts := bench.Options{
		Dir: o.Out, Workers: o.Cores, Load: a.fitter().Load, Clock: func() time.Duration { return time.Since(began) },
		Program: bench.Program{Version: version, Revision: revision(), Build: build, Go: runtime.Version()},
		Warn:    a.Warn,
		Progress: func(p bench.Progress) {
			if bar == nil {
				bar = a.bar("bench", "episodes", int64(p.Of))
			}
			if p.Done == p.Kept { // before the first case that is played
				bar.Skip(int64(p.Kept))
			}
			bar.Set(int64(p.Done))
			bar.Note(p.Row)
		},
	}
	file, err := bench.Play(ctx, tasks, entries, opts)
	if bar != nil {
		bar.Finish()
	}
	if refused, ok := errors.AsType[*eval.OverlapError](err); ok {
		return nil, cmdline.Fail(cmdline.CodeMismatch, fmt.Errorf("%w: the benchmark refuses it", refused))
	}
	if lacking, ok := errors.AsType[*eval.EstimatesError](err); ok {
		return nil, cmdline.Usage("%w; --untold names the policy that plays there in place of --policy", lacking)
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
