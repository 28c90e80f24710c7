package train

import (
	"math"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/must"
)

// TestTuneTakesTheBest checks that tune returns the baseline with the lowest costs over training windows, of each scenario in the unit
// of the first's, and the first of those that do not differ by more than the standard error
// of their ratio.
func TestTuneTakesTheBest(t *testing.T) {
	cfg, opt := tiny(t)
	// The third candidate decides like the second.
	candidates := []string{"fifo", "sjfskip", "sjfhold:times=0", "srsf", "las", "srsf+move"}
	r := &run{cfg: cfg, goal: flow(cfg.Memory)}
	for _, s := range opt.Scenarios {
		src := must.Get(s.Open())(t)
		r.sources = append(r.sources, src)
	}
	totals := map[string][]float64{} // cost of each window
	var of []int                     // scenario of each window
	for _, name := range candidates {
		for k, src := range r.sources {
			n := src.Count(scenario.Train)
			for w := range min(n, 16) {
				e := must.Get(src.Episode(scenario.Train, w*n/min(n, 16), cfg.Seed))(t)
				s := must.Get(all.New(name))(t)
				c := must.Get(flow(cfg.Memory).follow(s, e.Episode))(t)
				if totals[name] = append(totals[name], c.total); name == candidates[0] {
					of = append(of, k)
				}
			}
		}
	}
	lower := func(name, than, first string) bool {
		unit, windows := map[int]float64{}, map[int]float64{}
		for i, x := range totals[first] {
			unit[of[i]] += x
			windows[of[i]]++
		}
		ratio := func(without int) float64 {
			var a, b float64
			for i, x := range totals[name] {
				if i != without {
					a, b = a+x/unit[of[i]]*windows[of[i]], b+totals[than][i]/unit[of[i]]*windows[of[i]]
				}
			}
			return a / b
		}
		var mean, spread float64 // the jackknife's
		n := float64(len(totals[name]))
		for i := range totals[name] {
			mean += ratio(i) / n
		}
		for i := range totals[name] {
			spread += (ratio(i) - mean) * (ratio(i) - mean)
		}
		return 1-ratio(-1) > math.Sqrt(spread*(n-1)/n)*(1+1e-9)
	}
	taken := map[string]bool{}
	for first := range candidates {
		for last := first; last < len(candidates); last++ {
			names := candidates[first : last+1]
			want := names[0]
			for _, name := range names {
				if lower(name, want, names[0]) {
					want = name
				}
			}
			r.cfg.Prior = strings.Join(names, ",")
			if got, err := r.tune(); err != nil || got != want {
				t.Errorf("of %s: %q (%v), want %q", r.cfg.Prior, got, err, want)
			}
			taken[want] = true
		}
	}
	if len(taken) < 3 {
		t.Errorf("only %v were ever the best: the test says little", taken)
	}
	r.cfg.Prior, r.sources = "las", nil
	if got, err := r.tune(); err != nil || got != "las" {
		t.Errorf("of one: %q (%v)", got, err)
	}
}
