package eval

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/stats"
)

// SlowdownFloor is the shortest run time that a bounded slowdown divides by, so that jobs of a second do not rule its mean.
const SlowdownFloor = 10 * time.Second

// Metrics describe one episode. Times are in seconds. JCT, slowdown and their quantiles are over the jobs that finished,
// queueing delays over those that started; quantiles interpolate (stats.Quantile). Sums are exact before they are divided.
type Metrics struct {
	Jobs      int    `json:"jobs"` // of the workload, submitted or not; here and below without warm ones
	Finished  int    `json:"finished"`
	Truncated string `json:"truncated,omitempty"` // why the episode was cut off, "" if every job finished

	SumJCT       float64 `json:"sum_jct_s"` // JCT: finish - submit
	MeanJCT      float64 `json:"mean_jct_s"`
	P50JCT       float64 `json:"p50_jct_s"`
	P95JCT       float64 `json:"p95_jct_s"`
	P99JCT       float64 `json:"p99_jct_s"`
	MeanQueueing float64 `json:"mean_queueing_s"` // queueing delay: first start - submit
	P50Queueing  float64 `json:"p50_queueing_s"`
	P95Queueing  float64 `json:"p95_queueing_s"`
	P99Queueing  float64 `json:"p99_queueing_s"`
	Makespan     float64 `json:"makespan_s"` // last finish - first submit
	// MeanSlowdown is the mean bounded slowdown: JCT / max(isolated run time, SlowdownFloor), at least 1.
	MeanSlowdown float64 `json:"mean_slowdown"`
	// Utilisation is GPU-time held over GPU-time available to training jobs from the first submit to the last finish (of an
	// episode that did not end so: to its last record). A job holds its GPUs also while it restarts.
	Utilisation float64 `json:"gpu_utilisation"`

	Preemptions int `json:"preemptions"`
	Migrations  int `json:"migrations"`
	Resizes     int `json:"resizes"`
	Events      int `json:"events"` // records in the log

	Failures      int `json:"failures"`      // of servers and GPUs
	Interruptions int `json:"interruptions"` // of jobs, by a failure or a seizure
	Seizures      int `json:"seizures"`      // servers on loan that were taken back by force
	// MeanLent is how many inference servers were on loan on average, Unserved how much of the inference demand found no server,
	// as a share of it: a violation.
	MeanLent float64 `json:"mean_lent"`
	Unserved float64 `json:"unserved"`
}

// Measure computes the metrics of an episode from its log alone. A log without finished or started jobs gives zeros.
func Measure(log *sim.Log) Metrics {
	m := Metrics{Jobs: len(log.Jobs) - log.Config.Warm, Truncated: log.Outcome.Truncated, Events: len(log.Records)}
	for i := range log.Records {
		switch log.Records[i].Kind {
		case sim.Preempt:
			m.Preemptions++
		case sim.Migrate:
			m.Migrations++
		case sim.Resize:
			m.Resizes++
		case sim.Fail:
			m.Failures++
		case sim.Interrupt:
			m.Interruptions++
		case sim.Seize:
			m.Seizures++
		}
	}
	m.MeanLent, m.Unserved = loaning(log)
	var jct, queueing []time.Duration
	var slowdown float64
	for _, r := range Rows(log) {
		if r.Started {
			queueing = append(queueing, r.Start-r.Submit)
		}
		if r.Finished {
			jct = append(jct, r.JCT())
			slowdown += r.slowdown()
		}
	}
	m.Finished = len(jct)
	s := summarise(jct)
	m.SumJCT, m.MeanJCT, m.P50JCT, m.P95JCT, m.P99JCT = s.sum, s.mean, s.p50, s.p95, s.p99
	s = summarise(queueing)
	m.MeanQueueing, m.P50Queueing, m.P95Queueing, m.P99Queueing = s.mean, s.p50, s.p95, s.p99
	if len(jct) > 0 {
		m.MeanSlowdown = slowdown / float64(len(jct))
	}
	first, last := span(log)
	m.Makespan = max(0, last-first).Seconds()
	until := last
	if n := len(log.Records); n > 0 && !log.Outcome.Terminated {
		until = log.Records[len(log.Records)-1].At
	}
	m.Utilisation = utilisation(log, first, until)
	return m
}

// summary is what is told of one kind of time, in seconds; zeros for none.
type summary struct{ sum, mean, p50, p95, p99 float64 }

func summarise(times []time.Duration) summary {
	if len(times) == 0 {
		return summary{}
	}
	var total sum
	seconds := make([]float64, len(times))
	slices.Sort(times)
	for i, d := range times {
		total.add(d, 1)
		seconds[i] = d.Seconds()
	}
	return summary{
		sum: total.seconds(), mean: total.seconds() / float64(len(times)),
		p50: stats.QuantileSorted(seconds, .5), p95: stats.QuantileSorted(seconds, .95), p99: stats.QuantileSorted(seconds, .99),
	}
}

// span returns the first submit and the last finish.
func span(log *sim.Log) (first, last time.Duration) {
	for i := range log.Records {
		if log.Records[i].Kind == sim.Submit {
			first = log.Records[i].At
			break
		}
	}
	for _, r := range slices.Backward(log.Records) {
		if r.Kind == sim.Finish {
			return first, r.At
		}
	}
	return first, first
}
