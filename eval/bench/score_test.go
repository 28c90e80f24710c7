package bench_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/eval/bench"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
	"pgregory.net/rapid"
)

// drawn returns a file with the reference and policies whose logarithmic ratios to it the function ratio returns.
func drawn(r *rand.Rand, tasks []bench.Task, policies int, ratio func(policy int, t bench.Task, window int) float64) *bench.File {
	f := &bench.File{Rows: make([]bench.Row, policies+1)}
	f.Rows[0].Policy = bench.Reference
	for p := range policies {
		f.Rows[p+1].Policy = fmt.Sprintf("policy %d", p)
	}
	for _, t := range tasks {
		base := make([]float64, t.Windows)
		for w := range base {
			base[w] = math.Exp(8 + r.NormFloat64())
		}
		for i := range f.Rows {
			cost := slices.Clone(base)
			for w := range cost {
				if i > 0 {
					cost[w] *= math.Exp(ratio(i-1, t, w))
				}
			}
			f.Rows[i].Cells = append(f.Rows[i].Cells, bench.Cell{
				Task: t.Name(), Scenario: "d", Played: "p", Cost: cost, Told: bench.Told{Truth: []string{}, Trained: []string{}},
			})
		}
	}
	return f
}

func rank(t testing.TB, f *bench.File, tasks []bench.Task) map[string]bench.Standing {
	t.Helper()
	r := must.Get(bench.Rank(f, tasks))(t)
	out := map[string]bench.Standing{}
	for _, s := range r.Rows {
		out[s.Policy] = s
	}
	return out
}

// TestRankKnowsClearCases ranks policies whose order is certain: one is 20 % better than the reference in every window, one is
// equal to it, two are equal to each other and 50 % worse, and one only differs by noise from the best.
func TestRankKnowsClearCases(t *testing.T) {
	tasks, r := bench.Tasks(), rng.Stream(1, "clear")
	f := drawn(r, tasks, 5, func(p int, _ bench.Task, _ int) float64 {
		return []float64{math.Log(0.8), 0, math.Log(1.5), math.Log(1.5), math.Log(0.8) + r.NormFloat64()/10}[p]
	})
	got := rank(t, f, tasks)
	for name, want := range map[string]struct {
		rank int
		tie  bool
		jct  float64
	}{
		"policy 0": {1, true, 0.8}, "policy 4": {1, true, 0.8}, bench.Reference: {3, true, 1}, "policy 1": {3, true, 1},
		"policy 2": {5, true, 1.5}, "policy 3": {5, true, 1.5},
	} {
		s := got[name]
		if s.Rank != want.rank || s.Tie != want.tie || math.Abs(s.Score.Ratio-want.jct) > 0.02 || s.Score.Lo > s.Score.Ratio ||
			s.Score.Hi < s.Score.Ratio {
			t.Errorf("%s: rank %d, tie %v, score %+v, want %+v", name, s.Rank, s.Tie, s.Score, want)
		}
	}
}

// TestRankProperties checks on random files that the order of rows does not matter, that a policy that is slower in every window
// by one factor has a score larger by it and a higher rank, and that rows are in the order of ranks, and within a rank of scores.
func TestRankProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := rng.Stream(rapid.Uint64().Draw(rt, "seed"), "rank")
		tasks := bench.Tasks()[:rapid.IntRange(1, 3).Draw(rt, "tasks")]
		const slower = 1.25
		f := drawn(r, tasks, 2, func(int, bench.Task, int) float64 { return r.NormFloat64() / 3 })
		last := bench.Row{Policy: "slower"}
		for _, c := range f.Rows[1].Cells {
			c.Cost = slices.Clone(c.Cost)
			for w := range c.Cost {
				c.Cost[w] *= slower
			}
			last.Cells = append(last.Cells, c)
		}
		f.Rows = append(f.Rows, last)
		got := rank(t, f, tasks)
		r.Shuffle(len(f.Rows), func(i, k int) { f.Rows[i], f.Rows[k] = f.Rows[k], f.Rows[i] })
		again := must.Get(bench.Rank(f, tasks))(rt)
		for i, s := range again.Rows {
			if was := got[s.Policy]; was.Rank != s.Rank || *was.Score != *s.Score {
				rt.Errorf("%s: %+v in another order of rows, %+v before", s.Policy, s, was)
			}
			before := again.Rows[max(i-1, 0)]
			if i == 0 && s.Rank != 1 || s.Rank < before.Rank || s.Rank == before.Rank && s.Score.Ratio < before.Score.Ratio {
				rt.Errorf("row %d: %+v after %+v", i, s, before)
			}
		}
		fast, slow := got["policy 0"], got["slower"]
		if math.Abs(slow.Score.Ratio/fast.Score.Ratio-slower) > 1e-9 || slow.Rank <= fast.Rank {
			rt.Errorf("%+v is slower by %v in every window than %+v", slow, slower, fast)
		}
	})
}

// TestIntervalsCover checks that the interval of a score contains the truth in about 95 % of samples, and that equal policies are
// told apart in about 5 %, also if the windows of tasks with the same days are alike.
func TestIntervalsCover(t *testing.T) {
	const samples, truth = 200, 1
	tasks := taskOf(t, "small-first@embedded-small-v1", "keep-work@turns-small-v1", "small-first@philly-load110-strong-rigid-warm-v1")
	r := rng.Stream(3, "cover")
	covered, apart := 0, 0
	for range samples {
		alike := map[string]float64{}
		f := drawn(r, tasks, 2, func(p int, task bench.Task, w int) float64 {
			key := fmt.Sprint(p, task.Days, w)
			if _, ok := alike[key]; !ok {
				alike[key] = r.NormFloat64() / 2
			}
			const mean = (0.25 + 0.0625) / 2 // makes the mean ratio that of the truth
			return alike[key] + r.NormFloat64()/4 - truth - mean
		})
		got := rank(t, f, tasks)
		if s := got["policy 0"].Score; s.Lo <= math.Exp(-truth) && math.Exp(-truth) <= s.Hi {
			covered++
		}
		if got["policy 0"].Rank != got["policy 1"].Rank {
			apart++
		}
	}
	if covered < samples*90/100 || covered == samples || apart > samples*7/100 {
		t.Errorf("%d of %d intervals contain the truth, and %d times equal policies are told apart", covered, samples, apart)
	}
}
