package forest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
	"pgregory.net/rapid"
)

// small returns a configuration that trains quickly.
func small() Config {
	c := Default()
	c.Trees, c.MinLeaf = 20, 2
	return c
}

func train(t rapid.TB, rows []float32, targets []float64, c Config) *Forest {
	t.Helper()
	return must.Get(Train(rows, targets, c))(t)
}

// friedman draws rows of 8 features of Friedman's first function (1991), which does not depend on 3 of them, with noise of
// deviation 1.
func friedman(r *rand.Rand, n int) (rows []float32, targets []float64) {
	for range n {
		var x [8]float64
		for j := range x {
			x[j] = float64(r.Float32())
			rows = append(rows, float32(x[j]))
		}
		y := 10*math.Sin(math.Pi*x[0]*x[1]) + 20*(x[2]-.5)*(x[2]-.5) + 10*x[3] + 5*x[4]
		targets = append(targets, y+r.NormFloat64())
	}
	return rows, targets
}

// errorOf returns the mean squared error over rows, and that of predicting the rows' mean.
func errorOf(f *Forest, rows []float32, targets []float64) (ours, means float64) {
	mean := 0.0
	for _, y := range targets {
		mean += y / float64(len(targets))
	}
	p := f.Features()
	for i, y := range targets {
		e := f.Predict(rows[i*p:(i+1)*p]) - y
		ours += e * e / float64(len(targets))
		means += (y - mean) * (y - mean) / float64(len(targets))
	}
	return ours, means
}

func TestRecoversKnownFunctions(t *testing.T) {
	for _, c := range []struct {
		name   string
		of     func(x []float64) float64
		median bool
		most   float64 // largest fraction of the variance that may remain unexplained
	}{
		{"a step of one feature", func(x []float64) float64 { return math.Round(x[0]) }, false, .01},
		{"a step, by medians", func(x []float64) float64 { return math.Round(x[0]) }, true, .01},
		{"steps of two features", func(x []float64) float64 { return 3*math.Round(x[0]) + math.Floor(4*x[1]) }, false, .02},
		{"a sum of two features", func(x []float64) float64 { return 10*x[0] + 5*x[1] }, false, .05},
		{"a product", func(x []float64) float64 { return x[0] * x[1] }, false, .08},
		{"far from zero", func(x []float64) float64 { return 1e9 + math.Round(x[0]) }, false, .01},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rng.Stream(1, "rows")
			draw := func(n int) (rows []float32, targets []float64) {
				for range n {
					x := []float64{float64(r.Float32()), float64(r.Float32()), float64(r.Float32())} // the target does not depend on the last
					rows = append(rows, float32(x[0]), float32(x[1]), float32(x[2]))
					targets = append(targets, c.of(x))
				}
				return rows, targets
			}
			config := Default()
			config.Trees, config.Median = 30, c.median
			rows, targets := draw(4000)
			f := train(t, rows, targets, config)
			if got, mean := errorOf(f, rows, targets); !(got <= c.most*mean) {
				t.Errorf("on its own rows %.4f of the variance stays, want at most %v", got/mean, c.most)
			}
			rows, targets = draw(2000)
			if got, mean := errorOf(f, rows, targets); !(got <= c.most*mean) {
				t.Errorf("on new rows %.4f of the variance stays, want at most %v", got/mean, c.most)
			}
		})
	}
}

// table is random training data with ties, with few enough values for a bin each.
type table struct {
	features int
	rows     []float32
	targets  []float64
}

func drawTable(t *rapid.T) table {
	d := table{features: rapid.IntRange(1, 5).Draw(t, "features")}
	n := rapid.IntRange(2, 60).Draw(t, "rows")
	for range n * d.features {
		d.rows = append(d.rows, float32(rapid.IntRange(-6, 6).Draw(t, "value"))/4)
	}
	for range n {
		d.targets = append(d.targets, float64(rapid.IntRange(-20, 20).Draw(t, "target"))/8)
	}
	return d
}

// TestWorkersDoNotMatter checks that one seed gives one forest, bit for bit, whatever the number of workers, and that other
// seeds give other forests.
func TestWorkersDoNotMatter(t *testing.T) {
	rows, targets := friedman(rng.Stream(1, "rows"), 300)
	others := 0
	rapid.Check(t, func(t *rapid.T) {
		c := small()
		c.Seed, c.Workers, c.Median = rapid.Uint64().Draw(t, "seed"), 1, rapid.Bool().Draw(t, "median")
		one := train(t, rows, targets, c)
		c.Workers = rapid.IntRange(0, 9).Draw(t, "workers")
		many := train(t, rows, targets, c)
		if !slices.Equal(one.nodes, many.nodes) || !slices.Equal(one.roots, many.roots) || one.base != many.base {
			t.Fatalf("%d workers grow another forest than 1", c.Workers)
		}
		c.Seed++
		if !slices.Equal(one.nodes, train(t, rows, targets, c).nodes) {
			others++
		}
	})
	if others == 0 {
		t.Error("all seeds grow one forest")
	}
}

// TestSplitIsTheBest checks that the split found over histograms is the best of all, by a loop over features, thresholds and
// rows.
func TestSplitIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawTable(t)
		c := small()
		c.MinLeaf, c.Features = rapid.IntRange(1, 5).Draw(t, "min leaf"), d.features
		g := newGrower(&training{config: c, columns: binned(d.rows, d.features, c.Bins), targets: d.targets})
		g.rand = rng.Stream(rapid.Uint64().Draw(t, "seed"))
		weight := 0
		for i := range g.drawn {
			g.drawn[i] = uint16(rapid.IntRange(0, 3).Draw(t, "drawn"))
			weight += int(g.drawn[i])
		}
		if weight == 0 {
			return
		}
		g.take()
		var all weighted
		for _, r := range g.rows {
			all.sum += r.sum
			all.weight += r.weight
		}
		s, ok := g.split(g.order, all)
		best, found := plainSplit(d, g.drawn, c.MinLeaf)
		if ok != found {
			t.Fatalf("found a split: %v, want %v", ok, found)
		}
		if !ok {
			return
		}
		column := g.columns[s.column]
		got, fits := errorOfSplit(d, g.drawn, int(column.feature), column.edges[s.bin], c.MinLeaf)
		if !fits || got > best+1e-9 {
			t.Fatalf("feature %d up to %v leaves the squared error %v (leaves large enough: %v), the best split %v",
				column.feature, column.edges[s.bin], got, fits, best)
		}
	})
}

// plainSplit returns the least squared error after any split, and whether a split lowers the error.
func plainSplit(d table, drawn []uint16, minLeaf int) (best float64, found bool) {
	best, _ = errorOfSplit(d, drawn, 0, float32(math.Inf(1)), 0) // all rows on one side
	for f := range d.features {
		for i := range d.targets {
			if e, ok := errorOfSplit(d, drawn, f, d.rows[i*d.features+f], minLeaf); ok && e < best-1e-9 {
				best, found = e, true
			}
		}
	}
	return best, found
}

func errorOfSplit(d table, drawn []uint16, feature int, edge float32, minLeaf int) (squared float64, ok bool) {
	ok = true
	for _, left := range []bool{true, false} {
		var side []float64
		for i, y := range d.targets {
			if (d.rows[i*d.features+feature] <= edge) == left {
				for range drawn[i] {
					side = append(side, y)
				}
			}
		}
		ok = ok && len(side) >= minLeaf
		mean := 0.0
		for _, y := range side {
			mean += y / float64(len(side))
		}
		for _, y := range side {
			squared += (y - mean) * (y - mean)
		}
	}
	return squared, ok
}

// TestLeafAnswers checks that a single tree without a split predicts the median, or the mean, of its bootstrap sample.
func TestLeafAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawTable(t)
		c := small()
		c.Median = rapid.Bool().Draw(t, "median")
		g := newGrower(&training{config: c, targets: d.targets})
		var sample []float64
		for i, y := range d.targets {
			g.drawn[i] = uint16(rapid.IntRange(0, 3).Draw(t, "drawn"))
			for range g.drawn[i] {
				sample = append(sample, y)
			}
		}
		n := len(sample)
		if n == 0 {
			return
		}
		g.take()
		all := weighted{weight: float64(n)}
		for _, y := range sample {
			all.sum += y
		}
		want := all.sum / float64(n)
		if c.Median {
			slices.Sort(sample)
			want = (sample[(n-1)/2] + sample[n/2]) / 2
		}
		if got := g.answer(g.order, all); math.Abs(got-want) > 1e-12 {
			t.Fatalf("answer %v for %v, want %v", got, sample, want)
		}
	})
}

// TestBins checks that bins separate only different values, that there are at most as many as asked for, and that each value has
// its own bin if there is room.
func TestBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float32Range(-3, 3), 1, 50).Draw(t, "values")
		for i := range values {
			if rapid.Bool().Draw(t, "round") {
				values[i] = float32(math.Round(float64(values[i])))
			}
			if i > 0 && rapid.Bool().Draw(t, "next") { // no float32 lies between them
				values[i] = math.Nextafter32(values[i-1], 9)
			}
		}
		most := rapid.IntRange(2, 20).Draw(t, "most")
		columns := binned(values, 1, most)
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		distinct := len(slices.Compact(sorted))
		if distinct == 1 {
			if len(columns) > 0 {
				t.Fatalf("a feature that is the same everywhere has edges %v", columns[0].edges)
			}
			return
		}
		used := map[uint8]bool{}
		for i, v := range values {
			b := columns[0].bins[i]
			used[b] = true
			edges := columns[0].edges
			if b > 0 && !(edges[b-1] < v) || int(b) < len(edges) && !(v <= edges[b]) {
				t.Fatalf("%v is in bin %d of %v", v, b, edges)
			}
		}
		if n := len(columns[0].edges) + 1; len(used) != n || n > most || distinct <= most && n != distinct {
			t.Fatalf("%d bins, %d of them used, for %d distinct values: want at most %d", n, len(used), distinct, most)
		}
	})
}

// TestLimitsHold checks that leaves are no smaller and paths no longer than configured, and that a constant feature is never
// chosen.
func TestLimitsHold(t *testing.T) {
	rows, targets := friedman(rng.Stream(1, "rows"), 500)
	for i := range targets {
		rows[i*8+7] = 3
	}
	c := small()
	c.Depth, c.MinLeaf = 3, 20
	f := train(t, rows, targets, c)
	for k, root := range f.roots {
		var walk func(i int32, depth int)
		walk = func(i int32, depth int) {
			if f.nodes[i].feature == 7 {
				t.Errorf("tree %d splits by a feature that is the same everywhere", k)
			}
			if f.nodes[i].feature == leaf {
				if depth > c.Depth {
					t.Errorf("tree %d has a leaf below %d splits, want at most %d", k, depth, c.Depth)
				}
				return
			}
			walk(i+1, depth+1)
			walk(f.nodes[i].right, depth+1)
		}
		walk(root, 0)
	}
	c.Depth, c.MinLeaf = 64, 250 // at most one split
	if f := train(t, rows, targets, c); len(f.nodes) > 3*c.Trees {
		t.Errorf("%d trees with at least half of the rows in a leaf have %d nodes, want at most 3 each", c.Trees, len(f.nodes))
	}
}

func TestTrainMistakes(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	with := func(change func(*Config)) Config {
		c := small()
		change(&c)
		return c
	}
	for _, k := range []struct {
		name    string
		rows    []float32
		targets []float64
		config  Config
		want    string
	}{
		{"no trees", []float32{1}, []float64{1}, with(func(c *Config) { c.Trees = 0 }), "trees 0, want 1 to 1024"},
		{"too deep", []float32{1}, []float64{1}, with(func(c *Config) { c.Depth = 65 }), "depth 65, want 1 to 64"},
		{"empty leaves", []float32{1}, []float64{1}, with(func(c *Config) { c.MinLeaf = 0 }), "min leaf 0, want 1 to"},
		{"one bin", []float32{1}, []float64{1}, with(func(c *Config) { c.Bins = 1 }), "bins 1, want 2 to 256"},
		{"a value that is no number", []float32{1, 2, 3, nan}, []float64{1, 2}, small(), "row 1: feature 1 is NaN"},
		{"an infinite value", []float32{inf, 2}, []float64{1, 2}, small(), "row 0: feature 0 is +Inf"},
		{"a target that is no number", []float32{1, 2}, []float64{1, math.NaN()}, small(), "row 1: target NaN"},
		{"a target out of range", []float32{1, 2}, []float64{1, 1e31}, small(), "row 1: target 1e+31"},
	} {
		if _, err := Train(k.rows, k.targets, k.config); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: %v, want %q", k.name, err, k.want)
		}
	}
	f := train(t, []float32{1}, []float64{5}, small())
	if got := f.Predict([]float32{9}); got != 5 {
		t.Errorf("a forest of one row answers %v, want 5", got)
	}
	if got := f.Predict([]float32{nan}); got != 5 {
		t.Errorf("a forest of one row answers %v to NaN, want 5", got)
	}
}

func TestPredictDoesNotAllocate(t *testing.T) {
	rows, targets := friedman(rng.Stream(1, "rows"), 300)
	for _, median := range []bool{false, true} {
		c := small()
		c.Median = median
		f := train(t, rows, targets, c)
		if n := testing.AllocsPerRun(100, func() { f.Predict(rows[:8]) }); n > 0 {
			t.Errorf("median %v: %v allocations", median, n)
		}
	}
}

// BenchmarkTrain trains on 100,000 rows of 8 features. It should take a few seconds per core. core-s is wall time times workers,
// which is meaningful only on an idle machine.
func BenchmarkTrain(b *testing.B) {
	rows, targets := friedman(rng.Stream(1, "rows"), 100_000)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			c := Default()
			c.Workers = workers
			for b.Loop() {
				if _, err := Train(rows, targets, c); err != nil {
					b.Fatal(err)
				}
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(seconds*float64(workers), "core-s/op")
			b.ReportMetric(float64(c.Trees*len(targets))/seconds/float64(workers)/1e6, "Mrow-trees/core-s")
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	rows, targets := friedman(rng.Stream(1, "rows"), 20_000)
	f := must.Get(Train(rows, targets, Default()))(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k := i % len(targets) * 8
		f.Predict(rows[k : k+8])
	}
}
