package elastic

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ofJob returns the group of a job from its time with the most workers, as in the examples of Lyra (EuroSys 2023).
func ofJob(least, most int32, fastest float64, weight int64) group {
	return group{weight: weight, base: least, extra: most - least, work: fastest * float64(most)}
}

func worth(groups []group, chosen []int32) (value float64, weight int64) {
	for i, k := range chosen {
		if k > 0 {
			value += groups[i].value(k)
		}
		weight += int64(k) * groups[i].weight
	}
	return value, weight
}

// TestKnapsackFigure6 checks the items and optima of Lyra's figure 6: job A runs on 2 to 3 workers of 2 GPUs, B on 2 to 6
// workers of 1 GPU.
func TestKnapsackFigure6(t *testing.T) {
	groups := []group{ofJob(2, 3, 100, 2), ofJob(2, 6, 20, 1)}
	for k, want := range map[int32]float64{1: 20, 2: 30, 3: 36, 4: 40} {
		if got := groups[1].value(k); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d more workers are worth %g to B, want %g", k, got, want)
		}
	}
	if got := groups[0].value(1); math.Abs(got-50) > 1e-9 {
		t.Errorf("1 more worker is worth %g to A, want 50", got)
	}
	var z knapsack
	for capacity, want := range []struct {
		a, b  int32
		value float64
	}{{0, 0, 0}, {0, 1, 20}, {1, 0, 50}, {1, 1, 70}, {1, 2, 80}, {1, 3, 86}, {1, 4, 90}, {1, 4, 90}} {
		got := slices.Clone(z.solve(groups, int64(capacity)))
		value, _ := worth(groups, got)
		if !slices.Equal(got, []int32{want.a, want.b}) || math.Abs(value-want.value) > 1e-9 {
			t.Errorf("capacity %d: %v worth %g, want [%d %d] worth %g", capacity, got, value, want.a, want.b, want.value)
		}
	}
}

// TestKnapsackTables2And4 uses workers of one GPU, of which four of eight are left beyond the bases of tables 2 and 4. In table
// 4 the optimum is the better of the paper's two schedules. In table 2 it is not the best schedule of the paper, because the
// knapsack does not pass workers on.
func TestKnapsackTables2And4(t *testing.T) {
	for name, c := range map[string]struct {
		groups []group
		want   []int32
		value  float64
	}{
		"table 2": {[]group{ofJob(2, 6, 50, 1), ofJob(2, 6, 20, 1)}, []int32{3, 1}, 110},
		"table 4": {[]group{ofJob(2, 3, 100, 1), ofJob(2, 6, 20, 1)}, []int32{1, 3}, 86},
	} {
		var z knapsack
		got := z.solve(c.groups, 4)
		if value, _ := worth(c.groups, got); !slices.Equal(got, c.want) || math.Abs(value-c.value) > 1e-9 {
			t.Errorf("%s: %v worth %g, want %v worth %g", name, got, value, c.want, c.value)
		}
	}
}

func drawGroups(t *rapid.T, n int, weights []int64) []group {
	groups := make([]group, rapid.IntRange(0, n).Draw(t, "groups"))
	for i := range groups {
		groups[i] = group{
			weight: rapid.SampledFrom(weights).Draw(t, "weight"), base: rapid.Int32Range(1, 4).Draw(t, "base"),
			extra: rapid.Int32Range(0, 4).Draw(t, "extra"), work: float64(rapid.IntRange(1, 3).Draw(t, "work")) * 5040,
		}
	}
	return groups
}

// program is the dynamic program as Lyra §5.2 describes it: group by group, for all capacities, item by item.
func program(groups []group, capacity int64) (value float64) {
	best := make([]float64, capacity+1)
	for i := range groups {
		g := &groups[i]
		next := slices.Clone(best)
		for c := range capacity + 1 {
			for k := int32(1); k <= g.extra && int64(k)*g.weight <= c; k++ {
				if v := best[c-int64(k)*g.weight] + g.value(k); v > next[c] {
					next[c] = v
				}
			}
		}
		best = next
	}
	return best[capacity]
}

// brute tries everything and returns the largest value and the least weight that has this value.
func brute(groups []group, capacity int64) (value float64, weight int64) {
	try := make([]int32, len(groups))
	var all func(i int)
	all = func(i int) {
		v, w := worth(groups, try)
		if w > capacity {
			return
		}
		if v > value+1e-9*v || v > value-1e-9*v && w < weight {
			value, weight = v, w
		}
		if i == len(groups) {
			return
		}
		for try[i] = 0; try[i] <= groups[i].extra; try[i]++ {
			all(i + 1)
		}
		try[i] = 0
	}
	all(0)
	return value, weight
}

// TestKnapsackEqualsBruteForce checks that the solution equals that of brute force and that of the paper's program: the largest
// value, with the least weight. The numbers are such that values are whole, so that ties are exact.
func TestKnapsackEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups := drawGroups(t, 6, rapid.SampledFrom([][]int64{{1}, {1, 2, 3}, {5, 12, 20}}).Draw(t, "weights"))
		capacity := rapid.Int64Range(-1, 60).Draw(t, "capacity")
		got := new(knapsack).solve(groups, capacity)
		checkChoice(t, groups, capacity, got)
		value, weight := worth(groups, got)
		if best, least := brute(groups, capacity); value != best || weight != least {
			t.Fatalf("%v is worth %g and weighs %d, want %g and %d", got, value, weight, best, least)
		}
		if capacity >= 0 {
			if best := program(groups, capacity); value != best {
				t.Fatalf("%v is worth %g, the paper's program finds %g", got, value, best)
			}
		}
	})
}

// TestKnapsackEqualsProgram checks the same on larger instances, with a reused solver and arbitrary values.
func TestKnapsackEqualsProgram(t *testing.T) {
	var z knapsack
	rapid.Check(t, func(t *rapid.T) {
		groups := drawGroups(t, 25, rapid.SampledFrom([][]int64{{3}, {2, 3}, {1, 2, 5, 7}}).Draw(t, "weights"))
		for i := range groups {
			groups[i].extra += rapid.Int32Range(0, 20).Draw(t, "more")
			groups[i].work *= rapid.Float64Range(0.1, 2).Draw(t, "times")
		}
		capacity := rapid.Int64Range(0, 400).Draw(t, "capacity")
		got := z.solve(groups, capacity)
		checkChoice(t, groups, capacity, got)
		value, _ := worth(groups, got)
		if best := program(groups, capacity); math.Abs(value-best) > 1e-9*best {
			t.Fatalf("%v is worth %g, the paper's program finds %g", got, value, best)
		}
	})
}

func checkChoice(t *rapid.T, groups []group, capacity int64, got []int32) {
	t.Helper()
	if _, weight := worth(groups, got); len(got) != len(groups) || weight > max(capacity, 0) {
		t.Fatalf("%d choices of weight %d, want %d of at most %d", len(got), weight, len(groups), capacity)
	}
	for i, k := range got {
		if k < 0 || k > groups[i].extra {
			t.Fatalf("group %d gets %d workers, want 0 to %d", i, k, groups[i].extra)
		}
	}
}

// TestKnapsackTies checks that among workers with equal gains the earlier group gets the first.
func TestKnapsackTies(t *testing.T) {
	groups := []group{ofJob(2, 6, 20, 1), ofJob(2, 6, 20, 1), ofJob(2, 6, 20, 1)}
	if got, want := new(knapsack).solve(groups, 5), []int32{2, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// value returns by how many nanoseconds k flexible workers shorten the job [L §5.2].
func (g *group) value(k int32) float64 {
	return g.work * float64(k) / (float64(g.base) * float64(g.base+k))
}

// BenchmarkKnapsack solves the largest instance that Lyra reports (354 items, 245 GPUs, 0.02 s), one of the size of its training
// cluster (3,544 GPUs) and one of the size of all its GPUs (7,704), with workers of equal weight and of several weights.
func BenchmarkKnapsack(b *testing.B) {
	for _, c := range []struct {
		name        string
		jobs, items int
		capacity    int64
		weights     int64
	}{
		{"354items245GPUs/1weight", 59, 6, 245, 1},
		{"354items245GPUs/4weights", 59, 6, 245, 4},
		{"2400items2000GPUs/1weight", 300, 8, 2000, 1},
		{"2400items3544GPUs/4weights", 300, 8, 3544, 4},
		{"16000items7704GPUs/4weights", 500, 32, 7704, 4},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			groups := make([]group, c.jobs)
			for i := range groups {
				groups[i] = group{1 + r.Int64N(c.weights), 1 + r.Int32N(8), int32(c.items), 100 + r.Float64()*1e5}
			}
			var z knapsack
			b.ReportAllocs()
			for b.Loop() {
				z.solve(groups, c.capacity)
			}
		})
	}
}
