package fit

import (
	"math"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/internal/rng"
)

// The memory of the GPUs that Gavel measured, as nvidia-smi reports it, in MiB and in the order of profile.MeasuredGPUs. The
// cards are sold as 16, 16 and 12 GB.
var cardMiB = [len(profile.MeasuredGPUs)]float64{16160, 16280, 11441}

// MemoryFit reports for how many pairs on one GPU type the estimated sizes agree with Gavel's measurement; both directions of
// two jobs count as one pair.
type MemoryFit struct {
	GPU                  string
	Fit, FitRight        int // pairs that fit together; of those, the ones whose sizes add up to no more than the card
	Refused, RefuseRight int // pairs that do not; of those, the ones whose sizes add up to more
}

// shape determines the memory of a model: base + perSample·(batch size), in MiB.
type shape struct{ base, perSample float64 }

// guesses are the starting points of the search, and the values near which it stays where the pairs give no information. They
// are sums of a CUDA context with libraries, the model's state, and activations per sample, computed from the sizes of the
// networks. A job type without batch sizes counts as one sample.
var guesses = map[string]shape{
	"resnet18":       {900, 6},
	"resnet50":       {1200, 80},
	"transformer":    {1500, 35},
	"lm":             {1000, 30},
	"recommendation": {1000, 0.5},
	"a3c":            {2000, 0},
	"cyclegan":       {4000, 0},
}

// sizes is the problem of finding a shape for each model.
type sizes struct {
	models []string // in the order of the jobs
	job    []int    // [job] index of the job's model
	batch  []float64
	pairs  []sized
}

// sized is a pair of jobs on a card.
type sized struct {
	gpu, a, b int
	fits      bool
}

func newSizes(all [len(profile.MeasuredGPUs)]*gavel) *sizes {
	z := new(sizes)
	for _, job := range all[0].Jobs {
		model, batch, ok := strings.Cut(job, "-")
		samples := 1.0
		if n, err := strconv.ParseFloat(batch, 64); ok && err == nil {
			samples = n
		}
		if len(z.models) == 0 || z.models[len(z.models)-1] != model {
			z.models = append(z.models, model)
		}
		z.job, z.batch = append(z.job, len(z.models)-1), append(z.batch, samples)
	}
	for gpu, g := range all {
		for a, row := range g.Speed {
			for b := range a + 1 {
				if !math.IsNaN(row[b]) {
					z.pairs = append(z.pairs, sized{gpu, a, b, row[b] > 0})
				}
			}
		}
	}
	return z
}

// mib returns the size of every job. theta contains logarithms relative to the guesses: [model][base, perSample].
func (z *sizes) mib(theta []float64) []float64 {
	mib := make([]float64, len(z.job))
	for i, m := range z.job {
		guess, ok := guesses[z.models[m]]
		if !ok {
			guess = shape{1000, 0}
		}
		mib[i] = min(guess.base*math.Exp(theta[2*m])+guess.perSample*math.Exp(theta[2*m+1])*z.batch[i], cardMiB[profile.K80])
	}
	return mib
}

// loss counts the pairs on the wrong side of the card's size, with a ramp of half a GiB that gives the search a direction, and
// adds a small penalty for leaving the guesses. A pair that is wrongly predicted to fit counts three times, because it would
// crash; a pair in the other direction only waits.
func (z *sizes) loss(theta []float64) float64 {
	const ramp, crash = 512, 3
	mib, sum := z.mib(theta), 0.0
	for _, p := range z.pairs {
		over := (mib[p.a] + mib[p.b] - cardMiB[p.gpu]) / ramp
		if p.fits {
			sum += max(0, min(1, over)) + 0.01*max(0, over)
		} else {
			sum += crash * (max(0, min(1, 1-over)) + 0.01*max(0, 1-over))
		}
	}
	for _, x := range theta {
		sum += 0.3 * x * x
	}
	return sum
}

// fitMemory searches by random steps along one or two parameters, which become shorter, and keeps each improvement.
func fitMemory(all [len(profile.MeasuredGPUs)]*gavel) (mib []float64, fits []MemoryFit) {
	const steps = 20_000
	z := newSizes(all)
	random := rng.Stream(seed, "physics", "memory")
	best, try := make([]float64, 2*len(z.models)), make([]float64, 2*len(z.models))
	least := z.loss(best)
	for i := range steps {
		length := math.Pow(0.01, float64(i)/steps)
		copy(try, best)
		for range 1 + random.IntN(2) {
			try[random.IntN(len(try))] += length * random.NormFloat64()
		}
		if loss := z.loss(try); loss < least {
			least = loss
			best, try = try, best
		}
	}
	mib = z.mib(best)
	for i := range mib {
		mib[i] = math.Ceil(mib[i])
	}
	return mib, z.judge(mib)
}

func (z *sizes) judge(mib []float64) []MemoryFit {
	var fits []MemoryFit
	for _, gpu := range profile.MeasuredGPUs {
		fits = append(fits, MemoryFit{GPU: gpu})
	}
	for _, p := range z.pairs {
		f, together := &fits[p.gpu], mib[p.a]+mib[p.b] <= cardMiB[p.gpu]
		switch {
		case p.fits && together:
			f.FitRight++
		case !p.fits && !together:
			f.RefuseRight++
		}
		if p.fits {
			f.Fit++
		} else {
			f.Refused++
		}
	}
	return fits
}
