package eval

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/internal/must"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// made returns results for three windows and two seeds, in which the mean JCT of "new" is 10, 20 and 30 % below that of "old".
func made() []Result {
	var results []Result
	for w, window := range []string{"test-0", "test-1", "test-2"} {
		for seed := uint64(1); seed <= 2; seed++ {
			old := Metrics{
				Jobs: 10, Finished: 10, MeanJCT: 1000 * float64(w+1) * float64(seed), P50JCT: 12.345, P95JCT: 2e6, P99JCT: 3e6,
				MeanQueueing: 50, MeanSlowdown: 2.5, Makespan: 86400, Utilisation: .5,
			}
			better := old
			better.MeanJCT *= 1 - .1*float64(w+1)
			better.MeanQueueing, better.Utilisation, better.Preemptions = 0, .75, 3
			if w == 2 && seed == 2 {
				better.Truncated = "horizon 1h"
			}
			results = append(results, Result{Case: Case{"made-v1", "test", window, "old", seed}, Metrics: old},
				Result{Case: Case{"made-v1", "test", window, "new", seed}, Metrics: better})
		}
	}
	return results
}

func TestComparePairsWindows(t *testing.T) {
	c := must.Get(Compare(made(), "old"))(t)
	m := c.Policies[1].Metrics[0]
	// Student's t with 2 degrees of freedom: the interval extends 4.3027 standard errors to each side.
	half := 4.302652729911275 * 10 / math.Sqrt(3)
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"mean", float64(m.Mean), (1350 + 2400 + 3150) / 3.}, {"difference", float64(m.Diff.Mean), -(150 + 600 + 1350) / 3.},
		{"relative", float64(m.Relative.Mean), -20}, {"low", float64(m.Relative.Lo), -20 - half},
		{"high", float64(m.Relative.Hi), -20 + half}, {"wins", float64(m.Wins), 3},
		{"inter-quartile mean", float64(m.Middle.Mean), -20}, {"its low end: seeds agree", float64(m.Middle.Lo), -20}, {"ties", float64(m.Ties), 0},
	} {
		if math.Abs(x.got-x.want) > 1e-9*max(1, math.Abs(x.want)) {
			t.Errorf("%s %v, want %v", x.name, x.got, x.want)
		}
	}
	if m.Relative.Separable() {
		t.Error("an interval that holds 0 is called separable")
	}
	of := func(key string) Metric { return c.Policies[1].Metrics[slices.Index(quantityKeys(), key)] }
	queueing, utilisation, preemptions := of("mean_queueing_s"), of("gpu_utilisation"), of("preemptions")
	if !queueing.Relative.Separable() || utilisation.Wins != 3 || preemptions.Wins != 0 || preemptions.Relative != nil {
		t.Errorf("queueing %+v, utilisation %+v, preemptions %+v", queueing, utilisation, preemptions)
	}
	if base := c.Policies[0].Metrics[0]; base.Diff != nil || base.Ties != 3 {
		t.Errorf("the baseline against itself is %+v", base)
	}
}

// TestCompareAgainstPlainLoops checks that every figure of a comparison equals the result of plain loops over the results.
func TestCompareAgainstPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		windows, seeds := rapid.IntRange(1, 6).Draw(t, "windows"), rapid.IntRange(1, 4).Draw(t, "seeds")
		var results []Result
		jct := map[string][][]float64{}
		for w := range windows {
			for _, policy := range []string{"base", "a", "b"} {
				jct[policy] = append(jct[policy], nil)
				for seed := range seeds {
					x := float64(rapid.IntRange(1, 50).Draw(t, "mean JCT"))
					jct[policy][w] = append(jct[policy][w], x)
					results = append(results, Result{
						Case: Case{"s-v1", "test", fmt.Sprint(w), policy, uint64(seed)}, Metrics: Metrics{MeanJCT: x, Preemptions: 1},
					})
				}
			}
		}
		// The order of the results must not affect the figures.
		shuffled := rapid.Permutation(results).Draw(t, "results")
		c := must.Get(Compare(shuffled, "base"))(t)
		for i := range c.Policies {
			name, m := c.Policies[i].Policy, c.Policies[i].Metrics[0]
			mean, diff, relative, wins, ties := 0.0, 0.0, 0.0, 0, 0
			var all []float64
			for w := range windows {
				own, base := 0.0, 0.0
				for s := range seeds {
					own, base = own+jct[name][w][s]/float64(seeds), base+jct["base"][w][s]/float64(seeds)
					all = append(all, 100*(jct[name][w][s]/jct["base"][w][s]-1))
				}
				mean, diff = mean+own/float64(windows), diff+(own-base)/float64(windows)
				relative += 100 * (own/base - 1) / float64(windows)
				switch {
				case math.Abs(own-base) < 1e-9:
					ties++
				case own < base:
					wins++
				}
			}
			near := func(what string, got Number, want float64) {
				if math.Abs(float64(got)-want) > 1e-6 {
					t.Fatalf("%s of %s: %v, want %v", what, name, got, want)
				}
			}
			near("mean", m.Mean, mean)
			if name == "base" {
				continue
			}
			near("difference", m.Diff.Mean, diff)
			near("relative difference", m.Relative.Mean, relative)
			slices.Sort(all)
			middle, cut := 0.0, len(all)/4
			for _, x := range all[cut : len(all)-cut] {
				middle += x / float64(len(all)-2*cut)
			}
			near("inter-quartile mean", m.Middle.Mean, middle)
			if m.Wins+m.Ties < wins || m.Wins > wins+ties {
				t.Fatalf("%s wins %d and ties %d, want %d and %d", name, m.Wins, m.Ties, wins, ties)
			}
			const slack = 1e-9 // for rounding
			if m.Relative.Lo > m.Relative.Mean+slack || m.Relative.Mean > m.Relative.Hi+slack {
				t.Fatalf("the interval of %s, %+v, does not hold its mean", name, *m.Relative)
			}
		}
	})
}

func TestIncompleteResultsAreRefused(t *testing.T) {
	other := made()
	other[3].Scenario = "other-v1"
	cases := []struct {
		name     string
		results  []Result
		baseline string
		want     string
	}{
		{"none", nil, "old", "no results"},
		{"a missing case", made()[1:], "old", "no result for test-0 under old, seed 1"},
		{"a case twice", append(made(), made()[0]), "old", "two results for made-v1 test-0 under old, seed 1"},
		{"a baseline that did not run", made(), "fifo", `baseline "fifo" is not among`},
		{"two scenarios", other, "old", "do not compare"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Compare(c.results, c.baseline); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	for name, results := range map[string][]Result{"three-windows": made(), "one-window": made()[:4]} {
		t.Run(name, func(t *testing.T) {
			c := must.Get(Compare(results, "old"))(t)
			var b bytes.Buffer
			must.Do(t, c.WriteTable(&b, Screen{}))
			golden(t, name+".txt", b.Bytes())
			b.Reset()
			must.Do(t, WriteJSON(&b, []Comparison{c}, results[:1]))
			golden(t, name+".json", b.Bytes())
		})
	}
}

// TestTableFitsTheScreen checks that no line of a table is wider than the screen, that colours change nothing else, and that a
// better policy is green and a worse one red.
func TestTableFitsTheScreen(t *testing.T) {
	c := must.Get(Compare(made(), "old"))(t)
	d := &c.Policies[1].Metrics[0]
	d.Relative = &Difference{-5, -7, -3}
	for _, width := range []int{0, 80, 100} {
		var plain, coloured bytes.Buffer
		must.Do(t, errors.Join(c.WriteTable(&plain, Screen{width, false}), c.WriteTable(&coloured, Screen{width, true})))
		for line := range strings.Lines(plain.String()) {
			if n := utf8.RuneCountInString(line) - 1; width > 0 && n > width && !strings.HasPrefix(line, "†") { // a sentence
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
		if !strings.Contains(coloured.String(), "\x1b[32m-5.0 [-7.0, -3.0] *\x1b[0m") {
			t.Errorf("an improvement is not green: %q", coloured.String())
		}
		if regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(coloured.String(), "") != plain.String() {
			t.Errorf("colours change the text: %q", coloured.String())
		}
	}
	d.Relative = &Difference{5, 3, 7}
	var b bytes.Buffer
	must.Do(t, c.WriteTable(&b, Screen{0, true}))
	if !strings.Contains(b.String(), "\x1b[31m+5.0 [+3.0, +7.0] *\x1b[0m") {
		t.Errorf("a loss is not red: %q", b.String())
	}
}

// TestVerdict checks the sentences for a policy that is lower, one that is higher, one that ties, and for the baseline alone.
func TestVerdict(t *testing.T) {
	c := must.Get(Compare(made(), "old"))(t)
	c.Policies[1].Metrics[0].Relative = &Difference{-20, -30, -10}
	if got, want := strings.Join(c.Verdict(), " "), "Mean JCT of new: -20.0 % [-30.0, -10.0] against old, lower. "+
		"By its 95 % interval it is lower for new. "+
		"The 99th percentile of JCT under new is +0.0 % [+0.0, +0.0] against old, a tie."; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for name, d := range map[string]*Difference{"worse": {5, 1, 9}, "same": {1, -2, 4}} {
		p := c.Policies[1]
		p.Policy, p.Metrics = name, slices.Clone(p.Metrics)
		p.Metrics[0].Relative, p.Metrics[0].Mean = d, p.Metrics[0].Mean+d.Mean
		c.Policies = append(c.Policies, p)
	}
	if got := c.Verdict(); !strings.HasPrefix(got[0], "Of 3 policies besides old, new has the lowest mean JCT: -20.0 %") ||
		got[1] != "By its 95 % interval it is lower for new; higher for worse; not told apart for same." {
		t.Errorf("%q", got)
	}
	c.Policies = c.Policies[:1]
	if got := c.Verdict(); got != nil {
		t.Errorf("the baseline alone: %q", got)
	}
}

// TestIntervalsStayPossible checks that no interval of a relative difference goes below -100 %, whatever the values.
func TestIntervalsStayPossible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(1e-3, 1e6)
		n := rapid.IntRange(2, 12).Draw(t, "windows")
		own, base := rapid.SliceOfN(value, n, n).Draw(t, "own"), rapid.SliceOfN(value, n, n).Draw(t, "base")
		d := compare(Quantities()[0], own, base, false).Relative
		if d.Lo < -100 || d.Mean < d.Lo || d.Hi < d.Mean {
			t.Fatalf("%v [%v, %v]", d.Mean, d.Lo, d.Hi)
		}
	})
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.Do(t, os.MkdirAll("testdata", 0o777))
		must.Do(t, os.WriteFile(path, got, 0o666))
	}
	want := must.Get(os.ReadFile(path))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update rewrites it); got\n%s", path, got)
	}
}

func TestNumbersAreGroupedInThrees(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567.2: "1,234,567", -1000: "-1,000",
		-100: "-100", 99.4: "99.40", 100.4: "100"} {
		if got := (Quantity{Unit: "s"}).show(x); got != want {
			t.Errorf("show(%v) = %q, want %q", x, got, want)
		}
	}
}

// TestCostsCompareBySums checks that the difference between costs is that of sums over windows, so that windows in which nothing
// costs anything do not decide it, and that there is none from a baseline that costs nothing.
func TestCostsCompareBySums(t *testing.T) {
	cost := Quantity{Key: CostKey("test"), cost: 1}
	m := compare(cost, []float64{0, 50, 0, 150}, []float64{0, 100, 0, 300}, false)
	if d := m.Relative; d == nil || d.Mean != -50 || d.Lo != -50 || d.Hi != -50 || m.Wins != 2 || m.Ties != 2 {
		t.Errorf("half of the cost: %+v, %+v", m, d)
	}
	m = compare(cost, []float64{10, 0, 400}, []float64{100, 0, 100}, false)
	if d := m.Relative; d == nil || d.Mean != 105 || !(d.Lo < 0 && d.Hi > 105) {
		t.Errorf("one window decides: %+v", d)
	}
	if d := compare(cost, []float64{1, 2}, []float64{0, 0}, false).Relative; d != nil {
		t.Errorf("from nothing: %+v, want no difference", d)
	}
}
