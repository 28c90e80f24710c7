package demand

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/env/inference"
)

// Row contains the results of a predictor on the part of a series to which nothing was fitted.
type Row struct {
	Predictor string  `json:"predictor"`
	MAE       float64 `json:"mae"`      // mean absolute error, in fractions of the pool
	MSE       float64 `json:"mse"`      // mean squared error
	Lent      float64 `json:"lent"`     // mean number of servers lent with the headroom only
	Unserved  float64 `json:"unserved"` // fraction of demand that then finds no server
	// The same with the margin that the predictor needs on the days before: see inference.Calibrate.
	Margin         float64 `json:"margin"`
	LentMargin     float64 `json:"lent_margin"`
	UnservedMargin float64 `json:"unserved_margin"`
}

// ewmaWeight is the weight of the newest sample in the weighted mean.
const ewmaWeight = 0.5

// Predictors returns the predictors to compare: the last value, the weighted mean, the season, the autoregressive model (fitted
// to the first steps of usage), the network, and the oracle.
func Predictors(usage inference.Series, fitted int, n *LSTM) ([]inference.Predictor, error) {
	if err := checkSplit(usage, fitted); err != nil {
		return nil, err
	}
	ar, err := inference.FitAR(usage.Slice(0, fitted), inference.AROrder)
	if err != nil {
		return nil, err
	}
	return []inference.Predictor{
		inference.NewLastValue(), inference.NewEWMA(ewmaWeight), inference.NewSeasonal(usage.Step),
		inference.NewAutoregressive(ar), NewRecurrent(n), inference.NewOracle(usage.Values),
	}, nil
}

// Compare lets each predictor predict all of usage and evaluates it on the steps after the first fitted steps. It calibrates
// margins on those first steps, of which the first day is only warm-up. Steps that involve a filled value do not count. The pool
// has the given number of servers and keeps inference.DefaultHeadroom.
func Compare(usage inference.Series, fitted int, predictors []inference.Predictor, servers int) ([]Row, error) {
	if err := checkSplit(usage, fitted); err != nil {
		return nil, err
	}
	count := func(i int) bool { return i >= fitted && !usage.IsFilled(i) && !usage.IsFilled(i-1) }
	rows := make([]Row, len(predictors))
	for k, p := range predictors {
		r := &rows[k]
		r.Predictor = p.Name()
		r.MAE, r.MSE = misses(usage, p, count)
		pool := inference.Pool{Servers: servers, Headroom: inference.DefaultHeadroom}
		plan, err := inference.Plan(usage, p, pool)
		if err != nil {
			return nil, err
		}
		o := inference.Account(plan, servers, count)
		r.Lent, r.Unserved = o.Lent, o.Unserved
		before := usage.Slice(0, fitted)
		if pool.Margin, err = inference.Calibrate(before, p, pool.Headroom, inference.CalibrationTarget, Day); err != nil {
			return nil, err
		}
		if plan, err = inference.Plan(usage, p, pool); err != nil {
			return nil, err
		}
		o = inference.Account(plan, servers, count)
		r.Margin, r.LentMargin, r.UnservedMargin = pool.Margin, o.Lent, o.Unserved
	}
	return rows, nil
}

// Mean averages comparisons of the same predictors in the same order, each on another draw of a series. It returns nil for none.
func Mean(comparisons [][]Row) []Row {
	if len(comparisons) == 0 {
		return nil
	}
	mean := make([]Row, len(comparisons[0]))
	share := 1 / float64(len(comparisons))
	for _, rows := range comparisons {
		for k, r := range rows {
			m := &mean[k]
			m.Predictor = r.Predictor
			m.MAE += share * r.MAE
			m.MSE += share * r.MSE
			m.Lent += share * r.Lent
			m.Unserved += share * r.Unserved
			m.Margin += share * r.Margin
			m.LentMargin += share * r.LentMargin
			m.UnservedMargin += share * r.UnservedMargin
		}
	}
	return mean
}

// checkSplit returns an error unless there are at least two days to fit to and something after them.
func checkSplit(usage inference.Series, fitted int) error {
	if err := usage.Check(); err != nil {
		return err
	}
	if fitted < 2*Day || fitted >= len(usage.Values) {
		return fmt.Errorf("split usage: %d of %d steps to fit to, want at least two days, %d, and a rest",
			fitted, len(usage.Values), 2*Day)
	}
	return nil
}

// misses returns the mean absolute and squared errors of p's predictions over the steps for which count returns true.
func misses(usage inference.Series, p inference.Predictor, count func(i int) bool) (mae, mse float64) {
	n := 0.0
	for i, said := range inference.Forecast(p, usage.Values) {
		if count(i) {
			d := said - usage.Values[i]
			mae, mse, n = mae+math.Abs(d), mse+d*d, n+1
		}
	}
	return mae / max(n, 1), mse / max(n, 1)
}
