package reproduce

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/clustergym/clustergym/internal/table"
)

// Metric is a metric of an episode.
type Metric uint8

// The metrics. Times are in seconds.
const (
	queueMean Metric = iota // queueing delay: first start - submit
	queueMedian
	queueP95
	jctMean // finish - submit
	jctMedian
	jctP95
	trainingUse    // GPU-time held on training servers / GPU-time of these servers, from the first submit to the last
	overallUse     // GPU-time of both pools that training holds or inference needs / GPU-time of both, in the same period
	trainingEnd    // like trainingUse, to the last finish
	overallEnd     // like overallUse, to the last finish
	preemptionRate // (preemptions + interruptions) / jobs
	unforced       // fraction of the servers returned to inference for which no job was stopped
	loanUse        // GPU-time held on servers on loan / GPU-time of servers on loan
	lentMean       // mean number of servers on loan
	completionSum  // sum of the times at which jobs finish
	unfinished     // number of jobs that did not finish
	metrics
)

// metricKinds describes how metrics are printed and compared.
var metricKinds = [metrics]struct {
	key, label string
	percent    bool
	higher     bool // a higher value is better
}{
	{key: "mean_queueing_s", label: "queue mean"},
	{key: "p50_queueing_s", label: "median"},
	{key: "p95_queueing_s", label: "95 %"},
	{key: "mean_jct_s", label: "JCT mean"},
	{key: "p50_jct_s", label: "median"},
	{key: "p95_jct_s", label: "95 %"},
	{key: "training_use", label: "training use", percent: true, higher: true},
	{key: "overall_use", label: "overall use", percent: true, higher: true},
	{key: "training_use_to_end", label: "training, to the end", percent: true, higher: true},
	{key: "overall_use_to_end", label: "overall, to the end", percent: true, higher: true},
	{key: "preemption_ratio", label: "preempted", percent: true},
	{key: "returned_unforced", label: "unforced", percent: true, higher: true},
	{key: "loan_use", label: "use of loans", percent: true, higher: true},
	{key: "mean_lent", label: "lent", higher: true},
	{key: "sum_completion_s", label: "sum of completions"},
	{key: "unfinished", label: "unfinished"},
}

// Key returns the metric's name in JSON.
func (m Metric) Key() string { return metricKinds[m].key }

func (m Metric) String() string { return metricKinds[m].label }

// show formats a value of the metric.
func (m Metric) show(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case metricKinds[m].percent:
		return strconv.FormatFloat(100*x, 'f', 1, 64)
	case math.Abs(x) >= 1e7:
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return table.Thousands(strconv.FormatFloat(x, 'f', 0, 64))
}

// Figures are the metrics of an episode or of a paper; NaN where unknown.
type Figures [metrics]float64

// known returns figures in which only the given ones are known.
func known(of map[Metric]float64) Figures {
	f := unknown()
	for m := range metrics {
		if x, ok := of[m]; ok {
			f[m] = x
		}
	}
	return f
}

func unknown() (f Figures) {
	for m := range f {
		f[m] = math.NaN()
	}
	return f
}

// IsZero reports whether no figure is known; JSON then omits the figures.
func (f Figures) IsZero() bool {
	for _, x := range f {
		if !math.IsNaN(x) {
			return false
		}
	}
	return true
}

// MarshalJSON writes the known figures by their keys, in the order of the metrics.
func (f Figures) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for m, x := range f {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		number, err := json.Marshal(x)
		if err != nil {
			return nil, err
		}
		b.WriteString(strconv.Quote(Metric(m).Key()) + ":")
		b.Write(number)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
