package demand_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/sharedtest"
	"github.com/clustergym/clustergym/studies/demand"
)

const (
	fitted  = 10 * demand.Day
	servers = 520
)

// compared compares the released network with the other predictors on days to which none was fitted.
func compared(t *testing.T, usage inference.Series) map[string]demand.Row {
	t.Helper()
	predictors, err := demand.Predictors(usage, fitted, demand.Released())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := demand.Compare(usage, fitted, predictors, servers)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]demand.Row{}
	for _, r := range rows {
		named[r.Predictor] = r
	}
	if len(named) != 6 {
		t.Fatalf("%d predictors compared, want 6", len(named))
	}
	return named
}

func open(t *testing.T, name string, seed uint64) inference.Series {
	t.Helper()
	u, err := demand.Open(name, seed)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestComparisonCountsWhatFollowsTheFittedPart checks that the row of the last value agrees with a plain loop that skips gaps,
// and that the oracle has no error.
func TestComparisonCountsWhatFollowsTheFittedPart(t *testing.T) {
	usage := open(t, demand.Generated, 3)
	usage.Filled = make([]bool, len(usage.Values))
	gap := fitted + 100
	usage.Filled[gap] = true
	rows := compared(t, usage)
	var mae, mse, n float64
	for i := fitted; i < len(usage.Values); i++ {
		if i == gap || i == gap+1 {
			continue
		}
		d := usage.Values[i] - usage.Values[i-1]
		mae, mse, n = mae+math.Abs(d), mse+d*d, n+1
	}
	last := rows["last"]
	if math.Abs(last.MAE-mae/n) > 1e-12 || math.Abs(last.MSE-mse/n) > 1e-12 {
		t.Errorf("the last value misses by %g and %g, want %g and %g", last.MAE, last.MSE, mae/n, mse/n)
	}
	if last.Margin <= 0 || last.LentMargin >= last.Lent || last.UnservedMargin >= last.Unserved {
		t.Errorf("with its margin the last value has %+v, want fewer lent and less unserved", last)
	}
	oracle := rows["oracle"]
	want := demand.Row{Predictor: "oracle", Lent: oracle.Lent, LentMargin: oracle.Lent}
	if d := cmp.Diff(want, oracle); d != "" || oracle.Lent <= last.LentMargin {
		t.Errorf("the oracle (-want +got):\n%s", d)
	}
}

// TestReleasedBeatsTheLastValue checks that the released network has smaller errors than the last value on every series.
func TestReleasedBeatsTheLastValue(t *testing.T) {
	for seed := uint64(101); seed < 104; seed++ { // not used in training
		rows := compared(t, open(t, demand.Generated, seed))
		if l, v := rows["lstm"], rows["last"]; l.MAE >= v.MAE || l.MSE >= v.MSE {
			t.Errorf("generated, draw %d: errors %g and %g, the last value's %g and %g", seed, l.MAE, l.MSE, v.MAE, v.MSE)
		}
	}
	for _, name := range []string{"m-large", "m-small"} {
		file := filepath.Join(sharedtest.Dir(t), "traces/servegen-llm-2025/language_"+name+"_traces.tar.gz")
		rows := compared(t, open(t, file, 1))
		if l, v := rows["lstm"], rows["last"]; l.MAE >= v.MAE || l.MSE >= v.MSE {
			t.Errorf("%s: errors %g and %g, the last value's %g and %g", name, l.MAE, l.MSE, v.MAE, v.MSE)
		}
	}
}

// TestReleasedAreThoseDescribed checks that the README beside the released weights describes these weights.
func TestReleasedAreThoseDescribed(t *testing.T) {
	weights, err := os.ReadFile("released/lstm-v1.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("released/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(weights)); !strings.Contains(string(page), sum) {
		t.Errorf("released/README.md does not name the SHA-256 of the weights, %s", sum)
	}
}

func TestMeanOfComparisons(t *testing.T) {
	a := demand.Row{Predictor: "x", MAE: 1, MSE: 2, Lent: 3, Unserved: 4, Margin: 5, LentMargin: 6, UnservedMargin: 7}
	b := demand.Row{Predictor: "x", MAE: 3, MSE: 4, Lent: 5, Unserved: 6, Margin: 7, LentMargin: 8, UnservedMargin: 9}
	want := []demand.Row{{Predictor: "x", MAE: 2, MSE: 3, Lent: 4, Unserved: 5, Margin: 6, LentMargin: 7, UnservedMargin: 8}}
	if d := cmp.Diff(want, demand.Mean([][]demand.Row{{a}, {b}})); d != "" {
		t.Errorf("mean (-want +got):\n%s", d)
	}
	if demand.Mean(nil) != nil {
		t.Error("the mean of nothing is something")
	}
}

func TestBadSplitsAreRefused(t *testing.T) {
	usage := open(t, demand.Generated, 1)
	for _, fitted := range []int{0, demand.Day, len(usage.Values)} {
		if _, err := demand.Predictors(usage, fitted, demand.Released()); err == nil {
			t.Errorf("predictors fitted to %d of %d steps", fitted, len(usage.Values))
		}
		if _, err := demand.Compare(usage, fitted, nil, servers); err == nil {
			t.Errorf("compared with %d of %d steps to fit to", fitted, len(usage.Values))
		}
	}
	for _, days := range []int{0, 15} {
		if _, err := demand.TrainingPart(usage, days); err == nil {
			t.Errorf("%d training days of 14", days)
		}
	}
	if part, err := demand.TrainingPart(usage, 14); err != nil || len(part.Values) != len(usage.Values) {
		t.Errorf("14 training days of 14: %d steps, %v", len(part.Values), err)
	}
}
