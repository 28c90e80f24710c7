package fit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/clustergym/clustergym/internal/rng"
)

// PairError is the error of predicted speeds beside a partner: the mean absolute error, and the fraction of the variance
// explained.
type PairError struct {
	Rank    int // 0: the prediction is the mean speed of all fitted pairs
	MAE, R2 float64
}

// PairFit is the fit of one GPU type.
type PairFit struct {
	GPU     string
	Pairs   int         // number of measured pairs that fit together; each direction counts
	HeldOut []PairError // of ranks 0 to 3 on pairs that were not fitted: the mean over several divisions into folds
	Fitted  PairError   // of rank 2, the committed fit, on the pairs to which it was fitted
}

const (
	rank      = 2 // of the committed fit
	folds     = 5
	divisions = 4 // a single division into folds would change R² by about 0.02
)

func fitGPU(gpu string, g *gavel) (PairFit, vectors) {
	pairs := g.fitting()
	v := fitPairs(pairs, g.Jobs, rank, fine)
	predicted := make([]float64, len(pairs))
	for i, p := range pairs {
		predicted[i] = v.speed(p)
	}
	return PairFit{GPU: gpu, Pairs: len(pairs), Fitted: judge(pairs, predicted, rank)}, v
}

// holdOut returns the held-out errors of ranks 0 to 3.
func holdOut(g *gavel) []PairError {
	var all []PairError
	for r := range 4 {
		mean := PairError{Rank: r}
		for d := range divisions {
			fold := drawFolds(len(g.Jobs), rng.Stream(seed, "physics", "folds", fmt.Sprint(d)))
			e := judgeHeldOut(g, fold, r)
			mean.MAE += e.MAE / divisions
			mean.R2 += e.R2 / divisions
		}
		all = append(all, mean)
	}
	return all
}

// judgeHeldOut predicts each pair from a fit to the pairs of the other folds, and returns the error.
func judgeHeldOut(g *gavel, fold [][]int, rank int) PairError {
	pairs := g.fitting()
	predicted := make([]float64, len(pairs))
	for k := range folds {
		var train []pair
		for _, p := range pairs {
			if fold[p.own][p.partner] != k {
				train = append(train, p)
			}
		}
		predict := predictor(train, g.Jobs, rank)
		for i, p := range pairs {
			if fold[p.own][p.partner] == k {
				predicted[i] = predict(p)
			}
		}
	}
	return judge(pairs, predicted, rank)
}

func predictor(train []pair, jobs []string, rank int) func(pair) float64 {
	if rank > 0 {
		return fitPairs(train, jobs, rank, coarse).speed
	}
	sum := 0.0
	for _, p := range train {
		sum += p.speed
	}
	return func(pair) float64 { return sum / float64(len(train)) }
}

// drawFolds returns the fold of each pair, [job][partner]. Both directions of two jobs are in the same fold, so that a fit never
// contains the opposite direction of a pair that it predicts.
func drawFolds(jobs int, random *rand.Rand) [][]int {
	fold := make([][]int, jobs)
	for i := range fold {
		fold[i] = make([]int, jobs)
	}
	order := random.Perm(jobs * (jobs + 1) / 2)
	for i := range jobs {
		for j := range i + 1 {
			k := order[0] % folds
			fold[i][j], fold[j][i] = k, k
			order = order[1:]
		}
	}
	return fold
}

func judge(pairs []pair, predicted []float64, rank int) PairError {
	mean := 0.0
	for _, p := range pairs {
		mean += p.speed / float64(len(pairs))
	}
	var absolute, squared, spread float64
	for i, p := range pairs {
		d := predicted[i] - p.speed
		absolute += math.Abs(d)
		squared += d * d
		spread += (p.speed - mean) * (p.speed - mean)
	}
	return PairError{Rank: rank, MAE: absolute / float64(len(pairs)), R2: 1 - squared/spread}
}
