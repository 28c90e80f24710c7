package control

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/internal/stats"
)

// metrics are the scheduler's metrics, besides those of its decider.
type metrics struct {
	rounds   *prometheus.CounterVec // label result
	seconds  prometheus.Histogram
	gangs    *prometheus.GaugeVec   // label state
	bound    *prometheus.CounterVec // label what
	unbound  *prometheus.CounterVec // label reason
	wait     prometheus.Histogram
	stopped  *prometheus.CounterVec // label why
	held     *prometheus.CounterVec // label reason
	given    prometheus.Counter
	scaled   *prometheus.CounterVec // label result
	resized  *prometheus.CounterVec // label result
	loans    *prometheus.CounterVec // label what
	mode     *prometheus.GaugeVec   // label mode
	starts   *prometheus.GaugeVec   // label quantile
	compared *prometheus.CounterVec // label first
}

// The results of a round.
const (
	roundDone    = "done"
	roundFailed  = "failed" // something could not be read, decided or written
	roundSkipped = "off"
)

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	const prefix = "clustergym_kube_"
	counts := func(name, help string, by ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, by)
	}
	gauges := func(name, help string, by ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, by)
	}
	m := &metrics{
		rounds: counts("rounds_total", "Rounds, by how they ended.", "result"),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "round_seconds", Help: "Wall time of rounds, with what they wrote.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12), // to 24 s
		}),
		gangs:   gauges("gangs", "Gangs, by where they stand.", "state"),
		bound:   counts("bound_total", "What was bound: gangs as a whole, and pods.", "what"),
		unbound: counts("bind_errors_total", "Pods that could not be bound, by why.", "reason"),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "gang_wait_seconds", Help: "From the submission of a gang until it was bound.",
			Buckets: prometheus.ExponentialBuckets(0.1, 4, 12), // to 5 days
		}),
		stopped: counts("stopped_total", "Gangs that were stopped, by why.", "why"),
		held:    counts("held_total", "Proposals of the policy that were not carried out, by why.", "reason"),
		given: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "gangs_given_up_total",
			Help: "Gangs whose bound pods were deleted or evicted, as the rest could not be bound in time.",
		}),
		scaled:  counts("scaled_total", "Gangs whose owner was asked for another number of pods, by what came of it.", "result"),
		resized: counts("resized_total", "Pods whose CPU and memory were to change, by what came of it.", "result"),
		loans:   counts("loans_total", "Nodes on loan: lent, called back, returned.", "what"),
		starts: gauges("expected_start_seconds",
			"Mean time from now in which waiting gangs are expected to start, of those forecast last, by quantile.", "quantile"),
		mode:     gauges("mode", "1 for the mode in force.", "mode"),
		compared: counts("shadow_starts_total", "Gangs that the other scheduler started, by who would have been first.", "first"),
	}
	for _, x := range []struct {
		of     *prometheus.CounterVec
		labels []string
	}{ // so that a counter without events is 0, not absent
		{m.rounds, []string{roundDone, roundFailed, roundSkipped}}, {m.bound, []string{"gangs", "pods"}},
		{m.unbound, []string{"elsewhere", "gone", "unknown", "other"}},
		{m.stopped, []string{"policy", "reclaim", "budget", "incomplete"}},
		{m.held, []string{"stops", "protected", "starving", "no-room"}},
		{m.scaled, []string{"ok", "rigid", "error"}}, {m.resized, []string{"ok", "error"}},
		{m.loans, []string{"lent", "recalled", "returned"}},
		{m.compared, []string{firstPolicy, firstOther, firstSame}},
	} {
		for _, label := range x.labels {
			x.of.WithLabelValues(label)
		}
	}
	for _, c := range []prometheus.Collector{
		m.rounds, m.seconds, m.gangs, m.bound, m.unbound, m.wait, m.stopped, m.held, m.given, m.scaled, m.resized, m.loans, m.mode,
		m.starts, m.compared,
	} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// see sets the gauges that count gangs by state, and counts the proposals held back.
func (m *metrics) see(r *round) {
	pending, running, never := 0, 0, 0
	for i := range r.view.Jobs {
		switch j := &r.view.Jobs[i]; {
		case j.Running:
			running++
		case j.Never != "":
			never++
		default:
			pending++
		}
	}
	for state, n := range map[string]int{
		"pending": pending, "running": running, "never-fits": never, "partial": len(r.view.Partial), "incomplete": len(r.view.Waiting),
		"starving": len(r.starved), "holding": len(r.holding()), "refused_pods": len(r.view.Refused),
	} {
		m.gangs.WithLabelValues(state).Set(float64(n))
	}
	m.foresee(r)
	for _, h := range r.held {
		m.held.WithLabelValues(h.Reason).Inc()
	}
}

// foresee sets the gauges of expected starts, if the round has forecasts. A gang that is not expected to start counts in neither.
func (m *metrics) foresee(r *round) {
	var median, p90 []float64
	told := false
	for _, a := range r.answers {
		for i := range a.Starts {
			told = true
			if x := a.Starts[i].Median; x != nil {
				median = append(median, *x)
			}
			if x := a.Starts[i].P90; x != nil {
				p90 = append(p90, *x)
			}
		}
	}
	if !told {
		return
	}
	for quantile, seconds := range map[string][]float64{"0.5": median, "0.9": p90} {
		if m.starts.DeleteLabelValues(quantile); len(seconds) > 0 {
			m.starts.WithLabelValues(quantile).Set(stats.Mean(seconds))
		}
	}
}
