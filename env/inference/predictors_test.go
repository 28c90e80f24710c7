package inference_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/must"
)

const (
	servers = 520 // Lyra's inference cluster: 4,160 GPUs, eight to a server
	train   = 10 * perDay
	bar     = 0.001
)

// shipped returns the predictors, fitted to the training days.
func shipped(t *testing.T, u inference.Series) []inference.Predictor {
	t.Helper()
	ar := must.Get(inference.FitAR(u.Slice(0, train), inference.AROrder))(t)
	return []inference.Predictor{
		inference.NewLastValue(), inference.NewEWMA(0.5), inference.NewSeasonal(u.Step), inference.NewAutoregressive(ar),
		inference.NewOracle(u.Values),
	}
}

// TestPredictors compares the predictors on days to which neither they nor their margins were fitted, and prints the table of
// docs/inference.md. It checks that with its margin no predictor leaves more than 0.1 % of demand unserved, and that the oracle
// leaves none even without a margin.
func TestPredictors(t *testing.T) {
	made, err := inference.DefaultCycle().Generate(14*perDay, five, 1)
	if err != nil {
		t.Fatal(err)
	}
	cycle := must.Get(made.Usage(1, 0.95))(t)
	var table strings.Builder
	table.WriteString("| series | predictor | MAE | MSE | lent, no margin | unserved | margin | lent | unserved |\n")
	table.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range []struct {
		name  string
		usage inference.Series
	}{
		{"m-large", usage(t, serveGen(t, "language_m-large"), 1)},
		{"m-small", usage(t, serveGen(t, "language_m-small"), 1)},
		{"generated", cycle},
	} {
		for _, p := range shipped(t, c.usage) {
			mae, mse := errorsOf(c.usage, p)
			pool := inference.Pool{Servers: servers, Headroom: inference.DefaultHeadroom}
			plain := outcome(t, c.usage, p, pool)
			if p.Name() != "oracle" {
				pool.Margin, err = inference.Calibrate(c.usage.Slice(0, train), p, pool.Headroom, inference.CalibrationTarget, perDay)
				if err != nil {
					t.Fatal(err)
				}
			} else if plain.Short > 0 {
				t.Errorf("%s: the oracle leaves %g of demand unserved", c.name, plain.Unserved)
			}
			o := outcome(t, c.usage, p, pool)
			fmt.Fprintf(&table, "| %s | %s | %.4f | %.5f | %.0f | %.2f %% | %.2f | %.0f | %.3f %% |\n", c.name, p.Name(),
				mae, mse, plain.Lent, 100*plain.Unserved, pool.Margin, o.Lent, 100*o.Unserved)
			if o.Unserved > bar {
				t.Errorf("%s: %s with margin %.3f leaves %.3f %% of demand unserved, want at most 0.1 %%",
					c.name, p.Name(), pool.Margin, 100*o.Unserved)
			}
		}
	}
	t.Log("\n" + table.String())
}

func outcome(t *testing.T, u inference.Series, p inference.Predictor, pool inference.Pool) inference.Outcome {
	t.Helper()
	points := must.Get(inference.Plan(u, p, pool))(t)
	return inference.Account(points, pool.Servers, func(i int) bool {
		return i >= train && !u.IsFilled(i) && !u.IsFilled(i-1)
	})
}

// errorsOf returns the mean absolute and the mean squared error on the held-out days, as fractions of the pool.
func errorsOf(u inference.Series, p inference.Predictor) (mae, mse float64) {
	n := 0.0
	for i, said := range inference.Forecast(p, u.Values) {
		if i < train || u.IsFilled(i) || u.IsFilled(i-1) {
			continue
		}
		d := said - u.Values[i]
		mae, mse, n = mae+math.Abs(d), mse+d*d, n+1
	}
	return mae / n, mse / n
}
