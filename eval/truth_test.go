package eval

import (
	"context"
	"errors"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/must"
)

// TestTruthIsAReference checks that a policy that asks for the truth plays a scenario that tells nothing as it plays one that
// tells everything, and that the policies beside it are still told nothing.
func TestTruthIsAReference(t *testing.T) {
	const name, untold = "embedded-physics-v1", "embedded-physics-untold-v1"
	play := func(scenarioName string, policies ...string) []Result {
		s := must.Get(scenario.Load(scenarioName, "readings.interval=5m"))(t)
		src := must.Get(s.Open())(t)
		suite := must.Get(NewSuite(src, scenario.Test, []int{0, 1}))(t)
		suite.Seeds = []uint64{1}
		results := must.Get(Run(context.Background(), Plan{Suites: []Suite{suite}, Policies: found(t, policies...)}, nil))(t)
		return results
	}
	full := play(name, "srsf+menu+move")
	got := play(untold, "srsf+menu+move+know:time=truth:speed=truth", "srsf+menu+move+know:speed=fit")
	alone := play(untold, "srsf+menu+move+know:speed=fit")
	for i := range full {
		if a, b := full[i].Metrics.MeanJCT, got[2*i].Metrics.MeanJCT; a != b {
			t.Errorf("window %d: mean JCT %v with the truth, want %v as with full information", i, b, a)
		}
		if a, b := alone[i].Metrics.MeanJCT, got[2*i+1].Metrics.MeanJCT; a != b {
			t.Errorf("window %d: mean JCT %v beside a policy with the truth, want %v as alone", i, b, a)
		}
		if got[2*i].Metrics.MeanJCT == got[2*i+1].Metrics.MeanJCT {
			t.Errorf("window %d: the truth changes nothing", i)
		}
	}
	for _, p := range []string{"fifo+know:speed=truth", "fifo+know:time=truth"} {
		if _, err := all.New(p); !errors.Is(err, baselines.ErrUnfitted) {
			t.Errorf("outside eval %s: error %v, want one that wraps ErrUnfitted", p, err)
		}
	}
}

// TestSpeedsOfTheTrainingSplit checks that a policy begins with speeds that were learned in training windows, that the same is
// learned each time, and that it changes how the policy plays.
func TestSpeedsOfTheTrainingSplit(t *testing.T) {
	s, err := scenario.Load("embedded-physics-untold-v1", "window.train=[0, 0.4]", "window.validation=[]",
		"window.test=[0.4, 1]", "window.arrivals=40")
	must.Do(t, err)
	src := must.Get(s.Open())(t)
	needs := baselines.Needs{Speeds: true}
	var begin [2]string
	for i := range begin {
		given := must.Get(newPast(src).fit(t.Context(), needs, nil))(t)
		begin[i] = string(given.Speeds())
	}
	if begin[0] != begin[1] || begin[0] == string(belief.NewSpeeds(true).Save()) {
		t.Errorf("learned %.200q and %.200q, want the same, and something", begin[0], begin[1])
	}
	suite := must.Get(NewSuite(src, scenario.Test, []int{0, 1, 2}))(t)
	suite.Seeds = []uint64{1}
	const cold = "srsf+menu+move+know:speed=fit"
	results := must.Get(Run(t.Context(), Plan{Suites: []Suite{suite}, Policies: found(t, cold, cold+":seen=training")}, nil))(t)
	same := 0
	for i := 0; i < len(results); i += 2 {
		if results[i].Metrics.MeanJCT == results[i+1].Metrics.MeanJCT {
			same++
		}
	}
	if same == 3 {
		t.Error("what was learned before changes nothing")
	}
}
