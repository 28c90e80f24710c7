package playjob_test

import (
	"reflect"
	"testing"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval/playjob"
	"github.com/clustergym/clustergym/internal/must"
)

// example returns a job with every field set, and its scenario.
func example(t testing.TB) (*playjob.Job, []*scenario.Scenario) {
	s := must.Get(scenario.Load("embedded-small-v1"))(t)
	return &playjob.Job{
		Split: "test", Policies: []string{"fifo", "mine"}, Baseline: "srtf", Overlap: true,
		Suites: []playjob.Suite{{Scenario: s.Name, Digest: "0f", Windows: []int{3}, Seeds: []uint64{1, 2}}},
		Found:  []playjob.Policy{{Name: "fifo"}, {Name: "mine", Digest: "1e", Rule: "r"}},
	}, []*scenario.Scenario{s}
}

func TestParseReadsWhatTextWrites(t *testing.T) {
	want, scenarios := example(t)
	text := must.Get(want.Text(scenarios))(t)
	got, read, err := playjob.Parse(text)
	must.Do(t, err)
	if !reflect.DeepEqual(got, want) || len(read) != 1 || read[0].Name != scenarios[0].Name {
		t.Errorf("%+v with %d scenarios, want %+v with one", got, len(read), want)
	}
}

// FuzzParse checks that no job makes a worker panic, and that an accepted job has a scenario for each suite.
func FuzzParse(f *testing.F) {
	j, scenarios := example(f)
	text := must.Get(j.Text(scenarios))(f)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		j, scenarios, err := playjob.Parse(text)
		if err == nil && (len(scenarios) != len(j.Suites) || len(j.Policies) == 0) {
			t.Errorf("%d scenarios for %d suites, %d policies", len(scenarios), len(j.Suites), len(j.Policies))
		}
	})
}
