package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/policy"
)

// Past is the training split of a scenario. Policies with policy.Policy.With are fitted on it before they play a suite. Copies of
// a suite share it, and it is fitted on once for all of them. A Past is safe for concurrent use.
type Past struct {
	periods []scenario.Period
	jobs    func() ([]trace.Job, error)

	mu    sync.Mutex
	fresh func() predict.Predictor // nil before the first fit
	ended []trace.Job              // in the order of their ends had none of them waited
}

// fitSeed is the seed of the fit, the default of the command predictor fit. All seeds of a suite share the fit.
const fitSeed = 1

// newPast returns the training split of a scenario, nil if it has none.
func newPast(src *scenario.Source) *Past {
	if src.Count(scenario.Train) == 0 {
		return nil
	}
	return &Past{
		periods: src.Periods(scenario.Train),
		jobs:    func() ([]trace.Job, error) { return src.Jobs(scenario.Train, fitSeed) },
	}
}

// fit trains on the jobs if that has not been done yet, with predict.Fit.
func (p *Past) fit(ctx context.Context, done func(n, of int)) (baselines.Given, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fresh == nil {
		jobs, err := p.jobs()
		if err != nil {
			return baselines.Given{}, err
		}
		if p.fresh, err = predict.Fit(ctx, jobs, fitSeed, done); err != nil {
			return baselines.Given{}, err
		}
		p.ended = slices.Clone(jobs)
		slices.SortStableFunc(p.ended, func(a, b trace.Job) int { return cmp.Compare(a.Submit+a.Work, b.Submit+b.Work) })
	}
	fresh, jobs := p.fresh, p.ended
	return baselines.Given{
		Fitted: func() asrpt.Predictor { return fresh() },
		Past: func(ended func(*cluster.JobSpec, time.Duration)) {
			for i := range jobs {
				ended(&jobs[i].JobSpec, jobs[i].Work)
			}
		},
	}, nil
}

// ErrNoPast is wrapped by the error about a policy that must be fitted on the training split of a scenario that has none.
var ErrNoPast = errors.New("the scenario has no training split (window.train)")

// fits returns an error if one of the policies must be fitted and the suite has no past.
func (s *Suite) fits(policies []policy.Policy) error {
	for i := range policies {
		if policies[i].With != nil && s.Past == nil {
			return fmt.Errorf("fit policy %s on the training split of %s: %w", policies[i].Name, s.Scenario, ErrNoPast)
		}
	}
	return nil
}

// Fit returns the policies as they play the suite: those with policy.Policy.With are fitted on the suite's past, the others do
// not change. It fits once for a suite and its copies, on nothing but the training split, and always alike. While it fits, it
// calls done, if not nil, from time to time and at the end, with the number of jobs done and of all. It returns an error that
// wraps ErrNoPast if a policy must be fitted and the suite has no past.
func (s *Suite) Fit(ctx context.Context, policies []policy.Policy, done func(n, of int)) ([]policy.Policy, error) {
	if err := s.fits(policies); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(policies, mustFit) {
		return policies, nil
	}
	given, err := s.Past.fit(ctx, done)
	if err != nil {
		return nil, fmt.Errorf("fit policies on the training split of %s: %w", s.Scenario, err)
	}
	fitted := make([]policy.Policy, len(policies))
	for i, p := range policies {
		fitted[i] = p.Given(given)
	}
	return fitted, nil
}

func mustFit(p policy.Policy) bool { return p.With != nil }
