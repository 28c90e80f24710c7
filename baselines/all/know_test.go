package all

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
)

// TestKnowHidesEstimates checks that every baseline with +know decides alike without estimates, with true ones and with wrong
// ones, on a window with many models of jobs, where placers that look at speeds also look at run times.
func TestKnowHidesEstimates(t *testing.T) {
	names := []string{"a-srpt:predictor=granted", "a-srpt:predictor=noisy(1)", "srsf:place=pack", "las:place=compact"}
	for _, b := range Table().All() {
		names = append(names, b.Name)
		if b.Orders() {
			names = append(names, b.Name+baselines.MenuSuffix+baselines.MoveSuffix)
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			without := schedule(t, name+baselines.KnowSuffix, "estimates.kind=none")
			for _, sigma := range []string{"0", "2"} {
				if told := schedule(t, name+baselines.KnowSuffix, "estimates.kind=noisy", "estimates.sigma="+sigma); told != without {
					t.Errorf("with estimates of error %s it decides\n%s, without\n%s", sigma, told, without)
				}
			}
		})
	}
}

// schedule returns what happened to jobs in a busy window, and where they ran.
func schedule(t *testing.T, name string, sets ...string) string {
	t.Helper()
	e := scenariotest.Episode(t, "embedded-physics-v1", append(sets, "window.arrivals=40", "window.warm=20", "workload.load=3")...)
	s := must.Get(e.New())(t)
	p := must.Get(New(name))(t)
	must.Do(t, s.Run(t.Context(), p, 1))
	return strings.Join(simtest.Lines(s.Log()), "\n")
}
