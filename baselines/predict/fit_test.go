package predict

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// TestFit checks that each fitted predictor has learned what Teach teaches, also after Reset, while others go on learning.
func TestFit(t *testing.T) {
	jobs := recurrent(t, 2500)
	taught := NewForest(DefaultForest())
	must.Do(t, Teach(t.Context(), jobs, taught, 3, nil))
	want := saved(t, taught)
	var told []int
	fresh := must.Get(Fit(t.Context(), jobs, 3, func(n, of int) { told = append(told, n, of) }))(t)
	if !slices.Equal(told, []int{1000, 2500, 2000, 2500, 2500, 2500}) {
		t.Errorf("done is called with %v", told)
	}
	var group sync.WaitGroup
	for seed := range uint64(4) {
		group.Go(func() {
			p := fresh()
			if !bytes.Equal(saved(t, p), want) {
				t.Error("a fitted predictor does not have what Teach teaches")
			}
			for i := range jobs[:200] {
				p.Observe(&jobs[i].JobSpec, 7)
			}
			if bytes.Equal(saved(t, p), want) {
				t.Error("a fitted predictor learns nothing")
			}
			if p.Reset(seed); !bytes.Equal(saved(t, p), want) {
				t.Error("Reset does not restore what was fitted")
			}
		})
	}
	group.Wait()
}

func TestFitMistakes(t *testing.T) {
	jobs := recurrent(t, 120)
	if _, err := Fit(t.Context(), jobs[:99], 1, nil); err == nil || err.Error() != "fit a random forest on 99 jobs: want at least 100" {
		t.Errorf("99 jobs: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fit(ctx, jobs, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func TestFitTakesTheLatestJobs(t *testing.T) {
	var jobs []trace.Job
	for i, second := range []int{5, 1, 4, 1, 3} {
		jobs = append(jobs, trace.Job{JobSpec: cluster.JobSpec{Name: string(rune('a' + i)), Submit: time.Duration(second) * time.Second}})
	}
	for most, want := range map[int]string{1: "a", 3: "eca", 4: "deca", 5: "abcde", 9: "abcde"} {
		var got strings.Builder
		for _, j := range latest(jobs, most) {
			got.WriteString(j.Name)
		}
		if got.String() != want {
			t.Errorf("of at most %d: %s, want %s", most, got.String(), want)
		}
	}
}
