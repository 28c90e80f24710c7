package tbevent_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/tbevent"
	"github.com/clustergym/clustergym/internal/tbevent/tbeventtest"
)

// spreadOf returns the histogram of finite numbers under TensorFlow's rule: the bucket of a number is the first whose limit is
// above the number. It leaves out empty buckets at both ends, and merges adjacent empty buckets into one, with the limit of the
// last.
func spreadOf(tb testing.TB, values []float64) *tbeventtest.Histogram {
	tb.Helper()
	h := &tbeventtest.Histogram{Min: slices.Min(values), Max: slices.Max(values), Num: float64(len(values))}
	for _, x := range values {
		h.Sum += tbeventtest.Number(x)
		h.Squares += tbeventtest.Number(x * x)
	}
	all := []float64{0, math.MaxFloat64, -math.MaxFloat64}
	for x := 1e-12; x < 1e20; x *= 1.1 {
		all = append(all, x, -x)
	}
	slices.Sort(all)
	below := math.Inf(-1)
	for i, limit := range all {
		n := 0.0
		for _, x := range values {
			if below <= x && (x < limit || i == len(all)-1) {
				n++
			}
		}
		below = limit
		h.Limits, h.Buckets = append(h.Limits, limit), append(h.Buckets, n)
	}
	drop := func(i int) { h.Limits, h.Buckets = slices.Delete(h.Limits, i, i+1), slices.Delete(h.Buckets, i, i+1) }
	for h.Buckets[0] == 0 {
		drop(0)
	}
	for last := len(h.Buckets) - 1; h.Buckets[last] == 0; last-- {
		drop(last)
	}
	for i := len(h.Buckets) - 2; i > 0; i-- {
		if h.Buckets[i] == 0 && h.Buckets[i+1] == 0 {
			drop(i) // the next bucket covers its range
		}
	}
	return h
}

// TestHistogramsAreCounts checks that a histogram that is read back equals the plain count, and that its fields agree with each
// other.
func TestHistogramsAreCounts(t *testing.T) {
	number := rapid.OneOf(
		rapid.Float64Range(-3, 3), rapid.Float64Range(-1e-11, 1e-11), rapid.Float64(),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-12, -1e-12, 1e-12 * 1.1, 5e-324, 1e20, math.MaxFloat64, -math.MaxFloat64,
			math.NaN(), math.Inf(1), math.Inf(-1)}),
	)
	var drawn [][]float64
	var b bytes.Buffer
	w := must.Get(tbevent.New(&b, then))(t)
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(number, 1, 30).Draw(t, "values")
		w.Histogram("h", slices.Values(values))
		must.Do(t, w.Append(int64(len(drawn)), then))
		finite := slices.DeleteFunc(slices.Clone(values), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
		drawn = append(drawn, finite)
	})
	// One process of the reader reads all histograms.
	path := filepath.Join(t.TempDir(), "events")
	must.Do(t, os.WriteFile(path, b.Bytes(), 0o666))
	events := must.Get(tbeventtest.Read(t, path))(t)
	read := map[int64]*tbeventtest.Histogram{}
	for _, e := range events[1:] {
		read[e.Step] = e.Summary.Values[0].Histogram
	}
	empty := 0
	for i, values := range drawn {
		got := read[int64(i)]
		if len(values) == 0 {
			empty++
			if got != nil {
				t.Errorf("a histogram of no number: %+v", got)
			}
			continue
		}
		if diff := cmp.Diff(spreadOf(t, values), got); diff != "" {
			t.Fatalf("histogram of %v (-want +got):\n%s", values, diff)
		}
	}
	least := 50
	if testing.Short() {
		least /= 5 // rapid draws so many fewer
	}
	if len(drawn) < least || empty == len(drawn) {
		t.Errorf("%d histograms, %d of them empty: the comparison says little", len(drawn), empty)
	}
}
