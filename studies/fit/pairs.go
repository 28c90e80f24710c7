package fit

import (
	"math"
	"strings"

	"github.com/clustergym/clustergym/internal/rng"
)

var notMeasured = math.NaN()

// seed is the seed of all random numbers of this package: starting points and held-out parts.
const seed = 20

// pair is a measured speed of a job beside a partner.
type pair struct {
	own, partner int
	speed        float64
}

// fitting returns the pairs that were measured and fit together, by job and then partner.
func (g *gavel) fitting() []pair {
	var pairs []pair
	for i, row := range g.Speed {
		for j, speed := range row {
			if speed > 0 {
				pairs = append(pairs, pair{i, j, speed})
			}
		}
	}
	return pairs
}

// interference is the problem of fitting speed = exp(-Σ_f s_f·p_f), where s is the job's sensitivity and p the partner's
// pressure. The parameters are s of all jobs, [job][factor], then p. Two small penalties express prior knowledge: ridge pulls
// every component to 0, and kin pulls those of neighbouring batch sizes of one model together.
type interference struct {
	pairs      []pair
	jobs, rank int
	after      []int // jobs whose predecessor is the same model with another batch size
}

func (f *interference) size() int { return 2 * f.jobs * f.rank }

// bounds returns bounds that keep sensitivities and pressures non-negative.
func (f *interference) bounds() box {
	b := box{low: make([]float64, f.size()), high: make([]float64, f.size())}
	for i := range b.high {
		b.high[i] = 100
	}
	return b
}

func (f *interference) residual(theta []float64, p pair) (got, r float64) {
	s, q := theta[p.own*f.rank:], theta[(f.jobs+p.partner)*f.rank:]
	got = math.Exp(-dot(s[:f.rank], q))
	return got, got - p.speed
}

func (f *interference) loss(theta []float64) float64 {
	sum := 0.0
	for _, p := range f.pairs {
		_, r := f.residual(theta, p)
		sum += r * r
	}
	for _, x := range theta {
		sum += ridge * x * x
	}
	f.alike(func(i, j int) {
		d := theta[i] - theta[j]
		sum += kin * d * d
	})
	return sum / 2
}

func (f *interference) normal(theta, h, g []float64) float64 {
	n := len(theta)
	at, slope := make([]int, 2*f.rank), make([]float64, 2*f.rank)
	for _, p := range f.pairs {
		got, r := f.residual(theta, p)
		for k := range f.rank {
			i, j := p.own*f.rank+k, (f.jobs+p.partner)*f.rank+k
			at[k], slope[k] = i, -got*theta[j]
			at[f.rank+k], slope[f.rank+k] = j, -got*theta[i]
		}
		for a, i := range at {
			g[i] += slope[a] * r
			for b, j := range at[:a+1] { // ascending, so j <= i
				h[i*n+j] += slope[a] * slope[b]
			}
		}
	}
	for i, x := range theta {
		h[i*n+i] += ridge
		g[i] += ridge * x
	}
	f.alike(func(i, j int) {
		d := theta[i] - theta[j]
		h[i*n+i] += kin
		h[j*n+j] += kin
		h[i*n+j] -= kin
		g[i] += kin * d
		g[j] -= kin * d
	})
	return f.loss(theta)
}

// alike calls each with the indexes, i > j, of parameters that stand for the same component of neighbouring batch sizes of one
// model.
func (f *interference) alike(each func(i, j int)) {
	for _, job := range f.after {
		for side := range 2 {
			for k := range f.rank {
				i := (side*f.jobs+job)*f.rank + k
				each(i, i-f.rank)
			}
		}
	}
}

// We chose these values once, by the errors on held-out pairs, and use them for all GPU types and ranks.
const (
	ridge  = 0.003
	kin    = 0.1
	starts = 4
)

// vectors are fitted sensitivities s and pressures p, [job][factor].
type vectors struct{ s, p [][]float64 }

// fitPairs fits from several random starting points and returns the best result.
func fitPairs(pairs []pair, jobs []string, rank int, tolerance float64) vectors {
	f := &interference{pairs: pairs, jobs: len(jobs), rank: rank, after: neighbours(jobs)}
	random := rng.Stream(seed, "physics", "interference")
	var best []float64
	least := math.Inf(1)
	for range starts {
		theta := make([]float64, f.size())
		for i := range theta {
			theta[i] = 0.2 + 0.6*random.Float64()
		}
		if loss := minimise(f, f.bounds(), theta, tolerance); loss < least {
			least, best = loss, theta
		}
	}
	var v vectors
	for i := range jobs {
		s, p := make([]float64, rank), make([]float64, rank)
		for k := range rank {
			s[k], p[k] = best[i*rank+k], best[(len(jobs)+i)*rank+k]
		}
		v.s, v.p = append(v.s, s), append(v.p, p)
	}
	return v
}

func (v vectors) speed(p pair) float64 { return math.Exp(-dot(v.s[p.own], v.p[p.partner])) }

// neighbours returns the jobs whose predecessor is the same model with another batch size.
func neighbours(jobs []string) []int {
	var after []int
	for i := 1; i < len(jobs); i++ {
		model, _, sized := strings.Cut(jobs[i], "-")
		if before, _, _ := strings.Cut(jobs[i-1], "-"); sized && before == model {
			after = append(after, i)
		}
	}
	return after
}
