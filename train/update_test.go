package train

import (
	"slices"
	"testing"

	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/internal/must"
)

// TestScenariosTakeTurns checks that consecutive windows, within and across updates, come from the scenarios in turn, and that
// samples have labels only in the first updates.
func TestScenariosTakeTurns(t *testing.T) {
	for _, c := range []struct {
		windows int
		want    [][]int // numbers of servers of the clusters played on, by update
	}{
		{1, [][]int{{4}, {2}, {4}, {2}, {4}}},
		{2, [][]int{{2, 4}, {2, 4}, {2, 4}, {2, 4}}},
		{3, [][]int{{2, 4}, {2, 4}}},
	} {
		cfg, opt := tiny(t)
		cfg.Windows, cfg.Choices, cfg.Label, opt.Dir = c.windows, 1000, 1, t.TempDir()
		r, err := start(t.Context(), cfg, opt)
		must.Do(t, err)
		defer r.close()
		for i, want := range c.want {
			var samples []learn.Sample
			m := &Metrics{Update: i + 1}
			if r.expert(m.Update) {
				_, err = r.study(t.Context(), m)
				samples = slices.Concat(r.labels.windows[i*cfg.Windows:]...)
			} else {
				samples, err = r.gather(t.Context(), m)
			}
			must.Do(t, err)
			var got []int
			for _, s := range samples {
				got = append(got, s.Servers)
				if (s.Saved != nil) != (i < cfg.Expert) {
					t.Fatalf("update %d: labels %v", i+1, s.Saved)
				}
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, want) {
				t.Errorf("update %d of %d windows is on clusters of %v servers, want %v", i+1, c.windows, got, want)
			}
		}
	}
}
