package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/train"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRungs(t *testing.T) {
	for _, c := range []struct {
		updates, every, eta, points int
		rungs, survivors            []int
	}{
		{40, 5, 3, 9, []int{5, 15, 40}, []int{9, 3, 1}},
		{40, 5, 3, 11, []int{5, 15, 40}, []int{11, 3, 1}},
		{40, 5, 3, 8, []int{15, 40}, []int{8, 2}},
		{40, 1, 3, 27, []int{2, 5, 14, 40}, []int{27, 9, 3, 1}},
		{40, 5, 0, 27, []int{40}, []int{27}},
		{6, 2, 2, 4, []int{2, 4, 6}, []int{4, 2, 1}},
		{6, 2, 3, 9, []int{2, 6}, []int{9, 3}}, // 6/9 and 6/3 are both rounded up to 2
		{7, 5, 2, 2, []int{5, 7}, []int{2, 1}},
		{5, 5, 2, 2, []int{5}, []int{2}},
	} {
		got := rungs(c.updates, c.every, c.eta, c.points)
		if alive := survivors(c.points, len(got), c.eta); !slices.Equal(got, c.rungs) || !slices.Equal(alive, c.survivors) {
			t.Errorf("%d updates, every %d, %d of %d points: rungs %v of %v points, want %v of %v",
				c.updates, c.every, c.eta, c.points, got, alive, c.rungs, c.survivors)
		}
	}
}

// stand is a stand-in for training: curves of validations by run, and how far each run was trained.
type stand struct {
	mu     sync.Mutex
	curves map[string][]float64 // by update, from 1
	stored map[string]int
	steps  int      // updates until the sweep is stopped, below 0 for ever
	jobs   []string // run and update of each call that trains
}

func (f *stand) advance(_ context.Context, r *run, until, _ int, note func(*train.Metrics)) error {
	f.mu.Lock()
	f.jobs = append(f.jobs, fmt.Sprintf("%s to %d", r.name, until))
	f.mu.Unlock()
	for u := r.updates + 1; u <= until; u++ {
		f.mu.Lock()
		if f.steps == 0 {
			f.mu.Unlock()
			return ErrStopped
		}
		f.steps--
		f.stored[r.name] = u
		f.mu.Unlock()
		note(&train.Metrics{Update: u})
	}
	return nil
}

func (f *stand) read(r *run) (all []train.Metrics, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for u := 1; u <= f.stored[r.name]; u++ {
		m := train.Metrics{Update: u}
		if u%r.config.Every == 0 || u == r.config.Updates {
			m.Validation = &f.curves[r.name][u-1]
		}
		all = append(all, m)
	}
	return all, nil
}

// sweep returns a sweep whose runs are those of the stand-in.
func (f *stand) sweep(p *Plan, parallel int) *sweep {
	s := newSweep(p, Options{Dir: "d", Parallel: parallel, Workers: 1})
	s.advance, s.read = f.advance, f.read
	for _, all := range s.runs {
		for _, r := range all {
			r.updates = f.stored[r.name]
		}
	}
	return s
}

// TestHalvingKeepsTheBest checks which points go on: those with the lowest mean over seeds of the lowest validation so far.
func TestHalvingKeepsTheBest(t *testing.T) {
	r := asked("train.rate=1e-3,2e-3,3e-3,4e-3")
	r.Halving, r.Seeds, r.Train.Updates, r.Train.Every = 2, 2, 4, 1
	f := &stand{stored: map[string]int{}, steps: -1, curves: map[string][]float64{
		"p1-rate-1e-3-s1": {.9, .3, .3, .3}, "p1-rate-1e-3-s2": {.95, .3, .3, .3}, // third at update 1: its end does not count
		"p2-rate-2e-3-s1": {.5, .9, .9, .9}, "p2-rate-2e-3-s2": {.9, .9, .9, .9}, // lowest of a run: 0.5 stays
		"p3-rate-3e-3-s1": {.8, .8, .7, .7}, "p3-rate-3e-3-s2": {.8, .4, .7, .6},
		"p4-rate-4e-3-s1": {.1, .1, .1, .1}, "p4-rate-4e-3-s2": {1.9, 1.9, 1.9, 1.9}, // one good seed is not enough
	}}
	got, err := f.sweep(plan(t, r), 1).do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"point  rate  seeds  updates  rung  validation     min     max",
		"p3     3e-3      2        4   3/3      0.5500  0.4000  0.7000",
		"p2     2e-3      2        2   2/3      0.7000  0.5000  0.9000",
		"p1     1e-3      2        1   1/3      0.9250  0.9000  0.9500",
		"p4     4e-3      2        1   1/3      1.0000  0.1000  1.9000", "",
	}, "\n")
	if diff := cmp.Diff(want, got.Text()); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
	if at := got.Points[0].Curve; !slices.Equal(at, []Validated{{1, .8}, {2, .6000000000000001}, {3, .7}, {4, .6499999999999999}}) {
		t.Errorf("curve %v", at)
	}
	if got.Points[0].BestRun != "d/runs/p3-rate-3e-3-s2" || len(got.Points[0].Runs) != 2 {
		t.Errorf("best run %s of %v", got.Points[0].BestRun, got.Points[0].Runs)
	}
	if got.Ties != nil {
		t.Errorf("ties at rungs %v", got.Ties)
	}
	if n := len(f.jobs); n != 2*(4+2+1) {
		t.Errorf("%d times a run was trained on, want 14: %v", n, f.jobs)
	}
	// A run that was stopped and then continued without the sweep counts only up to its rung.
	f.stored["p1-rate-1e-3-s1"], f.stored["p1-rate-1e-3-s2"] = 4, 3
	again, err := f.sweep(plan(t, r), 1).do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("after a stopped run was continued (-want +got):\n%s", diff)
	}
}

// TestTies checks that the order of the grid decides between equal points, and that the result says so.
func TestTies(t *testing.T) {
	r := asked("train.rate=1e-3,2e-3,3e-3,4e-3")
	r.Halving, r.Seeds, r.Train.Updates, r.Train.Every = 2, 1, 4, 1
	f := &stand{stored: map[string]int{}, steps: -1, curves: map[string][]float64{
		"p1-rate-1e-3-s1": {1, 1, 1, 1}, "p2-rate-2e-3-s1": {1, .8, .8, .8}, "p3-rate-3e-3-s1": {1, .7, .7, .7}, "p4-rate-4e-3-s1": {2, 2, 2, 2},
	}}
	got, err := f.sweep(plan(t, r), 1).do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Ties, []int{1}) || got.Points[0].Point != "p2-rate-2e-3" || got.Points[1].Updates != 2 {
		t.Errorf("ties at rungs %v, want 1:\n%s", got.Ties, got.Text())
	}
}

// TestInterruptionsDoNotMatter checks that a sweep that is stopped any number of times, with any number of runs at a time, has
// the result of an undisturbed one, and that progress ends at its total.
func TestInterruptionsDoNotMatter(t *testing.T) {
	grid := asked(values("train.windows", 9), "train.batch=8,9")
	base := plan(t, grid)
	rapid.Check(t, func(t *rapid.T) {
		p := *base
		p.Points = slices.Clone(base.Points[:rapid.IntRange(1, len(base.Points)).Draw(t, "points")])
		p.Request.Seeds, p.Request.Halving = rapid.IntRange(1, 3).Draw(t, "seeds"), rapid.SampledFrom([]int{0, 2, 3}).Draw(t, "halving")
		updates := rapid.IntRange(2, 12).Draw(t, "updates")
		every := rapid.IntRange(1, updates).Draw(t, "every")
		for i := range p.Points {
			p.Points[i].Config.Updates, p.Points[i].Config.Every = updates, every
		}
		p.Rungs = rungs(updates, every, p.Request.Halving, len(p.Points))
		p.Survivors = survivors(len(p.Points), len(p.Rungs), p.Request.Halving)
		curves := map[string][]float64{}
		for _, all := range newSweep(&p, Options{}).runs {
			for _, r := range all {
				curves[r.name] = rapid.SliceOfN(rapid.Float64Range(0, 2), r.config.Updates, r.config.Updates).Draw(t, r.name)
			}
		}
		whole := &stand{curves: curves, stored: map[string]int{}, steps: -1}
		s := whole.sweep(&p, 1)
		var last Progress
		s.opt.Progress = func(now Progress) { last = now }
		want, err := s.do(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if last.Done != last.Total {
			t.Fatalf("progress ends at %d of %d updates", last.Done, last.Total)
		}
		for k := range want.Points {
			if k > 0 && want.Points[k].Rung > want.Points[k-1].Rung {
				t.Fatalf("a point that went on is behind one that did not:\n%s", want.Text())
			}
		}
		parts := &stand{curves: curves, stored: map[string]int{}}
		for range 1000 {
			parts.steps = rapid.IntRange(1, 40).Draw(t, "steps")
			got, err := parts.sweep(&p, rapid.IntRange(1, 4).Draw(t, "parallel")).do(context.Background())
			if err == nil {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("result of the interrupted sweep (-want +got):\n%s", diff)
				}
				return
			}
			if !errors.Is(err, ErrStopped) {
				t.Fatal(err)
			}
		}
		t.Fatal("the sweep does not end")
	})
}

// TestFailureEndsTheSweep checks that the first failure ends the sweep and that no further run begins.
func TestFailureEndsTheSweep(t *testing.T) {
	r := asked(values("train.windows", 8))
	r.Seeds = 1
	for _, parallel := range []int{1, 3} {
		f := &stand{stored: map[string]int{}, steps: -1}
		s := f.sweep(plan(t, r), parallel)
		broken := errors.New("run p2: no space")
		s.advance = func(ctx context.Context, r *run, until, workers int, note func(*train.Metrics)) error {
			if r.name == "p2-windows-5-s1" {
				return broken
			}
			if parallel > 1 && r.name != "p8-windows-11-s1" { // which trains before the others, because it needs most labels
				select {
				case <-s.stop:
				case <-time.After(10 * time.Second):
				}
			}
			return f.advance(ctx, r, min(until, 3), workers, note)
		}
		if _, err := s.do(t.Context()); !errors.Is(err, broken) {
			t.Errorf("%d at a time: error %v", parallel, err)
		}
		if len(f.jobs) > parallel {
			t.Errorf("%d at a time: %v were trained", parallel, f.jobs)
		}
	}
}

// TestLabelsFirst checks that of several runs that share labels the one that needs most of them trains before the others, if
// runs train at the same time.
func TestLabelsFirst(t *testing.T) {
	r := asked("train.windows=4,8", "train.label=0.1,0.2")
	r.Seeds = 2
	s := newSweep(plan(t, r), Options{Parallel: 4})
	first, rest, err := s.order([]int{0, 1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range first {
		names = append(names, r.name)
	}
	if !slices.Equal(names, []string{"p3-windows-8-label-0.1-s1", "p4-windows-8-label-0.2-s1"}) || len(rest) != 6 {
		t.Errorf("first %v, then %d runs", names, len(rest))
	}
}
