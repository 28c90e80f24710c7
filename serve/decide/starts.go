package decide

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/policy"
)

// Forecaster forecasts when waiting jobs start. It may learn from how its forecasts turn out. It must be safe for concurrent use.
type Forecaster interface {
	// Forecast returns when jobs of the state are expected to start under the policy, by id: those that wait, and for whose names
	// waits returns true. The memory is what was learned of run times; nil for nothing. After the context ends, Forecast returns
	// soon: what it has found, or an error.
	Forecast(
		ctx context.Context, s *cluster.View, p policy.Policy, waits func(job string) bool, learned *belief.Memory,
	) ([]explain.Start, error)
}

// foretell adds forecasts to the answer, unless they take too long or fail, which is counted.
func (d *Decider) foretell(ctx context.Context, out *decided, s *cluster.View, given baselines.Given) {
	within, cancel := context.WithTimeout(ctx, cmp.Or(d.Forecasts, usualForecasts))
	defer cancel()
	answer := out.result.Answer
	err := func() (err error) {
		defer func() { // the decision is made: it must not be lost because the policy cannot be played on
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		answer.Starts, err = d.Forecaster.Forecast(within, s, out.by.Given(given), Waits(answer.Plan), given.Memory)
		return err
	}()
	if err != nil {
		d.metrics.unforecast.Inc()
		d.Log.Debug("starts not forecast", "error", err)
	}
}

// Waits returns a function that reports whether a job waits after all operations of a plan.
func Waits(p *explain.Plan) func(job string) bool {
	waits := make(map[string]bool, len(p.Waiting))
	for i := range p.Waiting {
		waits[p.Waiting[i].Job] = true
	}
	return func(job string) bool { return waits[job] }
}

// usualForecasts is the default of Config.Forecasts.
const usualForecasts = 2 * time.Second
