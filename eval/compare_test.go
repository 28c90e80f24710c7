package eval

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// made are results of three windows and two seeds: the mean JCT of "new" is 10, 20 and 30 % below that of "old".
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
	c, err := Compare(made(), "old")
	if err != nil {
		t.Fatal(err)
	}
	m := c.Policies[1].Metrics[0]
	// Student's t with 2 degrees of freedom: 4.3027 standard errors to each side.
	half := 4.302652729911275 * 10 / math.Sqrt(3)
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"mean", float64(m.Mean), (1350 + 2400 + 3150) / 3.}, {"difference", float64(m.Diff.Mean), -(150 + 600 + 1350) / 3.},
		{"relative", float64(m.Relative.Mean), -20}, {"low", float64(m.Relative.Lo), -20 - half},
		{"high", float64(m.Relative.Hi), -20 + half}, {"wins", float64(m.Wins), 3}, {"ties", float64(m.Ties), 0},
	} {
		if math.Abs(x.got-x.want) > 1e-9*max(1, math.Abs(x.want)) {
			t.Errorf("%s %v, want %v", x.name, x.got, x.want)
		}
	}
	if m.Relative.Separable() {
		t.Error("an interval that holds 0 is called separable")
	}
	queueing, utilisation, preemptions := c.Policies[1].Metrics[4], c.Policies[1].Metrics[7], c.Policies[1].Metrics[8]
	if !queueing.Relative.Separable() || utilisation.Wins != 3 || preemptions.Wins != 0 || preemptions.Relative != nil {
		t.Errorf("queueing %+v, utilisation %+v, preemptions %+v", queueing, utilisation, preemptions)
	}
	if base := c.Policies[0].Metrics[0]; base.Diff != nil || base.Ties != 3 {
		t.Errorf("the baseline against itself is %+v", base)
	}
}

func TestQuantitiesAreThoseOfTheJSON(t *testing.T) {
	b, err := json.Marshal(Metrics{Utilisation: .25, MeanJCT: 4})
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]float64
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, q := range Quantities() {
		v, ok := m[q.Key]
		if got := q.get(&Metrics{Utilisation: .25, MeanJCT: 4}); !ok || got != v {
			t.Errorf("quantity %s is %v, in JSON %v (there: %v)", q.Key, got, v, ok)
		}
	}
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
			c, err := Compare(results, "old")
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := c.WriteTable(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", b.Bytes())
			b.Reset()
			if err := WriteJSON(&b, c, results[:1]); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", b.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
