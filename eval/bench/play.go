package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/policy"
)

// Options are what Play needs besides tasks and entries.
type Options struct {
	// Dir is the folder in which finished cases are kept, so that Play goes on after an interrupt: see eval.Run.
	Dir     string
	Program Program // cases that another build of the program played are played again
	Workers int     // how many cases run at the same time; 0 means GOMAXPROCS
	// Load finds a policy. It must be able to fit policies: policy.Finder.Fits.
	Load func(name string) (*policy.Policy, error)
	// Clock and Warn are those of eval.Plan. Progress is called after each case. All may be nil.
	Clock    func() time.Duration
	Warn     func(error)
	Progress func(Progress)
}

// Progress says how far Play is.
type Progress struct {
	Done, Of int    // numbers of cases
	Kept     int    // how many of Done were finished before
	Row      string // the entry that plays
}

// MissingError reports that a task needs a file that is not there.
type MissingError struct {
	Task, File string
	err        error
}

func (e *MissingError) Error() string { return fmt.Sprintf("task %s: %v", e.Task, e.err) }

// Unwrap returns the error of the scenario.
func (e *MissingError) Unwrap() error { return e.err }

// Opened is a task whose workload has been read.
type Opened struct {
	Task
	Suite eval.Suite
	By    *objectives.Objective
	told  Told // what the task tells every policy
}

// Open reads the workload of the task. If a file is missing, it returns a MissingError.
func (t *Task) Open() (*Opened, error) { return t.OpenSplit(scenario.Test, t.Windows) }

// OpenSplit is Open for the first windows of any split, at most so many as there are: others than those of the result are to tune
// on.
func (t *Task) OpenSplit(split scenario.Split, windows int) (*Opened, error) {
	s, err := scenario.Load(t.Scenario, t.Sets...)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.Name(), err)
	}
	objective, err := objectives.Open(t.Objective)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.Name(), err)
	}
	src, err := s.Open()
	if missing, ok := errors.AsType[*scenario.NoFileError](err); ok {
		return nil, &MissingError{t.Name(), missing.Name, err}
	}
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.Name(), err)
	}
	some := make([]int, min(windows, src.Count(split)))
	for i := range some {
		some[i] = i
	}
	suite, err := eval.NewSuite(src, split, some)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.Name(), err)
	}
	suite.Seeds = []uint64{seed}
	return &Opened{*t, suite, objective, tells(s)}, nil
}

// Told reports whether the task tells run times and speeds.
func (t *Opened) Told() bool { return t.told.all() }

// digest returns a digest of the scenario with all jobs and of the objective.
func (t *Opened) digest() string {
	sum := sha256.Sum256([]byte(t.Suite.Digest + t.By.Text()))
	return hex.EncodeToString(sum[:])
}

// tells returns what a scenario tells schedulers.
func tells(s *scenario.Scenario) Told {
	return Told{
		RunTimes: string(s.Estimates.Kind), Speeds: cmp.Or(string(s.Told.Speeds), truth), Models: cmp.Or(string(s.Told.Models), truth),
		Groups: cmp.Or(string(s.Told.Groups), truth), Truth: []string{}, Trained: []string{},
	}
}

const truth = "truth"

// all reports whether a task tells run times and speeds.
func (t *Told) all() bool { return t.RunTimes == string(trace.Oracle) && t.Speeds == truth }

// by returns what a policy is told that plays a task with this Told.
func (t Told) by(p *policy.Policy) Told {
	t.Truth = []string{}
	if p.Needs.Truth.Times && t.RunTimes != string(trace.Oracle) {
		t.Truth = append(t.Truth, truths[0])
	}
	if p.Needs.Truth.Speeds && t.Speeds != truth {
		t.Truth = append(t.Truth, truths[1])
	}
	t.Training = p.Needs.Past()
	t.Trained = []string{}
	if p.Trained() {
		for _, s := range p.Training.Seen {
			t.Trained = append(t.Trained, scenario.Period(s).String())
		}
		if len(p.Training.Seen) == 0 {
			t.Trained = append(t.Trained, "not known")
		}
	}
	return t
}

// truths are the elements of Told.Truth.
var truths = [...]string{"run_times", "speeds"}

// Play plays the entries on the tasks and returns their rows. It plays one entry on one task after the other, each as a plan of
// package eval with a journal of its own in Options.Dir: cases that are done are not played again, also if other entries or tasks
// are asked for. The reference must be among the entries.
//
// An entry that fails on a task has no cell there. The error then wraps one of type *eval.FailedError for each, and the file has
// all other cells. With any other error the file is nil. A policy that was trained on jobs of a task is refused with an
// *eval.OverlapError before anything is played.
func Play(ctx context.Context, tasks []*Opened, entries []Entry, o Options) (*File, error) {
	parts, err := plans(tasks, entries, &o)
	if err != nil {
		return nil, err
	}
	state := Progress{}
	for i := range parts {
		state.Of += parts[i].Windows
	}
	out := &File{}
	var failed []error
	for i := range parts {
		p := &parts[i]
		before := state
		state.Row = p.entry.Name
		results, err := eval.Run(ctx, p.plan, func(now eval.Progress) {
			state.Done, state.Kept = before.Done+now.Done, before.Kept+now.Kept
			if o.Progress != nil {
				o.Progress(state)
			}
		})
		if _, some := errors.AsType[*eval.FailedError](err); some {
			failed = append(failed, fmt.Errorf("policy %s: %w", p.entry.Name, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		row := out.row(p.entry.Name)
		if row == nil {
			out.Rows = append(out.Rows, Row{Policy: p.entry.Name, Program: o.Program})
			row = &out.Rows[len(out.Rows)-1]
		}
		row.Cells = append(row.Cells, p.cell(results))
	}
	if err := out.check(); err != nil {
		return nil, errors.Join(append(failed, err)...)
	}
	out.sort()
	return out, errors.Join(failed...)
}

// part is an entry on a task.
type part struct {
	*Opened
	entry Entry
	plan  eval.Plan
}

// plans returns the parts in the order in which they are played: by task, so that what is learned on the training split of a task
// is kept in memory while it is needed.
func plans(tasks []*Opened, entries []Entry, o *Options) (all []part, err error) {
	loaded, err := loadAll(tasks, entries, o)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		for _, e := range entries {
			name := e.On(t.Told())
			p := *loaded[name]
			p.Name = name // so that a case of another setting never counts as one of this
			plan := eval.Plan{
				Suites: []eval.Suite{t.Suite}, Policies: []policy.Policy{p}, Workers: o.Workers, Build: o.Program.Build,
				Journal: filepath.Join(o.Dir, t.Name(), url.PathEscape("by-"+name)), Keep: func(eval.Case) bool { return false },
				Clock: o.Clock, Warn: o.Warn, Objectives: []*objectives.Objective{t.By},
			}
			if err := plan.Validate(); err != nil {
				return nil, err
			}
			all = append(all, part{t, e, plan})
		}
	}
	return all, nil
}

// loadAll loads what the entries stand for on the tasks, by name. It returns an eval.EstimatesError if some of them need
// estimates that tasks do not tell.
func loadAll(tasks []*Opened, entries []Entry, o *Options) (loaded map[string]*policy.Policy, err error) {
	loaded = map[string]*policy.Policy{}
	var untold []eval.Suite
	var play []policy.Policy // the untold tasks
	for _, t := range tasks {
		for _, e := range entries {
			name := e.On(t.Told())
			if loaded[name] == nil {
				if loaded[name], err = o.Load(name); err != nil {
					return nil, fmt.Errorf("policy %s: %w", e.Name, err)
				}
			}
			if t.Suite.Unestimated && len(untold) == 0 {
				play = append(play, *loaded[name])
			}
		}
		if t.Suite.Unestimated {
			untold = append(untold, t.Suite)
		}
	}
	return loaded, eval.CheckEstimates(untold, play)
}

// cell returns the results of the part.
func (p *part) cell(results []eval.Result) Cell {
	by := &p.plan.Policies[0]
	c := Cell{
		Task: p.Name(), Scenario: p.digest(), Played: by.Name, Weights: by.Digest, Told: p.told.by(by),
	}
	for i := range results {
		c.Cost = append(c.Cost, digits(results[i].Costs[0].Total))
		if results[i].Truncated != "" {
			c.Truncated++
		}
	}
	return c
}

// digits rounds to nine digits. The last digits of a sum depend on the processor.
func digits(x float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
	return rounded
}
