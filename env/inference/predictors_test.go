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

// replay is a predictor that repeats the stored predictions of another one, so that it need not be asked again for each target.
type replay struct {
	name string
	said []float64
	next int
}

func (p *replay) Name() string     { return p.name }
func (p *replay) Reset()           { p.next = 0 }
func (p *replay) Observe(float64)  { p.next++ }
func (p *replay) Predict() float64 { return p.said[min(p.next, len(p.said)-1)] }

// TestMargins prints the loans and the unserved demand for several targets, over twenty random splits of the ten-minute bins. It
// checks that the target in use keeps the limit of 0.1 % in nine of ten splits.
func TestMargins(t *testing.T) {
	const splits = 20
	var table strings.Builder
	table.WriteString("| series | predictor | target | margin | lent | unserved | worst split | splits above 0.1 % |\n")
	table.WriteString("|---|---|---|---|---|---|---|---|\n")
	for _, name := range []string{"m-large", "m-small"} {
		rates := serveGen(t, "language_"+name)
		usages := make([]inference.Series, splits)
		for seed := range usages {
			usages[seed] = usage(t, rates, uint64(seed))
		}
		fitted := make([][]inference.Predictor, splits)
		for seed, u := range usages {
			for _, p := range shipped(t, u) {
				if p.Name() != "oracle" && p.Name() != "ewma" {
					fitted[seed] = append(fitted[seed], &replay{name: p.Name(), said: inference.Forecast(p, u.Values)})
				}
			}
		}
		for i, p := range fitted[0] {
			for _, target := range []float64{1, 0.001, 0.0003, inference.CalibrationTarget, 0} {
				var margins, lent, unserved, worst float64
				above := 0
				for seed, u := range usages {
					p := fitted[seed][i]
					m := must.Get(inference.Calibrate(u.Slice(0, train), p, inference.DefaultHeadroom, target, perDay))(t)
					o := outcome(t, u, p, inference.Pool{Servers: servers, Headroom: inference.DefaultHeadroom, Margin: m})
					margins, lent, unserved = margins+m/splits, lent+o.Lent/splits, unserved+o.Unserved/splits
					worst = max(worst, o.Unserved)
					if o.Unserved > bar {
						above++
					}
				}
				of := fmt.Sprintf("%.2f %%", 100*target)
				if target == 1 {
					of = "no margin"
				}
				fmt.Fprintf(&table, "| %s | %s | %s | %.2f | %.0f | %.3f %% | %.3f %% | %d of %d |\n",
					name, p.Name(), of, margins, lent, 100*unserved, 100*worst, above, splits)
				if target == inference.CalibrationTarget && above > splits/10 {
					t.Errorf("%s: %s leaves more than 0.1 %% unserved in %d of %d splits", name, p.Name(), above, splits)
				}
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
