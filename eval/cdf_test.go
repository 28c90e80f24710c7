package eval

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// The drawing is wide enough for the longest name and high enough for all of them.
func TestNamesFitBesideTheCurves(t *testing.T) {
	long := "a-srpt:start=projected:backfill=true:predictor=group-median"
	var results []Result
	for p := range 25 {
		name := fmt.Sprintf("policy-%d", p)
		if p == 3 {
			name = long
		}
		results = append(results, Result{Case: Case{Policy: name, Window: "test-0", Seed: 1}})
	}
	var b bytes.Buffer
	if err := WriteCDF(&b, results); err != nil {
		t.Fatal(err)
	}
	var width, height, x, y float64
	svg := b.String()
	if _, err := fmt.Sscanf(svg[strings.Index(svg, `width="`):], `width="%f" height="%f"`, &width, &height); err != nil {
		t.Fatal(err)
	}
	at := svg[:strings.Index(svg, long)]
	if _, err := fmt.Sscanf(at[strings.LastIndex(at, `<text x="`):], `<text x="%f" y="%f"`, &x, &y); err != nil {
		t.Fatalf("%v in %s", err, at[len(at)-80:])
	}
	if need := x + 6.5*float64(len(long)); width < need {
		t.Errorf("%v wide, want %v for %q", width, need, long)
	}
	if need := y + 22*21; height < need {
		t.Errorf("%v high, want %v for 25 names", height, need)
	}
}
