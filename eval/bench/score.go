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
// The score of a policy is the geometric mean over tasks of what all windows of a task cost under it, divided by what they cost
// under the reference. Every task counts the same; within a task, windows count by what they cost, since many cost nothing. A
// ratio beyond 1,000, or below its inverse, counts as that.
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
	Score    *Score    `json:"score,omitempty"` // nil if the policy did not play all tasks
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
		if reference.cell(t.Name()) == nil {
			return nil, fmt.Errorf("rank: the reference %q has no results on %s", Reference, t.Name())
		}
		out.Tasks = append(out.Tasks, t.Name())
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
	var played []paired
	toldTruth := false
	for i, t := range tasks {
		c, base := row.cell(t.Name()), reference.cell(t.Name())
		if c == nil {
			continue
		}
		played = append(played, paired{c.Cost, base.Cost})
		s.Ratios[i] = math.Exp(played[len(played)-1].logRatio(every(t.Windows)))
		s.Cut = s.Cut || c.Truncated > 0
		toldTruth = toldTruth || len(c.Told.Truth) > 0
	}
	if len(played) < len(tasks) {
		s.Unranked = fmt.Sprintf("played %d of %d tasks", len(played), len(tasks))
		return s
	}
	if toldTruth {
		s.Unranked = "was told the truth"
	}
	s.mean, s.draws = resample(played, d)
	s.Score = interval(s.mean, s.draws)
	return s
}

// paired has the costs of the windows of a task under a policy and under the reference.
type paired struct{ own, base []float64 }

// mostRatio limits the ratio of two costs, either of which may be 0.
const mostRatio = 1000

// logRatio returns the logarithm of the ratio of the sums over some windows.
func (p paired) logRatio(windows []int) float64 {
	own, base := 0.0, 0.0
	for _, w := range windows {
		own += p.own[w]
		base += p.base[w]
	}
	if own == base { // also if both are 0
		return 0
	}
	return math.Log(min(max(own/base, 1/mostRatio), mostRatio))
}

// every returns the windows 0 to n-1.
func every(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
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

// resample returns the mean over tasks of the logarithms of ratios, and the same in each resample, at the distances from the mean
// that the function widen gives.
func resample(tasks []paired, d [][][]int) (mean float64, draws []float64) {
	means := make([]float64, len(tasks))
	wider := make([]float64, len(tasks))
	for i, t := range tasks {
		means[i], wider[i] = t.logRatio(every(len(t.own))), widen(len(t.own))
	}
	mean = stats.Mean(means)
	draws = make([]float64, len(d))
	for k := range d {
		off := 0.0
		for i, t := range tasks {
			off += wider[i] * (t.logRatio(d[k][i]) - means[i])
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
	sorted := slices.Sorted(slices.Values(draws))
	return &Score{
		math.Exp(mean), math.Exp(stats.QuantileSorted(sorted, (1-level)/2)), math.Exp(stats.QuantileSorted(sorted, (1+level)/2)),
	}
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

// better reports whether a is clearly better than b: whether it is in all but 2.5 % of the resamples.
func better(a, b *scored) bool {
	others := 0
	for i, x := range a.draws {
		if x >= b.draws[i] {
			others++
		}
	}
	return float64(others) < float64(len(a.draws))*(1-level)/2
}
