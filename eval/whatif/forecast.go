package whatif

import (
	"context"
	"sync"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// Production is a Forecaster for deciders. It is safe for concurrent use.
type Production struct {
	mu sync.Mutex
	Forecaster
}

var _ decide.Forecaster = (*Production)(nil)

// Forecast is Starts with what a decider has learned, by the names of jobs.
func (f *Production) Forecast(
	ctx context.Context, s *cluster.View, p policy.Policy, waits func(job string) bool, learned *belief.Memory,
) (all []decide.Start, err error) {
	var times *belief.Learner
	if learned != nil {
		times = learned.Times(belief.History, belief.Gittins)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	starts, err := f.Starts(ctx, s, p, times, waits)
	for _, x := range starts {
		all = append(all, decide.NewStart(s.Spec(x.Job).Name, x.Median, x.P90))
	}
	return all, err
}
