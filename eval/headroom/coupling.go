package headroom

import (
	"context"
	"fmt"
	"math"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
	"github.com/clustergym/clustergym/policy"
)

// CouplingPlan describes a measurement of how much the candidates of one decision depend on each other.
type CouplingPlan struct {
	Suite      eval.Suite
	Base       policy.Policy // plays before and after the candidates
	Points     int           // the most decision points in each window, at least 1; they are drawn at random
	Candidates int           // the most candidates at a decision point of which pairs are played, at least 2
	// Futures is the number of futures in which each choice is valued, at least 1: the true one, and others in which the jobs that
	// are not submitted yet arrive in another order.
	Futures int
	Workers int // how many windows are processed at a time; 0: GOMAXPROCS
	// Progress and Fitting are as in Plan.
	Progress func(done, of int)
	Fitting  func(n, of int)
}

// CouplingReport is the result of MeasureCoupling over the windows of a scenario.
type CouplingReport struct {
	Scenario   string `json:"scenario"`
	Split      string `json:"split,omitempty"`
	Windows    int    `json:"windows"`
	Seeds      int    `json:"seeds"`
	Base       string `json:"base"`
	Candidates int    `json:"candidates"`
	Futures    int    `json:"futures"`
	Points     int    `json:"points"`   // number of decision points that were measured
	Eligible   int    `json:"eligible"` // number of those with two candidates that can be carried out together
	// Present is measured as if no more jobs were submitted after the decision. Hindsight is measured in the true future alone.
	// Fresh is chosen in the first half of the futures and valued in the others, so it leaves out what only luck makes a good
	// choice; it is absent with one future.
	Present   Coupling  `json:"present"`
	Hindsight Coupling  `json:"hindsight"`
	Fresh     *Coupling `json:"fresh,omitempty"`
	// Interaction is the part of what pairs of candidates change that is not the sum of what each changes alone: of the sum of
	// squares over all pairs, in percent, as if no more jobs were submitted. It is absent if no pair changes anything.
	Interaction *eval.Difference `json:"interaction_pct,omitempty"`
	Pays        Pays             `json:"graph_pays"`
	Verdict     string           `json:"verdict"`
	Cases       []CoupledWindow  `json:"cases"`
}

// Coupling compares three ways to choose up to two candidates at a decision point. Joint is the best of all pairs, of all
// single candidates and of none. Sequential is the best single candidate, and then the one that adds most to it, if any does.
// Greedy is the best single candidate, and then the next best one that gains alone and fits beside it.
type Coupling struct {
	// The gains on the base's own choice, a decision, in percent of the base's mean completion time in the window.
	Joint      eval.Difference `json:"joint_pct"`
	Sequential eval.Difference `json:"sequential_pct"`
	Greedy     eval.Difference `json:"greedy_pct"`
	// Lost is the coupling: the part of Joint that Greedy does not gain, in percent of Joint. LostInTurn is the same for
	// Sequential. Both are absent if Joint is not above 0.
	Lost       *eval.Difference `json:"coupling_pct,omitempty"`
	LostInTurn *eval.Difference `json:"sequential_loss_pct,omitempty"`
}

// CoupledWindow contains the sums over the decision points of one window and seed. Gains are in percent of the base's mean
// completion time.
type CoupledWindow struct {
	Window    string `json:"window"`
	Seed      uint64 `json:"seed"`
	Points    int    `json:"points"`
	Eligible  int    `json:"eligible"`
	Present   gains  `json:"present"`
	Hindsight gains  `json:"hindsight"`
	Fresh     gains  `json:"fresh"`
	// Together is the sum of squares of what pairs change, Apart that of the part which is not the sum of two candidates.
	Together float64 `json:"squares"`
	Apart    float64 `json:"interaction_squares"`
}

// gains are the sums of gains of the three ways to choose.
type gains struct {
	Joint      float64 `json:"joint_pct"`
	Sequential float64 `json:"sequential_pct"`
	Greedy     float64 `json:"greedy_pct"`
}

// Bars of the verdict, in percent of what the best joint choice gains.
const (
	uncoupled = 1.0
	coupled   = 5.0
)

// MeasureCoupling plays, at randomly drawn decision points of every window, each candidate of a wide list, then each pair of
// the best ones that fits together, and lets the base play on to the end of the episode. It returns an error if the base does
// not finish every job of a window. The report depends only on the plan, not on Workers.
func MeasureCoupling(ctx context.Context, p CouplingPlan) (*CouplingReport, error) {
	fitted, err := p.Suite.Fit(ctx, []policy.Policy{p.Base}, p.Fitting)
	if err != nil {
		return nil, fmt.Errorf("measure coupling: %w", err)
	}
	p.Base = fitted[0]
	m := &measuring{cases: casesOf(&p.Suite)}
	r := &CouplingReport{
		Scenario: p.Suite.Scenario, Split: p.Suite.Split, Windows: len(p.Suite.Windows), Seeds: len(p.Suite.Seeds), Base: p.Base.Name,
		Candidates: p.Candidates, Futures: p.Futures, Cases: make([]CoupledWindow, len(m.cases)),
	}
	m.done = make([]int, len(m.cases))
	tell := func(i, done int) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.done[i] = done
		if p.Progress != nil {
			sum := 0
			for _, d := range m.done {
				sum += d
			}
			p.Progress(sum, len(m.cases)*p.Episodes())
		}
	}
	err = m.each(p.Workers, &p.Suite, func(i int) error {
		c := m.cases[i]
		start, err := p.Suite.Windows[c.window].Episode(c.seed)
		if err != nil {
			return err
		}
		r.Cases[i] = CoupledWindow{Window: p.Suite.Windows[c.window].Name, Seed: c.seed}
		w, err := newCoupler(&p, &start, c.seed)
		if err != nil {
			return err
		}
		w.step = func(played int) { tell(i, min(played, p.Episodes())) }
		if err := w.measure(ctx, &r.Cases[i]); err != nil {
			return err
		}
		tell(i, p.Episodes())
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.sum()
	return r, nil
}

// Episodes returns the most episodes that MeasureCoupling plays on from decision points of one window and seed.
func (p *CouplingPlan) Episodes() int {
	return p.Points * (items + (1+p.Futures)*(1+p.Candidates+p.Candidates*(p.Candidates-1)/2))
}

// sum computes the figures over all windows.
func (r *CouplingReport) sum() {
	for i := range r.Cases {
		r.Points += r.Cases[i].Points
		r.Eligible += r.Cases[i].Eligible
	}
	r.Present = r.over(func(w *CoupledWindow) gains { return w.Present })
	r.Hindsight = r.over(func(w *CoupledWindow) gains { return w.Hindsight })
	if r.Futures > 1 {
		fresh := r.over(func(w *CoupledWindow) gains { return w.Fresh })
		r.Fresh = &fresh
	}
	r.Interaction = r.ratio(func(w *CoupledWindow) (part, whole float64) { return w.Apart, w.Together })
	r.judge()
}

// over returns the figures of one kind of gains.
func (r *CouplingReport) over(of func(*CoupledWindow) gains) Coupling {
	mean := func(which func(gains) float64) eval.Difference {
		// per decision, so in percent of the number of points
		d := r.ratio(func(w *CoupledWindow) (part, whole float64) { return which(of(w)), 100 * float64(w.Points) })
		if d == nil {
			return eval.Difference{}
		}
		return *d
	}
	lost := func(which func(gains) float64) *eval.Difference {
		return r.ratio(func(w *CoupledWindow) (part, whole float64) {
			g := of(w)
			return g.Joint - which(g), g.Joint
		})
	}
	return Coupling{
		Joint:      mean(func(g gains) float64 { return g.Joint }),
		Sequential: mean(func(g gains) float64 { return g.Sequential }),
		Greedy:     mean(func(g gains) float64 { return g.Greedy }),
		Lost:       lost(func(g gains) float64 { return g.Greedy }),
		LostInTurn: lost(func(g gains) float64 { return g.Sequential }),
	}
}

// ratio returns the sum of parts over all windows in percent of the sum of wholes, with the interval of the linearised ratio
// (the paired interval of part - ratio·whole over windows). It returns nil if the sum of wholes is not above 0. The seeds of a
// window count together.
func (r *CouplingReport) ratio(of func(*CoupledWindow) (part, whole float64)) *eval.Difference {
	parts, wholes := make([]float64, r.Windows), make([]float64, r.Windows)
	part, whole := 0.0, 0.0
	for i := range r.Cases {
		x, y := of(&r.Cases[i])
		parts[i/r.Seeds] += x
		wholes[i/r.Seeds] += y
		part, whole = part+x, whole+y
	}
	if !(whole > 0) {
		return nil
	}
	ratio := part / whole
	for i := range parts {
		parts[i] = 100 * (parts[i] - ratio*wholes[i]) * float64(r.Windows) / whole
	}
	lo, hi := stats.PairedCI(parts, eval.Level, resamples, rng.Stream(1, "headroom", "coupling"))
	mean := 100 * ratio
	return &eval.Difference{Mean: eval.Number(mean), Lo: eval.Number(mean + lo), Hi: eval.Number(mean + hi)}
}

// resamples is the number of bootstrap samples of an interval.
const resamples = 10_000

// judge derives the verdict from Present, to which the luck of a future adds nothing.
func (r *CouplingReport) judge() {
	switch d := r.Present.Lost; {
	case d == nil || d.Mean < uncoupled:
		r.Pays = cannot
		r.Verdict = fmt.Sprintf("No graph between candidates can pay: less than %g %% of a joint choice's gain is lost without it.",
			uncoupled)
	case d.Mean >= coupled && d.Lo > 0 && !math.IsInf(float64(d.Lo), 0):
		r.Pays = can
		r.Verdict = fmt.Sprintf("A graph between candidates can pay: %s of a joint choice's gain is lost without it.", percent(d.Mean))
	default:
		r.Pays = littlePays
		r.Verdict = fmt.Sprintf("A graph between candidates may pay: %s of a joint choice's gain is lost without it, too "+
			"little or too uncertain to tell.", percent(d.Mean))
	}
}
