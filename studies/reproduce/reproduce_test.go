package reproduce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/sim"
)

// small returns functions that make both experiments at a fiftieth of their size.
func small(t *testing.T) map[string]func() *Experiment {
	t.Helper()
	made := func(e *Experiment, err error) *Experiment {
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	return map[string]func() *Experiment{
		"aryl":   func() *Experiment { return made(Lyra(LyraOptions{.02, Predictors()[0]})) },
		"a-srpt": func() *Experiment { return made(ASRPT(ASRPTOptions{.05})) },
	}
}

// TestReportsAreCompleteAndDeterministic checks that every row has figures, that every claim has a verdict, and that the bytes
// do not depend on the number of workers.
func TestReportsAreCompleteAndDeterministic(t *testing.T) {
	for name, create := range small(t) {
		t.Run(name, func(t *testing.T) {
			var written []string
			for _, workers := range []int{1, 3} {
				e := create()
				last := 0
				r, err := e.Run(t.Context(), []uint64{1, 2}, workers, func(n int, _ *Row) { last = n })
				if err != nil {
					t.Fatal(err)
				}
				if last != 2*len(e.Rows) || r.Failed() != 0 || len(r.Rows) != len(e.Rows) || len(r.Claims) != len(e.Claims) {
					t.Errorf("%d of %d episodes, %d rows failed: %v", last, 2*len(e.Rows), r.Failed(), r.notes())
				}
				for _, row := range r.Rows {
					for _, m := range []Metric{queueMean, queueP95, jctMean, jctP95, trainingUse, completionSum} {
						if x := row.Mean[m]; math.IsNaN(x) || x < 0 {
							t.Errorf("%s: %v is %v", row.Key, m, x)
						}
					}
					if row.Mean[unfinished] != 0 || row.Mean[trainingUse] > 1 || row.Mean[overallUse] > 1 {
						t.Errorf("%s: %v", row.Key, row.Mean)
					}
				}
				for _, c := range r.Claims {
					if c.Outcome == untried {
						t.Errorf("claim %q is about rows that are not there", c.Text)
					}
				}
				var b bytes.Buffer
				enc := json.NewEncoder(&b)
				if err := errors.Join(r.WriteText(&b), r.WriteMarkdown(&b), enc.Encode(r)); err != nil {
					t.Fatal(err)
				}
				written = append(written, b.String())
			}
			if written[0] != written[1] {
				t.Error("other workers, other bytes")
			}
			if strings.Contains(written[0], "NaN") {
				t.Error("NaN is written")
			}
		})
	}
}

func TestRowKeysAreUnique(t *testing.T) {
	for name, create := range small(t) {
		var keys []string
		for _, r := range create().Rows {
			if slices.Contains(keys, r.Key) {
				t.Errorf("%s: two rows have the key %s", name, r.Key)
			}
			keys = append(keys, r.Key)
		}
	}
}

func TestSelect(t *testing.T) {
	e := small(t)["a-srpt"]()
	if err := e.Select([]string{"tau/*", "load-0.7/spjf"}); err != nil || len(e.Rows) != 6 || e.Rows[0].Key != "load-0.7/spjf" {
		t.Errorf("%d rows, error %v", len(e.Rows), err)
	}
	err := small(t)["aryl"]().Select([]string{"basik"})
	if err == nil || !strings.Contains(err.Error(), `did you mean "basic"?`) {
		t.Errorf("error %v", err)
	}
}

// TestARowThatFails checks that a row that fails contains the error, and that the others have figures.
func TestARowThatFails(t *testing.T) {
	e := small(t)["aryl"]()
	if err := e.Select([]string{"fifo", "basic", "scaling"}); err != nil {
		t.Fatal(err)
	}
	e.Rows[0].Policy = "fifa"
	e.Rows[1].episode = func(uint64) (sim.Episode, error) { return sim.Episode{}, errors.New("no cluster") }
	r, err := e.Run(t.Context(), []uint64{1}, 2, nil)
	if err != nil || r.Failed() != 2 || r.Rows[2].Error != "" || !strings.Contains(r.Rows[0].Error, "fifa") || r.Rows[1].Error != "no cluster" {
		t.Fatalf("%d failed, error %v", r.Failed(), err)
	}
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "Lyra, Basic ("+lyraBoth+") has no figures: no cluster.") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestAnInterruptKeepsWhatWasFinished(t *testing.T) {
	e := small(t)["aryl"]()
	if err := e.Select([]string{"fifo", "basic", "scaling"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := e.Run(ctx, []uint64{1}, 1, func(int, *Row) { cancel() })
	if !errors.Is(err, context.Canceled) || r.Rows[0].Error != "" || r.Rows[1].Error != notRun {
		t.Errorf("error %v, first row %q, second %q", err, r.Rows[0].Error, r.Rows[1].Error)
	}
}

func TestScaleHasBounds(t *testing.T) {
	for _, s := range []Scale{0, -1, .001, 5, Scale(math.NaN())} {
		if _, err := Lyra(LyraOptions{s, Predictors()[0]}); err == nil {
			t.Errorf("Lyra at scale %v", s)
		}
		if _, err := ASRPT(ASRPTOptions{s}); err == nil {
			t.Errorf("A-SRPT at scale %v", s)
		}
	}
}
