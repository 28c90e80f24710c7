package baselines

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// A score rates a waiting job by a published formula; the job with the lowest score starts next. Times are in seconds: the
// estimated run time r, the wait so far w, and the time of submission s, counted from the beginning of the episode. n is the
// number of GPUs. All but w are at least 1, so that every formula has a value.
type score func(r, n, w, s float64) float64

// scored returns the rules of batch systems with which RLScheduler is compared.
func scored() []Baseline {
	const (
		evolved = "Carastan-Santos and de Camargo, Obtaining dynamic scheduling policies with simulation and machine learning, SC 2017"
		rival   = "; a rule that RLScheduler (Zhang et al., SC 2020) is compared with"
		blocks  = " starts first. One that does not fit blocks all behind it; backfill=easy lets others start behind it, as in" +
			" RLScheduler's comparison."
	)
	of := func(name, about, how, source string, ages bool, f score) Baseline {
		return Baseline{name, about, how + blocks, source + rival, needsEstimates, estimating(blocking(list{order: f.key, ages: ages}))}
	}
	return []Baseline{
		of("wfp3", "longest wait for its run time first, to the third power, times GPUs; blocks (WFP3)",
			"The waiting job with the highest (wait / estimated run time)^3 x GPUs",
			"WFP3 (Tang et al., Fault-aware, utility-based job scheduling on Blue Gene/P systems, CLUSTER 2009)", true, wfp3),
		of("unicep", "longest wait for its run time and the logarithm of its GPUs first; blocks (UNICEP)",
			"The waiting job with the highest wait / (log2(GPUs) x estimated run time), and so any job of one GPU before all others,",
			"UNICEP (Tang et al., CLUSTER 2009), called UNICEF elsewhere", true, unicep),
		of("f1", "least log10(run time) x GPUs + 870 log10(submission) first; blocks (F1)",
			"The waiting job with the least log10(r) n + 870 log10(s), of run time r, GPUs n and submission s,", evolved, false, f1),
		of("f2", "least sqrt(run time) x GPUs + 25,600 log10(submission) first; blocks (F2)",
			"The waiting job with the least sqrt(r) n + 25,600 log10(s), of run time r, GPUs n and submission s,", evolved, false, f2),
		of("f3", "least run time x GPUs + 6,860,000 log10(submission) first; blocks (F3)",
			"The waiting job with the least r n + 6,860,000 log10(s), of run time r, GPUs n and submission s,", evolved, false, f3),
		of("f4", "least run time x sqrt(GPUs) + 530,000 log10(submission) first; blocks (F4)",
			"The waiting job with the least r sqrt(n) + 530,000 log10(s), of run time r, GPUs n and submission s,", evolved, false, f4),
	}
}

func f1(r, n, _, s float64) float64 { return math.Log10(r)*n + 870*math.Log10(s) }
func f2(r, n, _, s float64) float64 { return math.Sqrt(r)*n + 25_600*math.Log10(s) }
func f3(r, n, _, s float64) float64 { return r*n + 6_860_000*math.Log10(s) }
func f4(r, n, _, s float64) float64 { return r*math.Sqrt(n) + 530_000*math.Log10(s) }

// wfp3 orders jobs as -(w/r)^3 n does. It is the cube root of that, because high powers of long waits would not fit into a key.
func wfp3(r, n, w, _ float64) float64 { return -w / r * math.Cbrt(n) }

// oneGPU is far above the score of any job on more than one GPU, which the formula of UNICEP divides by 0.
const oneGPU = 4e9

// unicep is -w / (log2(n) r), and for one GPU the same without the logarithm, but ahead of all others.
func unicep(r, n, w, _ float64) float64 {
	if n == 1 {
		return -oneGPU - min(w/r, oneGPU)
	}
	return -min(w/(math.Log2(n)*r), oneGPU)
}

// key is the score of a job now, as a key of an order: a unit of the score is a second of the key.
func (f score) key(s *cluster.View, id cluster.JobID) (time.Duration, error) {
	left, err := byEstimate(s, id)
	if err != nil {
		return 0, err
	}
	spec := s.Spec(id)
	v := f(max(left.Seconds(), 1), max(spec.GPUs(), 1), max((s.Now()-spec.Submit).Seconds(), 0), max(spec.Submit.Seconds(), 1))
	const most = float64(math.MaxInt64 / 2)
	return time.Duration(max(-most, min(v*float64(time.Second), most))), nil
}
