package predictors

import (
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// answer is a prediction for a job, with the truth.
type answer struct {
	told, truth float64 // predicted and true iterations
	cold        bool    // the predictor reported a cold start
	earlier     int     // number of runs of the recurring job that had ended when the job was submitted
}

// recorder is a predictor that records all predictions of another.
type recorder struct {
	predict.Predictor
	index   map[*cluster.JobSpec]int
	answers []answer // by job
	ended   map[predict.Key]int
}

func newRecorder(p predict.Predictor, jobs []trace.Job) *recorder {
	r := &recorder{p, make(map[*cluster.JobSpec]int, len(jobs)), make([]answer, len(jobs)), map[predict.Key]int{}}
	for i := range jobs {
		r.index[&jobs[i].JobSpec] = i
	}
	return r
}

func (r *recorder) Predict(spec *cluster.JobSpec) (iterations float64, cold bool) {
	a := &r.answers[r.index[spec]]
	a.told, a.cold = r.Predictor.Predict(spec)
	a.earlier = r.ended[predict.KeyOf(spec)]
	return a.told, a.cold
}

func (r *recorder) Observe(spec *cluster.JobSpec, iterations float64) {
	r.Predictor.Observe(spec, iterations)
	r.answers[r.index[spec]].truth = iterations
	if key := predict.KeyOf(spec); key != (predict.Key{}) {
		r.ended[key]++
	}
}
