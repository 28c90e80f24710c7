package predict

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// noisy adds noise to the predictions of another predictor.
type noisy struct {
	Predictor
	sigma float64
	seed  uint64
}

// maxSigma is the largest sigma of newNoisy.
const maxSigma = 10

// newNoisy returns a predictor that multiplies each prediction of inner by exp(sigma·z), z normal. z depends only on the seed of
// Reset (0 before) and the job's Name, so that a job always gets the same noise. The new predictor owns inner. newNoisy panics
// if sigma is not between 0 and maxSigma.
func newNoisy(inner Predictor, sigma float64) Predictor {
	if !(sigma >= 0 && sigma <= maxSigma) {
		panic(fmt.Sprintf("predict: sigma %v, want 0 to %v", sigma, maxSigma))
	}
	return &noisy{Predictor: inner, sigma: sigma}
}

func (n *noisy) Name() string {
	if n.Predictor.Name() == kindGranted {
		return fmt.Sprintf("noisy(%g)", n.sigma)
	}
	return fmt.Sprintf("noisy(%g) %s", n.sigma, n.Predictor.Name())
}

func (n *noisy) Reset(seed uint64) {
	n.seed = seed
	n.Predictor.Reset(seed)
}

func (n *noisy) Predict(s *cluster.JobSpec) (iterations float64, cold bool) {
	x, cold := n.Predictor.Predict(s)
	// u is uniform strictly within (0, 1); the noise is the normal quantile at u.
	u := (float64(rng.Derive(n.seed, "predict", "noise", s.Name)>>11) + .5) / (1 << 53)
	return believed(x * math.Exp(n.sigma*math.Sqrt2*math.Erfinv(2*u-1))), cold
}
