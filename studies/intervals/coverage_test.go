// Package intervals_test compares ways to compute the interval of a mean, and shows the coverage of those in use.
package intervals_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
	"gonum.org/v1/gonum/stat/distuv"
)

var (
	coverageTrials    = flag.Int("coverage-trials", 0, "print the coverage tables from so many samples a cell")
	coverageResamples = flag.Int("coverage-resamples", 1000, "resamples behind each interval of the coverage tables")
)

// truth is a distribution of differences with mean zero.
type truth struct {
	name string
	draw func(r *rand.Rand) float64
}

func truths() []truth {
	return []truth{
		{"normal", (*rand.Rand).NormFloat64},
		{"two lognormals apart", func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - math.Exp(r.NormFloat64()) }},
		{"Student's t, 3 degrees", func(r *rand.Rand) float64 {
			a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
			return r.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
		}},
		{"one in ten 10x as wide", func(r *rand.Rand) float64 {
			if r.IntN(10) == 0 {
				return 10 * r.NormFloat64()
			}
			return r.NormFloat64()
		}},
		{"exponential", func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }},
		{"lognormal", func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - math.Exp(0.5) }},
		{"3 in a quarter, else -1", func(r *rand.Rand) float64 {
			if r.IntN(4) == 0 {
				return 3
			}
			return -1
		}},
		{"one in ten 30x worse", func(r *rand.Rand) float64 {
			if r.IntN(10) == 0 {
				return 30*r.ExpFloat64() - 3
			}
			return r.NormFloat64() - 3
		}}, // a third of the samples of ten contain no such value
	}
}

// candidate is a method to compute an interval from a sample.
type candidate struct {
	name     string
	interval func(s *resampled, level float64) (lo, hi float64)
}

func candidates() []candidate {
	return []candidate{
		{"Student's t", (*resampled).student},
		{"percentile", (*resampled).percentile},
		{"BCa", (*resampled).bca},
		{"studentised", (*resampled).studentised},
		{"symmetric studentised", (*resampled).symmetric},
		{"PairedCI", func(s *resampled, level float64) (lo, hi float64) {
			return stats.PairedCI(s.xs, level, len(s.means), s.r)
		}},
	}
}

// resampled is a sample with the statistics of its resamples that the candidates need.
type resampled struct {
	xs       []float64
	mean, se float64
	means    []float64 // means of all resamples, ascending
	t        []float64 // (mean of the resample - mean) / its standard error, ascending; without resamples of equal numbers
	r        *rand.Rand
}

func resample(xs []float64, resamples int, r *rand.Rand) *resampled {
	n := float64(len(xs))
	s := &resampled{xs: xs, mean: stats.Mean(xs), se: stats.StdDev(xs) / math.Sqrt(n), r: r}
	pick := make([]float64, len(xs))
	for range resamples {
		for i := range pick {
			pick[i] = xs[r.IntN(len(xs))]
		}
		m := stats.Mean(pick)
		s.means = append(s.means, m)
		if se := stats.StdDev(pick) / math.Sqrt(n); se > 0 {
			s.t = append(s.t, (m-s.mean)/se)
		}
	}
	slices.Sort(s.means)
	slices.Sort(s.t)
	return s
}

func (s *resampled) student(level float64) (lo, hi float64) {
	half := s.se * distuv.StudentsT{Sigma: 1, Nu: float64(len(s.xs) - 1)}.Quantile((1+level)/2)
	return s.mean - half, s.mean + half
}

func (s *resampled) percentile(level float64) (lo, hi float64) {
	return stats.QuantileSorted(s.means, (1-level)/2), stats.QuantileSorted(s.means, (1+level)/2)
}

// bca is the bias-corrected and accelerated bootstrap (Efron and Tibshirani 1993, chapter 14).
func (s *resampled) bca(level float64) (lo, hi float64) {
	if s.se == 0 {
		return s.mean, s.mean
	}
	var below, squares, cubes float64
	for _, m := range s.means {
		switch {
		case m < s.mean:
			below++
		case m == s.mean:
			below += 0.5
		}
	}
	for _, x := range s.xs {
		d := x - s.mean
		squares += d * d
		cubes += d * d * d
	}
	bias := distuv.UnitNormal.Quantile(below / float64(len(s.means)))
	acceleration := cubes / (6 * math.Pow(squares, 1.5))
	at := func(p float64) float64 {
		z := bias + distuv.UnitNormal.Quantile(p)
		return stats.QuantileSorted(s.means, distuv.UnitNormal.CDF(bias+z/(1-acceleration*z)))
	}
	return at((1 - level) / 2), at((1 + level) / 2)
}

func (s *resampled) studentised(level float64) (lo, hi float64) {
	if len(s.t) == 0 {
		return s.mean, s.mean
	}
	return s.mean - s.se*stats.QuantileSorted(s.t, (1+level)/2), s.mean - s.se*stats.QuantileSorted(s.t, (1-level)/2)
}

func (s *resampled) symmetric(level float64) (lo, hi float64) {
	if len(s.t) == 0 {
		return s.mean, s.mean
	}
	sizes := make([]float64, len(s.t))
	for i, t := range s.t {
		sizes[i] = math.Abs(t)
	}
	half := s.se * stats.Quantile(sizes, level)
	return s.mean - half, s.mean + half
}

// tally counts intervals by their position relative to the true mean, which is zero.
type tally struct {
	n, left, right int // all intervals; those entirely above the mean; those entirely below it
	widths         []float64
}

func (t *tally) add(lo, hi float64) {
	t.n++
	switch { // rounding may move a bound slightly across zero
	case !(lo <= 1e-12):
		t.left++
	case !(hi >= -1e-12):
		t.right++
	}
	t.widths = append(t.widths, hi-lo)
}

func (t *tally) coverage() float64 { return 1 - float64(t.left+t.right)/float64(t.n) }

func percent(k, n int) float64 { return 100 * float64(k) / float64(n) }

// TestCoverageTable prints how often each candidate's 95 % interval contains a known mean, as a Markdown table:
//
//	cd studies && go test ./intervals -run TestCoverageTable -v -coverage-trials 4000
//
// It takes minutes. A cell contains the percentage of the intervals that contain the mean, in parentheses the percentages of
// intervals entirely above and entirely below it, and the ratio of the mean width to that of Student's t. The last column is the
// ratio of the 99th percentile of PairedCI's width to the median width of Student's t.
func TestCoverageTable(t *testing.T) {
	if *coverageTrials == 0 {
		return
	}
	ns := []int{5, 10, 30, 100}
	parts := make([]strings.Builder, len(ns))
	var wg sync.WaitGroup
	for i, n := range ns {
		wg.Go(func() {
			for _, truth := range truths() {
				coverageRow(&parts[i], truth, n)
			}
		})
	}
	wg.Wait()

	var table strings.Builder
	fmt.Fprint(&table, "\n| n | differences |")
	for _, c := range candidates() {
		fmt.Fprintf(&table, " %s |", c.name)
	}
	fmt.Fprintf(&table, " p99 width |\n|--:|---|%s--:|\n", strings.Repeat("---|", len(candidates())))
	for i := range parts {
		table.WriteString(parts[i].String())
	}
	fmt.Println(table.String())
}

func coverageRow(w *strings.Builder, truth truth, n int) {
	r := rng.Stream(7, truth.name, fmt.Sprint(n))
	cs := candidates()
	tallies := make([]tally, len(cs))
	xs := make([]float64, n)
	for range *coverageTrials {
		for i := range xs {
			xs[i] = truth.draw(r)
		}
		s := resample(xs, *coverageResamples, r)
		for i, c := range cs {
			tallies[i].add(c.interval(s, 0.95))
		}
	}
	fmt.Fprintf(w, "| %d | %s |", n, truth.name)
	student, chosen := tallies[0], tallies[len(cs)-1]
	for _, t := range tallies {
		fmt.Fprintf(w, " %.1f (%.1f/%.1f) %.2f |", 100*t.coverage(), percent(t.left, t.n), percent(t.right, t.n),
			stats.Mean(t.widths)/stats.Mean(student.widths))
	}
	fmt.Fprintf(w, " %.1f |\n", stats.Quantile(chosen.widths, 0.99)/stats.Quantile(student.widths, 0.5))
}

// TestIQMCoverageTable prints how often the 95 % interval of IQMCI contains the IQM of infinitely many seeds, for ten windows:
//
//	cd studies && go test ./intervals -run TestIQMCoverageTable -v -coverage-trials 4000
func TestIQMCoverageTable(t *testing.T) {
	if *coverageTrials == 0 {
		return
	}
	const windows = 10
	table := "\n| noise between seeds | 2 seeds | 3 | 5 | 10 | 30 |\n|---|--:|--:|--:|--:|--:|\n"
	for _, noise := range truths() {
		if !slices.Contains([]string{"normal", "exponential", "lognormal"}, noise.name) {
			continue
		}
		table += "| " + noise.name + " |"
		draw := func(r *rand.Rand, w int) float64 { return 1 + 0.1*float64(w) + 0.3*noise.draw(r) }
		r := rng.Stream(7, "iqm", noise.name)
		var endless []float64
		for i := range 1_000_000 {
			endless = append(endless, draw(r, i%windows))
		}
		want := stats.IQM(endless)
		for _, seeds := range []int{2, 3, 5, 10, 30} {
			var got tally
			strata := make([][]float64, windows)
			for range *coverageTrials {
				for w := range strata {
					strata[w] = make([]float64, seeds)
					for s := range strata[w] {
						strata[w][s] = draw(r, w)
					}
				}
				lo, hi := stats.IQMCI(strata, 0.95, *coverageResamples, r)
				got.add(lo-want, hi-want)
			}
			table += fmt.Sprintf(" %.1f |", 100*got.coverage())
		}
		table += "\n"
	}
	fmt.Println(table)
}
