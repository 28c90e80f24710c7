package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
)

const (
	level     = 0.95
	resamples = 10_000
	drawSeed  = 1
)

// Ranking orders the rows of a file over some tasks.
//
// The score of a policy is the geometric mean of its completion times divided by the reference's: the mean over tasks of the
// mean over windows of log(mean JCT of the policy / mean JCT of the reference), and the exponential of that. Every task and,
// within a task, every window counts the same.
//
// Intervals are those of a bootstrap over windows. The tasks are fixed: the interval says how much other windows of the same
// tasks would change the score, and not how much other tasks would. A resample draws as many windows of each task as it has,
// with replacement; tasks with the same Days draw the same windows, because their windows share jobs, and so do all policies.
type Ranking struct {
	Tasks []string   `json:"tasks"`
	Rows  []Standing `json:"rows"` // by rank, and within a rank by score; then those that are not ranked
}

// Standing is the place of a policy in a ranking.
type Standing struct {
	Policy string `json:"policy"`
	// Rank is 1 + the number of ranked policies that are clearly better: the interval of the ratio of the two scores excludes 1. It
	// is 0 for a policy that is not ranked; Unranked then says why. Tie is whether others have the same rank.
	Rank     int       `json:"rank"`
	Tie      bool      `json:"tie"`
	Unranked string    `json:"unranked,omitempty"`
	Score    *Score    `json:"score,omitempty"` // of the mean JCT; nil if the policy did not play all tasks
	P99      *Score    `json:"p99,omitempty"`   // the same of the 99th percentile of the JCT
	Ratios   []float64 `json:"ratios"`          // by task, 0 for one that it did not play
	Cut      bool      `json:"truncated"`       // some of its windows ended before all jobs did
}

// Score is a ratio with its interval.
type Score struct {
	Ratio float64 `json:"ratio"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// scored is a row with what its intervals are computed from.
type scored struct {
	Standing
	mean  float64   // of logarithms
	draws []float64 // the same in each resample
}

// Rank ranks the rows of a file over the given tasks. Rows that lack one of them, and policies that were told the truth on a task
// that tells nothing, are listed without a rank. Equal files give equal rankings.
func Rank(f *File, tasks []Task) (*Ranking, error) {
	reference := f.row(Reference)
	if reference == nil || len(tasks) == 0 {
		return nil, fmt.Errorf("rank: no row of the reference, policy %q, or no task", Reference)
	}
	out := &Ranking{}
	for _, t := range tasks {
		if reference.cell(t.Scenario) == nil {
			return nil, fmt.Errorf("rank: the reference %q has no results on %s", Reference, t.Scenario)
		}
		out.Tasks = append(out.Tasks, t.Scenario)
	}
	d := draw(tasks)
	var all []scored
	for i := range f.Rows {
		all = append(all, score(&f.Rows[i], reference, tasks, d))
	}
	place(all)
	for i := range all {
		out.Rows = append(out.Rows, all[i].Standing)
	}
	return out, nil
}

// score computes everything of a row but its rank.
func score(row, reference *Row, tasks []Task, d [][][]int) scored {
	s := scored{Standing: Standing{Policy: row.Policy, Ratios: make([]float64, len(tasks))}}
	var jct, p99 [][]float64
	toldTruth := false
	for i, t := range tasks {
		c, base := row.cell(t.Scenario), reference.cell(t.Scenario)
		if c == nil {
			continue
		}
		jct, p99 = append(jct, logRatios(c.JCT, base.JCT)), append(p99, logRatios(c.P99, base.P99))
		s.Ratios[i] = math.Exp(stats.Mean(jct[len(jct)-1]))
		s.Cut = s.Cut || c.Truncated > 0
		toldTruth = toldTruth || len(c.Told.Truth) > 0
	}
	if len(jct) < len(tasks) {
		s.Unranked = fmt.Sprintf("played %d of %d tasks", len(jct), len(tasks))
		return s
	}
	if toldTruth {
		s.Unranked = "was told the truth"
	}
	s.mean, s.draws = resample(jct, d)
	s.Score = interval(s.mean, s.draws)
	s.P99 = interval(resample(p99, d))
	return s
}

func logRatios(own, base []float64) []float64 {
	out := make([]float64, len(own))
	for i := range out {
		out[i] = math.Log(own[i] / base[i])
	}
	return out
}

// draw returns for each resample and task the windows that are drawn.
func draw(tasks []Task) [][][]int {
	out := make([][][]int, resamples)
	r := rng.Stream(drawSeed, Suite)
	for k := range out {
		byDays := map[string][]int{}
		for _, t := range tasks {
			if byDays[t.Days] == nil {
				windows := make([]int, t.Windows)
				for i := range windows {
					windows[i] = r.IntN(t.Windows)
				}
				byDays[t.Days] = windows
			}
			out[k] = append(out[k], byDays[t.Days])
		}
	}
	return out
}

// resample returns the mean over tasks of the mean over windows, and the same in each resample, at the distances from the mean
// that the function widen gives.
func resample(tasks [][]float64, d [][][]int) (mean float64, draws []float64) {
	means := make([]float64, len(tasks))
	wider := make([]float64, len(tasks))
	for i, windows := range tasks {
		means[i], wider[i] = stats.Mean(windows), widen(len(windows))
	}
	mean = stats.Mean(means)
	draws = make([]float64, len(d))
	for k := range d {
		off := 0.0
		for i, windows := range tasks {
			sum := 0.0
			for _, w := range d[k][i] {
				sum += windows[w]
			}
			off += wider[i] * (sum/float64(len(windows)) - means[i])
		}
		draws[k] = mean + off/float64(len(tasks))
	}
	return mean, draws
}

// widen returns by how much the distances of resampled means of n windows from the mean of the windows are made larger, so that
// their quantiles are the ends of an interval. The means of resamples vary less than means of n other windows would, by a
// factor of √((n-1)/n); and how much the windows vary is itself an estimate, which Student's t allows for. TestIntervalsCover
// checks the result.
func widen(n int) float64 {
	const p = (1 + level) / 2
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(p)
	return math.Sqrt(float64(n)/float64(n-1)) * t / distuv.UnitNormal.Quantile(p)
}

// interval returns the exponentials of a mean and of the ends of its interval.
func interval(mean float64, draws []float64) *Score {
	lo, hi := ends(draws)
	return &Score{math.Exp(mean), math.Exp(lo), math.Exp(hi)}
}

func ends(draws []float64) (lo, hi float64) {
	sorted := slices.Sorted(slices.Values(draws))
	return stats.QuantileSorted(sorted, (1-level)/2), stats.QuantileSorted(sorted, (1+level)/2)
}

// place sorts the rows and sets their ranks.
func place(all []scored) {
	ranked := func(s *scored) bool { return s.Unranked == "" }
	group := func(s *scored) int { // ranked rows, those with a score, the others
		switch {
		case ranked(s):
			return 0
		case s.Score != nil:
			return 1
		}
		return 2
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(group(&a), group(&b)), cmp.Compare(a.mean, b.mean), cmp.Compare(a.Policy, b.Policy))
	})
	count := map[int]int{}
	for i := range all {
		if !ranked(&all[i]) {
			continue
		}
		all[i].Rank = 1
		for k := range i { // a row with a higher mean is never clearly better
			if better(&all[k], &all[i]) {
				all[i].Rank++
			}
		}
		count[all[i].Rank]++
	}
	for i := range all {
		all[i].Tie = count[all[i].Rank] > 1 && all[i].Rank > 0
	}
	// A policy with wider intervals may be behind fewer others than one with a better score.
	slices.SortStableFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(group(&a), group(&b)), cmp.Compare(a.Rank, b.Rank))
	})
}

// better reports whether a is clearly better than b: whether the upper end of the interval of the difference is below 0. It sorts
// nothing unless 0 lies between the two draws from which that end is interpolated.
func better(a, b *scored) bool {
	below := int(float64(len(a.draws)-1) * (1 + level) / 2)
	most := len(a.draws) - 1 - below // so many may be 0 or more if the lower of the two draws is below 0
	others := 0
	for i, x := range a.draws {
		if x-b.draws[i] >= 0 {
			if others++; others > most {
				return false
			}
		}
	}
	return others < most || betterSorted(a, b)
}

func betterSorted(a, b *scored) bool {
	diffs := make([]float64, len(a.draws))
	for i := range diffs {
		diffs[i] = a.draws[i] - b.draws[i]
	}
	_, hi := ends(diffs)
	return hi < 0
}
