package headroom

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/policy"
)

// suite returns a suite of windows with random jobs on 8 GPUs.
func suite(windows int) eval.Suite {
	s := eval.Suite{Scenario: "small", Split: "test", Seeds: []uint64{1}}
	for w := range windows {
		s.Windows = append(s.Windows, eval.Window{Name: fmt.Sprint("w", w), Episode: func(uint64) (sim.Episode, error) {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(2, 4)}}
			for i := range 40 {
				work := time.Duration(1+r.ExpFloat64()*600) * time.Second
				e.Jobs = append(e.Jobs, trace.Job{
					JobSpec: cluster.JobSpec{
						Name: fmt.Sprint(i), Submit: time.Duration(r.IntN(2400)) * time.Second, Workers: 1 + int32(r.IntN(4)),
						Estimate: work, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
					},
					Work: work,
				})
			}
			return e, nil
		}})
	}
	return s
}

func rivals(group Group, names ...string) []Rival {
	var all []Rival
	for _, p := range named(names...) {
		all = append(all, Rival{p, group})
	}
	return all
}

// TestMeasure checks the order of the rows' values, also window by window: each group has its best rival, the search is no worse
// than any rival, and the bound is below the search.
func TestMeasure(t *testing.T) {
	broken := Rival{policy.Policy{Name: "broken", New: func() (cluster.Scheduler, error) { return nil, errors.New("out of order") }}, Fixed}
	p := Plan{Suite: suite(5), Effort: 30, Wider: 10, Rivals: slices.Concat(
		rivals(Fixed, "fjf", "sjfskip"), []Rival{broken}, rivals(Menu, "srtf"), rivals(LookAhead, "sjfhold"))}
	last := 0
	p.Progress = func(done, of int) {
		if done < last || of != 5*(5+45) {
			t.Errorf("%d after %d of %d", done, last, of)
		}
		last = done
	}
	r, err := Measure(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if last != 5*(5+45) {
		t.Errorf("ended at %d", last)
	}
	var groups []Group
	for _, row := range r.Rows {
		groups = append(groups, row.Group)
	}
	if !slices.Equal(groups, []Group{Fixed, Menu, LookAhead, hindsight, clairvoyant, wide, bound}) || r.Rows[0].Policy != "sjfskip" {
		t.Errorf("rows %+v", r.Rows)
	}
	least := min(r.Rows[0].MeanJCT, r.Rows[1].MeanJCT, r.Rows[2].MeanJCT)
	if r.Rows[3].MeanJCT > least || r.Rows[4].MeanJCT > r.Rows[3].MeanJCT || r.Rows[5].MeanJCT > r.Rows[3].MeanJCT ||
		r.Rows[6].MeanJCT > min(r.Rows[4].MeanJCT, r.Rows[5].MeanJCT) || r.Rows[6].Makespan > min(r.Rows[4].Makespan, r.Rows[3].Makespan) {
		t.Errorf("rows %+v", r.Rows)
	}
	if r.Ceiling.Mean < r.Searched.Mean || r.Searched.Mean < 0 || len(r.Cases) != 5 || r.WaitUnder != "sjfskip" || r.WaitShare <= 0 {
		t.Errorf("report %+v", r)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "broken (") || !strings.Contains(r.Notes[0], "out of order") {
		t.Errorf("notes %q", r.Notes)
	}
	p.Workers, p.Progress = 1, nil
	if again, err := Measure(t.Context(), p); err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("with one worker %+v, else %+v (%v)", again, r, err)
	}
	var b strings.Builder
	if err := errors.Join(r.WriteText(&b), WriteMap(&b, []*Report{r})); err != nil || !strings.Contains(b.String(), r.Verdict) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestMeasureWithoutARivalThatWorks(t *testing.T) {
	bad := Rival{policy.Policy{Name: "none", New: func() (cluster.Scheduler, error) { return all.New("no such") }}, Fixed}
	if _, err := Measure(t.Context(), Plan{Suite: suite(1), Rivals: []Rival{bad}}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("error %v", err)
	}
}

func TestVerdicts(t *testing.T) {
	d := func(mean, lo float64) eval.Difference {
		return eval.Difference{Mean: eval.Number(mean), Lo: eval.Number(lo)}
	}
	for _, c := range []struct {
		name           string
		ceiling, found eval.Difference
		want           Pays
	}{
		{"nobody can gain a percent", d(0.9, 0), d(0.5, 0.4), cannot},
		{"the search finds next to nothing", d(20, 10), d(0.9, 0.8), unlikely},
		{"the search finds a little", d(20, 10), d(2, 1), littlePays},
		{"the search finds much", d(20, 10), d(4, 1), can},
		{"much that may be chance", d(20, 10), d(4, -1), littlePays},
		{"much in one window", d(20, 10), d(4, math.Inf(-1)), littlePays},
	} {
		if got := pays(c.ceiling, c.found); got != c.want || !strings.Contains(got.words(), "Learning") {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
