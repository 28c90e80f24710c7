package train

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/must"
)

// TestTuneTakesTheBest checks that tune returns the baseline with the lowest cost relative to the first, averaged over training
// windows with equal weights, and on a tie the first.
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
	for _, name := range candidates {
		for _, src := range r.sources {
			n := src.Count(scenario.Train)
			for w := range min(n, 16) {
				e := must.Get(src.Episode(scenario.Train, w*n/min(n, 16), cfg.Seed))(t)
				s := must.Get(all.New(name))(t)
				c := must.Get(flow(cfg.Memory).follow(s, e.Episode))(t)
				totals[name] = append(totals[name], c.total)
			}
		}
	}
	over := func(name, first string) (sum float64) {
		for i, x := range totals[name] {
			sum += x / totals[first][i]
		}
		return sum
	}
	taken := map[string]bool{}
	for first := range candidates {
		for last := first; last < len(candidates); last++ {
			names := candidates[first : last+1]
			want := names[0]
			for _, name := range names {
				if over(name, names[0]) < over(want, names[0]) {
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
