package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/stats"
)

// contested returns a contest with the given costs by window, all of one scenario.
func contested(prior, team []float64) *contest {
	c := &contest{of: make([]*scenario.Source, len(team)), team: team, prior: prior}
	for i := range c.of {
		c.of[i] = idleSource
	}
	return c
}

var idleSource = new(scenario.Source)

// TestQuietWindowsDecideNothing checks that costs compare by sums: a window in which the prior costs nothing and the team little counts
// as that little, and the windows that carry the cost decide.
func TestQuietWindowsDecideNothing(t *testing.T) {
	prior := []float64{0, 0, 1000, 800, 0.5, 0}
	for _, c := range []struct {
		name string
		team []float64
		over float64
		kept bool
	}{
		{"the prior itself", prior, 1, false},
		{"better where it matters", []float64{2, 0, 100, 78.5, 0, 0}, 180.5 / 1800.5, true},
		{"better where nothing happens", []float64{0, 0, 1000.5, 800, 0, 0}, 1, false},
		{"worse where it matters, better elsewhere", []float64{0, 0, 1300, 800, 0, 0}, 2100 / 1800.5, false},
		{"much better in the costliest window, somewhat in another", []float64{0, 0, 100, 700, 0.5, 0}, 800.5 / 1800.5, true},
		{"much better in the costliest window, worse in the others", []float64{0, 0, 100, 810, 1, 0}, 911 / 1800.5, false},
		{"better in one window alone", []float64{0, 0, 0, 800, 0.5, 0}, 800.5 / 1800.5, false},
	} {
		x := contested(prior, c.team)
		if got := x.over(x.prior); math.Abs(got-c.over) > 1e-12 {
			t.Errorf("%s: %v of the prior's, want %v", c.name, got, c.over)
		}
		if got := better(x.scaled(x.team), x.scaled(x.prior)); got != c.kept {
			t.Errorf("%s: better %v, want %v", c.name, got, c.kept)
		}
	}
	free := contested([]float64{0, 0}, []float64{0, 3})
	if free.over(free.prior) != 2.5 || contested([]float64{0, 0}, []float64{0, 0}).over([]float64{0, 0}) != 1 {
		t.Errorf("beside a prior that costs nothing: %v", free.over(free.prior))
	}
	if one := contested([]float64{5}, []float64{4}); one.uncertain() != nil || !better(one.scaled(one.team), one.scaled(one.prior)) {
		t.Error("of a single window the lower cost is better, without an error")
	}
}

// TestScenariosCountAlike checks that a scenario whose windows cost a hundred times as much does not outweigh another one.
func TestScenariosCountAlike(t *testing.T) {
	rich, poor := new(scenario.Source), new(scenario.Source)
	c := &contest{of: []*scenario.Source{rich, rich, poor, poor}, prior: []float64{300, 100, 1, 3}, team: []float64{150, 50, 3, 3}}
	c.rivals, c.best = [][]float64{{200, 200, 2, 2}}, []float64{100, 100, 1, 1}
	if got := c.over(c.prior); got != (0.5+1.5)/2 {
		t.Errorf("%v of the prior's, want 1", got)
	}
	if against, best := c.means([]string{"las"}); against["las"] != 1 || best != 2 {
		t.Errorf("against %v, the best %v", against, best)
	}
}

// TestErrorOfARatio checks the standard error of a ratio of sums against the spread of the ratio over drawn sets of windows.
func TestErrorOfARatio(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 60
	var ratios, told []float64
	for range 2000 {
		prior, team := make([]float64, n), make([]float64, n)
		for i := range prior {
			prior[i] = math.Exp(r.NormFloat64())
			team[i] = prior[i] * (0.4 + 0.4*r.Float64())
		}
		c := contested(prior, team)
		ratios, told = append(ratios, c.over(c.prior)), append(told, *c.uncertain())
	}
	if got, want := stats.Mean(told), stats.StdDev(ratios); math.Abs(got/want-1) > 0.1 || slices.Min(told) <= 0 {
		t.Errorf("the error is told as %v, the ratio spreads by %v", got, want)
	}
}
