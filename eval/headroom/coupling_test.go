package headroom

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
)

// TestChoices checks the three ways to choose against values set by hand. Choices 0 and 1 exclude each other.
func TestChoices(t *testing.T) {
	pairs := [][2]int{{0, 2}, {1, 2}}
	for _, c := range []struct {
		name  string
		saves []float64 // choices 0, 1 and 2, then the pairs
		want  gains
	}{
		{"values that add up", []float64{10, 4, 5, 15, 9}, gains{15, 15, 15}},
		{"the best two are in each other's way", []float64{10, 4, 5, 3, 9}, gains{10, 10, 3}},
		{"the best after the best is not the best pair", []float64{10, 4, 5, 11, 20}, gains{20, 11, 11}},
		{"two that pay only together", []float64{-1, -2, -3, 8, 6}, gains{8, 0, 0}},
		{"the second gains only beside the first", []float64{10, 4, -5, 16, 0}, gains{16, 16, 10}},
		{"nothing pays", []float64{-1, -2, -3, -4, -5}, gains{0, 0, 0}},
	} {
		v := valued{choices: 3, futures: 0, pairs: pairs, saves: [][]float64{c.saves}}
		if got := v.gains(0, 1, 0, 1); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestChoicesAreValuedInOtherFutures checks sums over futures by hand: choices are made in the first of two futures.
func TestChoicesAreValuedInOtherFutures(t *testing.T) {
	v := valued{choices: 2, futures: 2, pairs: [][2]int{{0, 1}}, saves: [][]float64{{3, 2, 4}, {1, 5, -2}, {2, 2, 6}}}
	w := CoupledWindow{}
	v.add(&w, 10)
	want := CoupledWindow{
		Present: gains{60, 60, 60}, Hindsight: gains{40, 40, 40}, Fresh: gains{-20, -20, -20}, Together: 3600, Apart: 400,
	}
	if w != want {
		t.Errorf("%+v, want %+v", w, want)
	}
}

// TestMeasureCoupling checks that the report depends on the plan alone, and that no way to choose beats the joint choice where
// both choose and are valued in the same future.
func TestMeasureCoupling(t *testing.T) {
	p := CouplingPlan{Suite: suite(3), Base: named("sjfskip")[0], Points: 2, Candidates: 4, Futures: 2}
	last := 0
	p.Progress = func(done, of int) {
		if of != 3*2*(64+3*11) || done > of {
			t.Errorf("%d of %d", done, of)
		}
		last = done
	}
	r, err := MeasureCoupling(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if last != 3*2*(64+3*11) || r.Points != 6 || r.Eligible <= r.Points || len(r.Cases) != 3 || r.Fresh == nil {
		t.Errorf("ended at %d with %+v", last, r)
	}
	for _, w := range r.Cases {
		for _, g := range []gains{w.Present, w.Hindsight} {
			if g.Joint < g.Sequential || g.Joint < g.Greedy || g.Sequential < 0 {
				t.Errorf("%s: %+v", w.Window, g)
			}
		}
	}
	p.Workers, p.Progress = 1, nil
	if again, err := MeasureCoupling(t.Context(), p); err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("with one worker %+v, else %+v (%v)", again, r, err)
	}
	var b strings.Builder
	if err := WriteCoupling(&b, []*CouplingReport{r}); err != nil || !strings.Contains(b.String(), r.Verdict) {
		t.Errorf("%v\n%s", err, b.String())
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// TestReachedAgain checks that the base, from any decision point that was reached again, plays the episode that it played
// before, also if the jobs to come are not the true ones up to that point.
func TestReachedAgain(t *testing.T) {
	start, err := suite(1).Windows[0].Episode(1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCoupler(&CouplingPlan{Base: named("srtf")[0], Points: 5, Candidates: 6}, &start, 1)
	if err != nil {
		t.Fatal(err)
	}
	c.step = func(int) {}
	points, want, err := c.survey(t.Context(), &CoupledWindow{})
	if err != nil || len(points) != 5 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	for _, p := range points {
		if err := c.best(t.Context(), &p); err != nil || len(p.choices) < 2 || len(p.choices) > 6 {
			t.Errorf("%d choices, %v", len(p.choices), err)
		}
		c.foresee(c.all)
		if err := c.reach(p.decision); err != nil {
			t.Fatal(err)
		}
		if now := c.before.State().Now(); now != p.now {
			t.Errorf("decision %d is reached at %v, was at %v", p.decision, now, p.now)
		}
		if got, err := c.play(t.Context(), nil); err != nil || got != want {
			t.Errorf("from decision %d: %v in all, want %v (%v)", p.decision, got, want, err)
		}
		for _, k := range p.pairs {
			if !disjoint(p.choices[k[0]], p.choices[k[1]]) {
				t.Errorf("choices %v of decision %d concern one job", k, p.decision)
			}
		}
	}
}

func TestReordered(t *testing.T) {
	var jobs []trace.Job
	for i, at := range []time.Duration{0, 5, 5, 7, 8, 9} {
		jobs = append(jobs, trace.Job{JobSpec: cluster.JobSpec{Name: string(rune('a' + i)), Submit: at}})
	}
	changed := 0
	for seed := range uint64(20) {
		got, names := reordered(jobs, 5, rand.New(rand.NewPCG(seed, 0))), ""
		for i := range got {
			names += got[i].Name
			if got[i].Submit != jobs[i].Submit {
				t.Errorf("job %d is submitted at %v, want %v", i, got[i].Submit, jobs[i].Submit)
			}
		}
		if names[:3] != "abc" || !strings.Contains(names, "d") || !strings.Contains(names, "e") || !strings.Contains(names, "f") {
			t.Errorf("order %s", names)
		}
		if names != "abcdef" {
			changed++
		}
	}
	if changed < 10 {
		t.Errorf("%d of 20 orders are new", changed)
	}
}

// TestRatio checks the ratio of two sums, and that its interval is a point where all windows have the same ratio.
func TestRatio(t *testing.T) {
	r := CouplingReport{Windows: 3, Seeds: 2, Cases: []CoupledWindow{
		{Apart: 1, Together: 4}, {Apart: 1}, {Apart: 1, Together: 2}, {}, {}, {},
	}}
	of := func(w *CoupledWindow) (part, whole float64) { return w.Apart, w.Together }
	got := r.ratio(of)
	if got == nil || math.Abs(float64(got.Mean)-50) > 1e-9 || math.Abs(float64(got.Hi-got.Lo)) > 1e-9 {
		t.Errorf("%+v, want 50", got)
	}
	r.Cases[1].Apart = 2
	if got := r.ratio(of); math.Abs(float64(got.Mean)-200./3) > 1e-9 || got.Lo >= got.Mean || got.Hi <= got.Mean {
		t.Errorf("%+v, want 66.7 in an interval", got)
	}
	if got := (&CouplingReport{Windows: 1, Seeds: 1, Cases: make([]CoupledWindow, 1)}).ratio(of); got != nil {
		t.Errorf("%+v of nothing", got)
	}
}

func TestCouplingVerdicts(t *testing.T) {
	d := func(mean, lo float64) *eval.Difference {
		return &eval.Difference{Mean: eval.Number(mean), Lo: eval.Number(lo)}
	}
	for _, c := range []struct {
		lost *eval.Difference
		want Pays
	}{
		{nil, cannot}, {d(0.9, 0.8), cannot}, {d(3, 1), littlePays}, {d(6, -1), littlePays}, {d(6, math.Inf(-1)), littlePays},
		{d(6, 1), can},
	} {
		r := CouplingReport{Present: Coupling{Lost: c.lost}}
		if r.judge(); r.Pays != c.want || !strings.Contains(r.Verdict, "graph") {
			t.Errorf("%+v: %s, %q, want %s", c.lost, r.Pays, r.Verdict, c.want)
		}
	}
}
