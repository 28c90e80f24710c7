package pins

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines/review"
	"github.com/clustergym/clustergym/env"
	"github.com/google/go-cmp/cmp"
)

const featuresFile = "testdata/features.txt"

// The features that a network reads have their names, units and ranges in the order in which they were pinned, and so have the
// kinds of offers.
func TestPinsOfFeatures(t *testing.T) {
	var b strings.Builder
	spec := env.NewEncoder().Spec(1)
	for _, table := range []struct {
		name string
		list []env.Feature
	}{{"server", spec.Server}, {"job", spec.Job}, {"offer", env.OfferFeatures()}, {"global", spec.Global}} {
		for i, f := range table.list {
			fmt.Fprintf(&b, "%s %d: %s, %s, %g to %g\n", table.name, i, f.Name, f.Unit, f.Min, f.Max)
		}
	}
	for k := range review.Kinds {
		fmt.Fprintf(&b, "kind %d: %v\n", k, review.Kind(k))
	}
	if *update {
		if err := os.WriteFile(featuresFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(featuresFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("%s (-want +got):\n%s", featuresFile, d)
	}
}
