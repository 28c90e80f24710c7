package predict

import "github.com/clustergym/clustergym/env/cluster"

// grouped predicts by one rule about the history, or predicts the typical job if the rule has no answer.
type grouped struct {
	kind   string
	rule   func(h *history, s *cluster.JobSpec) (iterations float64, ok bool)
	loaded *history // the state that Reset restores; nil for none; never changed
	past   *history
}

// newGranted returns the predictor that converts the scenario's estimate (JobSpec.Estimate) to iterations. With oracle estimates
// it is exact. A job without an estimate is a cold start: see Predictor.
func newGranted() Predictor {
	return newGrouped(kindGranted, func(_ *history, s *cluster.JobSpec) (float64, bool) { return granted(s) })
}

// newGroupMean returns the predictor that predicts the mean iterations of the latest 256 runs of a recurring job.
func newGroupMean() Predictor { return newGrouped(kindMean, ofRuns((*runs).mean)) }

// newGroupMedian returns the predictor that predicts their median.
func newGroupMedian() Predictor { return newGrouped(kindMedian, ofRuns((*runs).median)) }

func ofRuns(of func(*runs) float64) func(*history, *cluster.JobSpec) (float64, bool) {
	return func(h *history, s *cluster.JobSpec) (float64, bool) {
		r := h.runs(s)
		if r.count() == 0 {
			return 0, false
		}
		return of(r), true
	}
}

func newGrouped(kind string, rule func(*history, *cluster.JobSpec) (float64, bool)) *grouped {
	return &grouped{kind: kind, rule: rule, past: newHistory()}
}

func (g *grouped) Name() string { return g.kind }

func (g *grouped) Reset(uint64) {
	if g.loaded != nil {
		g.past = g.loaded.clone()
	} else {
		g.past = newHistory()
	}
}

func (g *grouped) Predict(s *cluster.JobSpec) (iterations float64, cold bool) {
	if x, ok := g.rule(g.past, s); ok {
		return x, false
	}
	return g.past.typical(s), true
}

func (g *grouped) Observe(s *cluster.JobSpec, iterations float64) { g.past.add(s, iterations) }
