package reproduce

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/clustergym/clustergym/internal/stats"
	"github.com/clustergym/clustergym/studies/rivals"
)

// Report is an experiment with its results.
type Report struct {
	Name   string    `json:"experiment"`
	Title  string    `json:"title"`
	Seeds  []uint64  `json:"seeds"`
	About  []string  `json:"about"`
	Rows   []Result  `json:"rows"`
	Claims []Verdict `json:"claims"`

	columns []Metric
}

// Result is a row with its results.
type Result struct {
	Row
	// Mean is over seeds; Spread is the standard deviation over seeds, unknown for one seed.
	Mean   Figures `json:"mean,omitzero"`
	Spread Figures `json:"spread,omitzero"`
	// Error says why there are no figures: an unknown policy, or an episode that failed or was not run. "" if there are figures.
	Error string `json:"error,omitempty"`

	each []Figures // by seed, if there is no error
}

// notRun is the error of a row that was interrupted.
const notRun = "not run"

// Failed returns the number of rows without figures.
func (r *Report) Failed() int {
	n := 0
	for i := range r.Rows {
		if r.Rows[i].Error != "" {
			n++
		}
	}
	return n
}

// Run runs every row under every seed and returns the report. The parameter workers is the number of episodes at a time; 0
// stands for one per core. If a row fails, its result contains the error and the other rows still run. Run calls done, if not
// nil, after each episode with the number of episodes done; calls do not overlap. If ctx ends, the report contains the rows that
// were finished, and the error is that of ctx.
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

// played is the result of one episode.
type played struct {
	figures Figures
	err     error
	done    bool
}

// pool is the state that the workers of a run share.
type pool struct {
	rows   []Row
	seeds  []uint64
	played []played // by row, then seed; only the worker that claimed an episode writes it

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

// play runs one episode.
func (r *Row) play(ctx context.Context, seed uint64) (Figures, error) {
	sched, err := rivals.Table().New(r.Policy)
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

// summarise computes mean and spread over the episodes of one row.
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
