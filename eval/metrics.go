package eval

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/clustergym/clustergym/internal/stats"
)

// slowdownFloor is the lower limit of the run time that bounded slowdowns divide by, so that very short jobs do not dominate the
// mean.
const slowdownFloor = 10 * time.Second

// Metrics describes one episode. Times are in seconds. JCTs, slowdowns and finish-time fairness cover the jobs that finished;
// queueing delays cover the jobs that started. Quantiles interpolate (stats.Quantile). Means divide an exact sum.
type Metrics struct {
	// Jobs counts the jobs of the workload, including those not submitted. Warm jobs (sim.Config.Warm), which only fill the cluster
	// at the start, are not counted here or below.
	Jobs      int    `json:"jobs"`
	Finished  int    `json:"finished"`            // jobs that finished
	Truncated string `json:"truncated,omitempty"` // why the episode was cut off; "" if all jobs finished

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
	// MeanSlowdown is the mean bounded slowdown: JCT / max(isolated run time, slowdownFloor), at least 1.
	MeanSlowdown float64 `json:"mean_slowdown"`
	P50Slowdown  float64 `json:"p50_slowdown"`
	P95Slowdown  float64 `json:"p95_slowdown"`
	P99Slowdown  float64 `json:"p99_slowdown"`
	// P99FTF is the 99th percentile of finish-time fairness, rho. Rho is a job's JCT divided by the time that the job would have
	// taken with a fair share of the cluster, which is max(isolated run time, slowdownFloor) · contention. The contention is the
	// GPU-time that all jobs asked for during the job's lifetime, divided by the GPU-time open to training, and at least 1. Unfair
	// is the fraction of jobs with rho above 1.
	P99FTF float64 `json:"p99_ftf"`
	Unfair float64 `json:"unfair"`
	// Utilisation is the GPU-time that jobs hold, divided by the GPU-time open to training jobs, from the first submission to the
	// last finish, or to the last record if the episode was truncated. A job also holds its GPUs while it restarts.
	Utilisation float64 `json:"gpu_utilisation"`
	// Fragmentation is the fraction of the free GPU-time in the same period that an average job of the workload could not have used
	// where it was free. It is the measure of FGD (USENIX ATC 2023), computed from GPUs and their types only.
	Fragmentation float64 `json:"fragmentation"`
	// GivenGPUs, GivenCPU and GivenMem are what jobs get when they start, as a fraction of what they asked for, in the mean over
	// starts. They are 0 if no job that asked for any started.
	GivenGPUs float64 `json:"gpus_given"`
	GivenCPU  float64 `json:"cpu_given"`
	GivenMem  float64 `json:"mem_given"`

	Preemptions int `json:"preemptions"`
	Migrations  int `json:"migrations"`
	Resizes     int `json:"resizes"`
	// Refused counts the operations that the policy proposed and the cluster state refused, including those that a search only
	// tried. Event logs do not contain them: Run counts them, and Measure returns 0.
	Refused int `json:"refused"`
	Events  int `json:"events"` // number of records in the log

	Failures      int `json:"failures"`      // of servers and GPUs
	Interruptions int `json:"interruptions"` // of jobs, by a failure or a seizure

	Loans    int `json:"loans"`    // servers lent
	Reclaims int `json:"reclaims"` // servers given back
	Seizures int `json:"seizures"` // servers on loan that were taken back by force
	// MeanLent is the mean number of inference servers on loan, from the first demand of the inference pool on. Unserved is the
	// fraction of that demand for which the pool had no server.
	MeanLent float64 `json:"mean_lent"`
	Unserved float64 `json:"unserved"`
}

// describe computes the metrics of jobs: JCT, queueing delay and slowdown.
func (m *Metrics) describe(rows []Row) {
	jct, queueing := make([]float64, 0, len(rows)), make([]float64, 0, len(rows))
	slowdown := make([]float64, 0, len(rows))
	var jcts, queueings sum
	for i := range rows {
		r := &rows[i]
		if r.Started {
			queueing = append(queueing, (r.Start - r.Submit).Seconds())
			queueings.add(r.Start-r.Submit, 1)
		}
		if r.Finished {
			jct = append(jct, r.JCT().Seconds())
			jcts.add(r.JCT(), 1)
			slowdown = append(slowdown, r.slowdown())
		}
	}
	m.Finished, m.SumJCT = len(jct), jcts.seconds()
	if len(jct) > 0 {
		m.MeanJCT, m.MeanSlowdown = m.SumJCT/float64(len(jct)), stats.Mean(slowdown)
		m.P50JCT, m.P95JCT, m.P99JCT = tails(jct)
		m.P50Slowdown, m.P95Slowdown, m.P99Slowdown = tails(slowdown)
	}
	if len(queueing) > 0 {
		m.MeanQueueing = queueings.seconds() / float64(len(queueing))
		m.P50Queueing, m.P95Queueing, m.P99Queueing = tails(queueing)
	}
}

// tails returns three quantiles of non-negative numbers.
func tails(xs []float64) (p50, p95, p99 float64) {
	xs = ranked(xs, .5, .95, .99)
	return stats.QuantileSorted(xs, .5), stats.QuantileSorted(xs, .95), stats.QuantileSorted(xs, .99)
}

// ranked returns a permutation of xs, which must not be negative, in which the elements that the given quantiles read are where
// sorting would put them. It distributes the numbers to ordered buckets and sorts only the buckets that the quantiles read, which
// is several times as fast as sorting all of xs.
func ranked(xs []float64, quantiles ...float64) []float64 {
	if len(xs) < buckets {
		return slices.Sorted(slices.Values(xs))
	}
	least, most := math.Float64bits(slices.Min(xs)), math.Float64bits(slices.Max(xs)) // their bits have the same order
	shift := max(bits.Len64(most-least)-bits.Len(buckets-1), 0)
	bucket := func(x float64) int { return int((math.Float64bits(x) - least) >> shift) }
	var ends [buckets]int
	for _, x := range xs {
		ends[bucket(x)]++
	}
	for i := 1; i < buckets; i++ {
		ends[i] += ends[i-1]
	}
	begins := ends
	dealt := make([]float64, len(xs))
	for _, x := range xs {
		i := &begins[bucket(x)]
		*i--
		dealt[*i] = x
	}
	for _, p := range quantiles {
		at := int(float64(len(xs)-1) * p)
		for _, k := range [2]int{at, min(at+1, len(xs)-1)} {
			b := bucket(dealt[k])
			slices.Sort(dealt[begins[b]:ends[b]])
		}
	}
	return dealt
}

const buckets = 1 << 12
