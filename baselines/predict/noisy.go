package predict

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// noisy distorts what another predictor says.
type noisy struct {
	Predictor
	sigma float64
	seed  uint64
}

// maxSigma bounds the noise of newNoisy.
const maxSigma = 10

// newNoisy returns inner with each answer multiplied by exp(sigma·z), z normal, decided by the seed of Reset (0 before it)
// and the job's Name alone: one job meets the same noise whenever it is asked for. It takes inner over. A sigma outside 0
// to maxSigma panics.
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
	// A uniform number strictly within (0, 1), and the normal one at that quantile.
	u := (float64(rng.Derive(n.seed, "predict", "noise", s.Name)>>11) + .5) / (1 << 53)
	return believed(x * math.Exp(n.sigma*math.Sqrt2*math.Erfinv(2*u-1))), cold
}
