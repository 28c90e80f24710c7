package decide

import (
	"cmp"
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/policy"
)

// metrics are the metrics of a decider.
type metrics struct {
	all               []prometheus.Collector
	decisions         *prometheus.CounterVec // label by
	fallbacks         *prometheus.CounterVec // label reason
	undecided         prometheus.Counter
	outOfDistribution prometheus.Counter
	reloads           *prometheus.CounterVec // label result
	unlogged          prometheus.Counter
	unexplained       prometheus.Counter
	unforecast        prometheus.Counter
	seconds           prometheus.Histogram
	states            *prometheus.CounterVec // label result
	ended, readings   prometheus.Counter
	kept              *prometheus.CounterVec // label result
}

// The results of learning from a state, besides those of belief.Lesson, and of saving.
const (
	stateLearned = "learned"
	keepDone     = "ok"
	keepFailed   = "failed"
)

func newMetrics(late *atomic.Int64, policy func() *policy.Policy) *metrics {
	count := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "clustergym_" + name, Help: help})
	}
	counts := func(name, help string, by ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "clustergym_" + name, Help: help}, by)
	}
	gauge := func(name, help string) prometheus.GaugeOpts {
		return prometheus.GaugeOpts{Name: "clustergym_" + name, Help: help}
	}
	m := &metrics{
		decisions: counts("decisions_total", "Decisions by who made them.", "by"),
		fallbacks: counts("fallbacks_total", "Snapshots that the policy did not decide, by why.", "reason"),
		undecided: count("undecided_total", "Snapshots that neither the policy nor the fallback decided."),
		outOfDistribution: count("out_of_distribution_choices_total",
			"Choices that a learned policy left to its prior, as they lay beyond what training had met."),
		reloads:     counts("reloads_total", "Attempts to take up a changed bundle, by result.", "result"),
		unlogged:    count("unlogged_decisions_total", "Decisions that could not be written to the decision log."),
		unexplained: count("unexplained_decisions_total", "Decisions whose reasons were not found in time."),
		unforecast:  count("unforecast_decisions_total", "Decisions after which the starts of waiting jobs were not forecast in time."),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "clustergym_decision_seconds", Help: "Wall time of decisions, fallbacks included, reading and explaining apart.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 13), // to 6 s
		}),
	}
	m.states = counts("beliefs_states_total", "States of the cluster that were learned from, or skipped.", "result")
	m.ended = count("beliefs_ended_jobs_total", "Jobs that have ended, from whose run times was learned.")
	m.readings = count("beliefs_readings_total", "Measured throughputs that were learned from.")
	m.kept = counts("beliefs_saves_total", "Attempts to save what was learned, by result.", "result")
	for _, result := range []string{stateLearned, belief.SkippedEarlier, belief.SkippedElsewhere} {
		m.states.WithLabelValues(result)
	}
	for _, result := range []string{keepDone, keepFailed} {
		m.kept.WithLabelValues(result)
	}
	for _, by := range []string{ByPolicy, ByFallback} { // so that a counter without events is 0, not absent
		m.decisions.WithLabelValues(by)
	}
	for _, reason := range []string{reasonDeadline, reasonError, reasonPanic, reasonBusy} {
		m.fallbacks.WithLabelValues(reason)
	}
	for _, result := range []string{reloaded, refused} {
		m.reloads.WithLabelValues(result)
	}
	lateNow := prometheus.NewGaugeFunc(gauge("late_decisions", "Decisions past their deadline that still run."),
		func() float64 { return float64(late.Load()) })
	m.all = []prometheus.Collector{
		m.decisions, m.fallbacks, m.undecided, m.outOfDistribution, m.reloads, m.unlogged, m.unexplained, m.unforecast, m.seconds,
		m.states, m.ended, m.readings, m.kept, lateNow, policyInfo{policy},
	}
	return m
}

// learn counts what was learned from a state.
func (m *metrics) learn(l *belief.Lesson) {
	m.states.WithLabelValues(cmp.Or(l.Skipped, stateLearned)).Inc()
	m.ended.Add(float64(l.Ended))
	m.readings.Add(float64(l.Readings))
}

// register adds the metrics to a registry, if it is not nil.
func (m *metrics) register(in prometheus.Registerer) error {
	if in == nil {
		return nil
	}
	var errs []error
	for _, c := range m.all {
		errs = append(errs, in.Register(c))
	}
	return errors.Join(errs...)
}

// policyInfo is a metric that names the policy that decides.
type policyInfo struct{ policy func() *policy.Policy }

var infoDesc = prometheus.NewDesc("clustergym_policy_info", "1 for the policy that decides.", []string{"policy", "digest"}, nil)

// Describe implements prometheus.Collector.
func (policyInfo) Describe(to chan<- *prometheus.Desc) { to <- infoDesc }

// Collect implements prometheus.Collector.
func (i policyInfo) Collect(to chan<- prometheus.Metric) {
	p := i.policy()
	to <- prometheus.MustNewConstMetric(infoDesc, prometheus.GaugeValue, 1, p.Name, p.Digest)
}
