package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/folderlock"
	"github.com/clustergym/clustergym/internal/stats"
	"github.com/clustergym/clustergym/train"
)

// ErrStopped is the error of a sweep that Options.Stop ended. All finished updates are stored.
var ErrStopped = errors.New("stopped")

// Options say where and how a sweep works. They do not affect its result.
type Options struct {
	// Dir is the folder of the sweep. It contains sweep.yaml, runs/ with a folder for each run, and labels/, which all runs share.
	// If it contains a part of the same sweep, Run continues it.
	Dir       string
	Scenarios []*scenario.Scenario // those that Request.Scenario names
	Parallel  int                  // number of runs to train at a time; 0 means 1
	Workers   int                  // number of cores to use; 0 means all
	// Train contains Given and Clock for all runs. The sweep sets the other fields.
	Train train.Options
	// Warn is called for checkpoints that are damaged; older ones then replace them. If Warn is nil, the sweep ends with an error.
	Warn func(error)
	// Progress is called before the first run and after every update, by one goroutine at a time. It may be nil.
	Progress func(Progress)
	// Stop, once closed, ends the sweep after the updates in progress. It may be nil.
	Stop <-chan struct{}
}

// Progress is how far a sweep is.
type Progress struct {
	Done, Total int // updates of all runs
	Rung        int // from 1
	Run         string
	Metrics     *train.Metrics // of the run's last update, nil before the first
}

// run is a training run of a sweep.
type run struct {
	name    string
	config  train.Config
	updates int // number of stored updates
}

// sweep is the state of a sweep.
type sweep struct {
	*Plan
	opt  Options
	runs [][]*run // by point and seed
	rung int

	// advance trains a run up to an update, at which it has validation and a checkpoint, and calls note after every update. It
	// returns ErrStopped if stop was closed before.
	advance func(ctx context.Context, r *run, until, workers int, note func(*train.Metrics)) error
	// read returns the metrics of a run's stored updates.
	read func(r *run) ([]train.Metrics, error)

	mu     sync.Mutex // for the fields below and for Options.Progress
	failed error
	stop   chan struct{} // closed when the sweep is to end early
	halt   func()        // closes stop
}

// Run carries out the plan. A run that fails ends the sweep with an error that names it; the runs in progress stop after their
// update, and everything finished is kept. Run returns an error that wraps ErrMismatch if the folder contains another sweep, and
// an error if another sweep uses the folder.
func (p *Plan) Run(ctx context.Context, opt Options) (*Result, error) {
	if err := validated(opt.Scenarios); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(opt.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("open sweep: %w", err)
	}
	unlock, err := folderlock.Acquire(opt.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := errors.Join(atomicfile.Clean(opt.Dir), train.CleanLabels(filepath.Join(opt.Dir, labelsName))); err != nil {
		return nil, err
	}
	if err := p.Request.put(opt.Dir, opt.Scenarios); err != nil {
		return nil, err
	}
	s := newSweep(p, opt)
	s.advance, s.read = s.train, s.metrics
	if err := s.restore(); err != nil {
		return nil, err
	}
	return s.do(ctx)
}

// validated returns an error if no scenario has a validation window.
func validated(scenarios []*scenario.Scenario) error {
	for _, s := range scenarios {
		src, err := s.Open()
		if err != nil {
			return err
		}
		if src.Count(scenario.Validation) > 0 {
			return nil
		}
	}
	return errors.New("the scenario has no validation windows, by which a sweep compares its points: see window.validation")
}

func newSweep(p *Plan, opt Options) *sweep {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	opt.Parallel = max(opt.Parallel, 1)
	s := &sweep{Plan: p, opt: opt, stop: make(chan struct{})}
	s.halt = sync.OnceFunc(func() { close(s.stop) })
	for i := range p.Points {
		var all []*run
		for k := range p.Request.Seeds {
			cfg := p.Points[i].Config
			cfg.Seed += uint64(k)
			all = append(all, &run{name: fmt.Sprintf("%s-s%d", p.Points[i].Name, cfg.Seed), config: cfg})
		}
		s.runs = append(s.runs, all)
	}
	return s
}

// do trains all points up to the first rung, the best of them up to the next, and so on.
func (s *sweep) do(ctx context.Context) (*Result, error) {
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-s.opt.Stop:
			s.halt()
		case <-ended:
		}
	}()
	s.note(nil, nil)
	rows, ties := make([]Row, len(s.Points)), []int(nil)
	alive := make([]int, len(s.Points))
	for i := range alive {
		alive[i] = i
	}
	for s.rung = range s.Rungs {
		if s.rung > 0 {
			var tie bool
			alive, tie = best(alive, func(point int) float64 { return rows[point].Validation }, s.Survivors[s.rung])
			if tie {
				ties = append(ties, s.rung)
			}
		}
		if err := s.climb(ctx, alive); err != nil {
			return nil, err
		}
		for _, point := range alive {
			var err error
			if rows[point], err = s.row(point); err != nil {
				return nil, err
			}
		}
	}
	return s.result(rows, ties), nil
}

// row returns how well a point did up to the current rung.
func (s *sweep) row(point int) (Row, error) {
	p := &s.Points[point]
	row := Row{
		Point: p.Name, Settings: []Setting{}, Seeds: s.Request.Seeds, Updates: s.updates(point, s.rung), Rung: s.rung + 1,
	}
	for i, key := range s.Keys {
		row.Settings = append(row.Settings, Setting{key, p.Values[i]})
	}
	var lowest []float64
	for _, r := range s.runs[point] {
		all, err := s.read(r)
		if err != nil {
			return row, fmt.Errorf("run %s: %w", r.name, err)
		}
		low, ok := row.add(all)
		if !ok {
			return row, fmt.Errorf("run %s: no validation in its metrics up to update %d", r.name, row.Updates)
		}
		lowest = append(lowest, low)
		row.Runs = append(row.Runs, s.dir(r))
	}
	for i := range row.Curve {
		row.Curve[i].Validation /= float64(row.Seeds)
	}
	row.Validation, row.Min, row.Max = stats.Mean(lowest), slices.Min(lowest), slices.Max(lowest)
	row.BestRun = row.Runs[slices.Index(lowest, row.Min)]
	return row, nil
}

// result returns the result with the rows, the best first.
func (s *sweep) result(rows []Row, ties []int) *Result {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Validation, b.Validation), cmp.Compare(b.Rung, a.Rung))
	})
	return &Result{
		Dir: s.opt.Dir, Scenario: s.Request.Scenario, Set: s.Request.Set, Halving: s.Request.Halving, Rungs: s.Rungs, Ties: ties,
		Points: rows,
	}
}
