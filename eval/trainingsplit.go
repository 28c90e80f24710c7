package eval

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/policy"
)

// Past is the training split of a scenario. Policies with policy.Policy.With are fitted on it before they play a suite. Copies of
// a suite share it, and everything is fitted on it once for all of them. A Past is safe for concurrent use.
type Past struct {
	periods []scenario.Period
	jobs    func() ([]trace.Job, error)
	windows int
	window  func(i int) (scenario.Episode, error)

	mu      sync.Mutex
	read    []trace.Job // what jobs returned; nil before the first fit
	fresh   func() predict.Predictor
	learned map[belief.Kind][]byte
	speeds  []byte
}

// fitSeed is the seed of the fit, the default of clustergym-studies predictor fit. All seeds of a suite share the fit.
const fitSeed = 1

// newPast returns the training split of a scenario, nil if it has none.
func newPast(src *scenario.Source) *Past {
	if src.Count(scenario.Train) == 0 {
		return nil
	}
	return &Past{
		periods: src.Periods(scenario.Train),
		jobs:    func() ([]trace.Job, error) { return src.Jobs(scenario.Train, fitSeed) },
		windows: src.Count(scenario.Train),
		window:  func(i int) (scenario.Episode, error) { return src.Episode(scenario.Train, i, fitSeed) },
	}
}

// fit returns what policies with these needs may use. If they need a fitted predictor, it trains one with predict.Fit, unless
// that has been done.
func (p *Past) fit(ctx context.Context, needs baselines.Needs, done func(n, of int)) (given baselines.Given, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.read == nil {
		if p.read, err = p.jobs(); err != nil {
			return given, err
		}
	}
	if needs.Fitted {
		if p.fresh == nil {
			if p.fresh, err = predict.Fit(ctx, p.read, fitSeed, done); err != nil {
				return given, err
			}
		}
		fresh := p.fresh
		given.Fitted = func() asrpt.Predictor { return fresh() }
	}
	if needs.Learned {
		given.Learned = p.learn
	}
	if needs.Speeds {
		if p.speeds == nil {
			if p.speeds, err = p.observe(ctx); err != nil {
				return given, err
			}
		}
		given.Speeds = func() []byte { return p.speeds }
	}
	return given, nil
}

// observed is the number of training windows from whose readings speeds are learned, and observer is the policy that plays them:
// it learns meanwhile, as a policy would that ran the cluster on those days.
const (
	observed = 10
	observer = "srsf+menu+move+know:speed=fit"
)

// observe plays some windows of the training split, evenly spread, and returns what their readings tell of speeds.
func (p *Past) observe(ctx context.Context) ([]byte, error) {
	speeds := belief.NewSpeeds(true)
	for i := range min(observed, p.windows) {
		e, err := p.window(i * p.windows / min(observed, p.windows))
		if err != nil {
			return nil, err
		}
		plays, err := baselines.New(observer)
		if err != nil {
			return nil, err
		}
		s, err := e.New()
		if err != nil {
			return nil, err
		}
		if err := s.Run(ctx, &onlooker{plays, speeds}, fitSeed); err != nil {
			return nil, fmt.Errorf("learn speeds in %s: %w", e.Name, err)
		}
		speeds.Forget()
	}
	return speeds.Save(), nil
}

// onlooker is a scheduler beside which speeds are learned from readings.
type onlooker struct {
	cluster.Scheduler
	speeds *belief.Speeds
}

func (o *onlooker) Schedule(tx *cluster.Txn) error {
	o.speeds.Observe(tx)
	return o.Scheduler.Schedule(tx)
}

// Taught returns what policies with seen=training know when an episode of a scenario begins: the run times of the jobs of its
// training split, and what the readings of some of its windows tell of speeds. It returns an error that wraps ErrNoPast if the
// scenario has no training split.
func Taught(ctx context.Context, src *scenario.Source) (*belief.Memory, error) {
	given, err := Given(ctx, src, baselines.Needs{Learned: true, Speeds: true})
	if err != nil {
		return nil, err
	}
	m := belief.NewMemory()
	return m, m.RestoreParts(given.Learned(belief.History), given.Speeds())
}

// Given returns what the training split of a scenario gives baselines with these needs. It returns an error that wraps ErrNoPast
// if the scenario has no training split.
func Given(ctx context.Context, src *scenario.Source, needs baselines.Needs) (baselines.Given, error) {
	p := newPast(src)
	if p == nil {
		return baselines.Given{}, fmt.Errorf("learn from the training split of %s: %w", src.Scenario().Name, ErrNoPast)
	}
	given, err := p.fit(ctx, needs, nil)
	if err != nil {
		err = fmt.Errorf("learn from the training split of %s: %w", src.Scenario().Name, err)
	}
	return given, err
}

// learn returns what a learner of a kind learns from the jobs, in the order in which they end if none waits. It teaches one
// learner of each kind. The jobs must have been read.
func (p *Past) learn(kind belief.Kind) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.learned[kind] == nil {
		l := belief.New(kind, belief.Mean) // Save leaves out the rank
		for _, i := range (trace.Workload{Jobs: p.read}).Ends() {
			l.Ended(&p.read[i].JobSpec, p.read[i].Work)
		}
		if p.learned == nil {
			p.learned = map[belief.Kind][]byte{}
		}
		p.learned[kind] = l.Save()
	}
	return p.learned[kind]
}

// ErrNoPast is wrapped by the error about a policy that must be fitted on the training split of a scenario that has none.
var ErrNoPast = errors.New("the scenario has no training split (window.train)")

// fits returns an error if one of the policies must be fitted and the suite has no past.
func (s *Suite) fits(policies []policy.Policy) error {
	for i := range policies {
		if mustFit(policies[i]) && policies[i].Needs.Past() && s.Past == nil {
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
	var needs baselines.Needs
	for _, p := range policies {
		if mustFit(p) {
			needs.Add(p.Needs)
		}
	}
	var given baselines.Given
	if needs.Past() {
		var err error
		if given, err = s.Past.fit(ctx, needs, done); err != nil {
			return nil, fmt.Errorf("fit policies on the training split of %s: %w", s.Scenario, err)
		}
	}
	given.Tells, given.Objective = true, s.Objective // Plan.play tells
	fitted := make([]policy.Policy, len(policies))
	for i, p := range policies {
		fitted[i] = p.Given(given)
	}
	return fitted, nil
}

func mustFit(p policy.Policy) bool { return p.With != nil }
