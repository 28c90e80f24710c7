package pins

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/google/go-cmp/cmp"
)

const featuresFile = "testdata/features.txt"

// TestPinsOfFeatures checks that the names, units and ranges of the network's input features, their order, and the kinds of
// candidates have not changed.
func TestPinsOfFeatures(t *testing.T) {
	var b strings.Builder
	spec := new(observe.Standard).Spec()
	for _, table := range []struct {
		name string
		list []observe.Feature
	}{{"server", spec.Server}, {"job", spec.Job}, {"offer", spec.Candidate}, {"global", spec.Global}} {
		for i, f := range table.list {
			fmt.Fprintf(&b, "%s %d: %s, %s, %g to %g\n", table.name, i, f.Name, f.Unit, f.Min, f.Max)
		}
	}
	for k := range candidates.Narrow {
		fmt.Fprintf(&b, "kind %d: %v\n", k, candidates.Kind(k))
	}
	if *update {
		must.Do(t, os.WriteFile(featuresFile, []byte(b.String()), 0o644))
	}
	want := must.Get(os.ReadFile(featuresFile))(t)
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("%s (-want +got):\n%s", featuresFile, d)
	}
}
