package all

import (
	"errors"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/internal/must"
)

// TestWhoNeedsEstimates checks that a baseline is said to need estimates if and only if it fails where no job has one: with each value
// of each of its options, and with each suffix.
func TestWhoNeedsEstimates(t *testing.T) {
	e := scenariotest.Episode(t, "embedded-small-v1", "estimates.kind=none", "window.arrivals=12")
	said := map[bool]int{}
	for _, name := range variants() {
		run := must.Get(e.New())(t)
		err := run.Run(t.Context(), must.Get(New(name))(t), 1)
		needs := must.Get(Table().Parse(name))(t).Needs().Estimates
		if fails := errors.Is(err, cluster.ErrNoEstimate); needs != fails || err != nil && !fails {
			t.Errorf("%s needs estimates: %v, and without them: %v", name, needs, err)
		}
		said[needs]++
	}
	if min(said[true], said[false]) < 20 {
		t.Errorf("%d variants need estimates, %d do not, want many of both", said[true], said[false])
	}
}

// variants returns the names of all baselines, with suffixes, and with options that say who predicts and who places.
func variants() (names []string) {
	for _, b := range Table().All() {
		name := b.Name
		names = append(names, name, name+baselines.MoveSuffix, name+baselines.LoanSuffix, name+baselines.KnowSuffix,
			name+baselines.KnowSuffix+":time=told", name+baselines.KnowSuffix+":time=told"+baselines.LoanSuffix)
		if b.Orders() {
			names = append(names, name+baselines.MenuSuffix)
		}
		for _, o := range b.Options() {
			switch o.Name {
			case "place":
				names = append(names, name+":place=pack", name+":place=compact", name+":place=tune")
			case "predictor":
				names = append(names, name+":predictor=granted")
			case "backfill":
				names = append(names, name+":backfill="+o.Default)
			}
		}
	}
	return names
}
