package eval

import (
	"time"

	"github.com/clustergym/clustergym/env/sim"
)

// Measure computes the metrics of an episode from its event log alone. Means and quantiles over no jobs are 0.
func Measure(log *sim.Log) Metrics {
	m := NewMeter(log)
	m.Follow()
	return m.Metrics()
}

// Meter computes the metrics of an episode while it is played. It keeps nothing of the log's records, so the log may forget those
// that Follow has read (sim.Log.Forget).
type Meter struct {
	log         *sim.Log
	read        int // number of records that Follow has read, forgotten ones included
	began       bool
	first, last time.Duration // of the first submission and of the last finish
	since       time.Duration // the time of the last record
	now         level
	frag        *fragments
	fair        fairness
	used        sum
	lent        loans
	amounts     given
	count       [sim.End + 1]int
	rows        []Row
}

// NewMeter returns a meter that has not read any record of the log.
func NewMeter(log *sim.Log) *Meter {
	m := &Meter{
		log: log, rows: newRows(log), now: newLevel(log),
		fair: fairness{began: make([]began, len(log.Jobs)), rho: make([]float64, 0, len(log.Jobs))},
	}
	m.frag = newFragments(log, &m.now.pools)
	return m
}

// Follow reads the records that were added to the log since the last call.
func (m *Meter) Follow() {
	for i := m.read - m.log.Forgotten(); i < len(m.log.Records); i++ {
		m.follow(&m.log.Records[i])
	}
	m.read = m.log.Forgotten() + len(m.log.Records)
}

func (m *Meter) follow(r *sim.Record) {
	if d := r.At - m.since; d > 0 {
		m.lent.pass(d, &m.now)
		m.used.add(d, m.now.held)
		m.fair.pass(d, &m.now)
		m.frag.pass(d)
		m.since = r.At
	}
	m.now.follow(m.log, r)
	m.frag.follow(r)
	m.count[r.Kind]++
	switch r.Kind {
	case sim.Submit:
		if !m.began {
			m.begin(r.At)
		}
		m.fair.submit(r.Job)
	case sim.Start:
		note(m.rows, r)
		if int(r.Job) >= m.log.Config.Warm {
			m.amounts.start(m.log, r)
		}
	case sim.Finish:
		m.last = r.At
		note(m.rows, r)
		if int(r.Job) >= m.log.Config.Warm {
			m.fair.finish(&m.rows[r.Job])
		}
	case sim.Need:
		m.lent.began = true
	}
}

// begin makes the metrics over a period begin with the first submission.
func (m *Meter) begin(at time.Duration) {
	m.began, m.first, m.last = true, at, at
	m.used, m.fair.asked, m.fair.open, m.frag.total, m.frag.lost = sum{}, sum{}, sum{}, sum{}, sum{}
}

// Rows returns a row for every job, as the function Rows does, with what happened up to the last record that Follow has read.
func (m *Meter) Rows() []Row { return m.rows[m.log.Config.Warm:] }

// Metrics returns the metrics up to the last record that Follow has read.
func (m *Meter) Metrics() Metrics {
	count := &m.count
	out := Metrics{
		Jobs: len(m.Rows()), Truncated: m.log.Outcome.Truncated, Events: m.read, Makespan: (m.last - m.first).Seconds(),
		Preemptions: count[sim.Preempt], Migrations: count[sim.Migrate], Resizes: count[sim.Resize],
		Failures: count[sim.Fail], Interruptions: count[sim.Interrupt],
		Loans: count[sim.Loan], Reclaims: count[sim.Reclaim], Seizures: count[sim.Seize],
		Utilisation: m.used.over(m.fair.open), Fragmentation: m.frag.share(),
		GivenGPUs: m.amounts.gpus.mean(), GivenCPU: m.amounts.cpu.mean(), GivenMem: m.amounts.mem.mean(),
		MeanLent: m.lent.lent.over(m.lent.elapsed), Unserved: m.lent.short.over(m.lent.wanted),
	}
	out.P99FTF, out.Unfair = m.fair.result()
	out.describe(m.Rows())
	return out
}
