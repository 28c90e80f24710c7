package reproduce

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/internal/stats"
)

// Report is an experiment and what came of it.
type Report struct {
	Name   string    `json:"experiment"`
	Title  string    `json:"title"`
	Seeds  []uint64  `json:"seeds"`
	About  []string  `json:"about"`
	Rows   []Result  `json:"rows"`
	Claims []Verdict `json:"claims"`

	columns []Metric
}

// Result is a row and its figures.
type Result struct {
	Row
	// Mean and Spread are over seeds: the standard deviation, unknown for one seed.
	Mean   Figures `json:"mean,omitzero"`
	Spread Figures `json:"spread,omitzero"`
	// Error says why there are no figures, "" if there are: no such policy, or an episode that failed or was not run.
	Error string `json:"error,omitempty"`

	each []Figures // by seed, if there is no error
}

// notRun is the error of a row that was interrupted.
const notRun = "not run"

// Failed counts the rows without figures.
func (r *Report) Failed() int {
	n := 0
	for i := range r.Rows {
		if r.Rows[i].Error != "" {
			n++
		}
	}
	return n
}

// Run plays every row under every seed, so many at a time (0 for one a core), and returns the report. A row that fails says so
// in its result and does not keep the others from being run. done, if not nil, is called after each episode, one call at a time,
// with how many are done. If ctx ends, the report holds the rows that were finished, and the error is that of ctx.
func (e *Experiment) Run(ctx context.Context, seeds []uint64, workers int, done func(n int, row *Row)) (*Report, error) {
	if len(seeds) == 0 || len(e.Rows) == 0 || workers < 0 {
		return nil, fmt.Errorf("reproduce %s with %d rows, %d seeds and %d workers: want at least one row and seed, 0 or more workers",
			e.Name, len(e.Rows), len(seeds), workers)
	}
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	p := &pool{rows: e.Rows, seeds: seeds, played: make([]played, len(e.Rows)*len(seeds)), report: done}
	var group sync.WaitGroup
	for range min(workers, len(p.played)) {
		group.Go(func() { p.work(ctx) })
	}
	group.Wait()
	r := &Report{Name: e.Name, Title: e.Title, Seeds: seeds, About: e.About, columns: e.Columns}
	for i, row := range e.Rows {
		r.Rows = append(r.Rows, summarise(row, p.played[i*len(seeds):(i+1)*len(seeds)]))
	}
	for _, c := range e.Claims {
		r.Claims = append(r.Claims, c.judge(r.Rows))
	}
	return r, context.Cause(ctx)
}

// played is what came of one episode.
type played struct {
	figures Figures
	err     error
	done    bool
}

// pool is what the workers of a run share.
type pool struct {
	rows   []Row
	seeds  []uint64
	played []played // by row, then seed; each written by the worker that claimed it

	mu     sync.Mutex
	next   int
	done   int
	report func(n int, row *Row)
}

func (p *pool) work(ctx context.Context) {
	for {
		i, ok := p.claim(ctx)
		if !ok {
			return
		}
		row := &p.rows[i/len(p.seeds)]
		got := &p.played[i]
		got.figures, got.err = row.play(ctx, p.seeds[i%len(p.seeds)])
		got.done = ctx.Err() == nil
		p.finish(row)
	}
}

func (p *pool) claim(ctx context.Context) (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == len(p.played) || ctx.Err() != nil {
		return 0, false
	}
	p.next++
	return p.next - 1, true
}

func (p *pool) finish(row *Row) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.report != nil {
		p.report(p.done, row)
	}
}

// play plays one episode.
func (r *Row) play(ctx context.Context, seed uint64) (Figures, error) {
	all.Register()
	sched, err := baselines.New(r.Policy)
	if err != nil {
		return unknown(), err
	}
	start, err := r.episode(seed)
	if err != nil {
		return unknown(), err
	}
	episode, err := start.New()
	if err != nil {
		return unknown(), err
	}
	if err := episode.Run(ctx, sched, seed); err != nil {
		return unknown(), err
	}
	return measure(episode.Log(), pairOf), nil
}

// summarise takes mean and spread of the episodes of one row.
func summarise(row Row, episodes []played) Result {
	result := Result{Row: row, Mean: unknown(), Spread: unknown()}
	for _, e := range episodes {
		switch {
		case !e.done:
			result.Error = notRun
		case e.err != nil && result.Error == "":
			result.Error = e.err.Error()
		}
		result.each = append(result.each, e.figures)
	}
	if result.Error != "" {
		result.each = nil
		return result
	}
	for m := range metrics {
		var xs []float64
		for _, f := range result.each {
			if !math.IsNaN(f[m]) {
				xs = append(xs, f[m])
			}
		}
		if len(xs) == len(result.each) {
			result.Mean[m], result.Spread[m] = stats.Mean(xs), stats.StdDev(xs)
		}
	}
	return result
}
