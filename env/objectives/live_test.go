package objectives_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestLiveAgreesWithAMeter checks that what follows an episode by snapshots after each decision, with other ids each time, adds up to
// what a meter does that follows the episode itself, as far as snapshots tell.
func TestLiveAgreesWithAMeter(t *testing.T) {
	costly := 0
	simtest.Many(t, 100, func(t *rapid.T) {
		e := drawEpisode(t)
		e.Config.Warm = 0
		for i := range e.Jobs {
			if j := &e.Jobs[i]; j.Deadline != 0 {
				j.Deadline = max(j.Deadline, j.Submit) + time.Second
			}
			e.Jobs[i].Name = "j" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		}
		for i := range e.Config.Cluster.Servers {
			e.Config.Cluster.Servers[i].Name = fmt.Sprint(i)
		}
		o := drawObjective(t)
		o.Terms = slices.DeleteFunc(o.Terms, func(x objectives.Term) bool {
			return x.Cost == objectives.LostGPUTime || x.Cost == objectives.Makespan // a snapshot tells neither pauses nor what comes
		})
		for i := range o.Terms {
			x := &o.Terms[i]
			x.PerRunTime, x.Jobs.RunTime, x.Deadline.RunTimes, x.Prices = false, nil, 0, nil // it has no run times, and no hours
			if x.Price.Per == 0 && x.Cost != objectives.Stop {
				x.Price.Per = time.Hour
			}
		}
		s := simtest.Begin(t, e)
		v := &s.State().View
		m, l := e.Meter(o, nil), objectives.NewLive(o)
		look := func() {
			var text bytes.Buffer
			must.Do(t, v.WriteSnapshot(&text))
			l.Look(&must.Get(cluster.ReadSnapshot(&text))(t).View, nil)
		}
		s.Watch(func(from, to time.Duration) {
			look()
			m.Pass(v, from, to)
		})
		must.Do(t, s.Run(context.Background(), &starter{draw: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}, 1))
		look()
		m.Catch(v)
		for i, want := range m.Terms() {
			if got := l.Terms()[i]; math.Abs(got-want) > 1e-6*max(want, 1) {
				t.Fatalf("%s: %v, want %v; %+v", o.TermName(i), got, want, o.Terms)
			}
			if want > 0 {
				costly++
			}
		}
	})
	if costly < 100 {
		t.Errorf("only %d terms cost anything", costly)
	}
}

// TestLive follows a job through states of a cluster that tell little, as those of Kubernetes do.
func TestLive(t *testing.T) {
	text := `name: l
terms: [{cost: stop, price: 1}, {cost: move, price: 1}, {cost: resize, price: 1}, {cost: wait, price: 1/min}, {cost: wait, over: 1h, price: 1/min},
  {cost: completion, price: 1/min}]`
	o := must.Get(objectives.Read(strings.NewReader(text)))(t)
	if got := []string{o.TermName(3), o.TermName(4), o.TermName(5)}; !slices.Equal(got, []string{"wait", "wait 2", "completion"}) {
		t.Errorf("names %q", got)
	}
	l := objectives.NewLive(o)
	one := cluster.Amount{GPUMilli: cluster.WholeGPU}
	at := func(now time.Duration, names []string, away bool, on ...cluster.Piece) {
		spec := cluster.Uniform(2, 4)
		for i := range spec.Servers {
			spec.Servers[i].Name = names[i]
		}
		s := must.Get(cluster.NewState(spec, 1))(t)
		if names[2] != "" {
			s.Submit(0, &cluster.JobSpec{Name: names[2], Workers: 2, MaxWorkers: 4, Request: one, Estimate: time.Hour})
			if on != nil {
				must.Do(t, s.Restore(0, on, []int32{0, 1, 2}[:on[0].Workers]))
			}
		}
		s.Advance(now)
		l.Look(&s.View, func(string) bool { return away })
	}
	ab, ba := []string{"a", "b", "j"}, []string{"b", "a", "j"}
	on := func(server cluster.ServerID, n int32) cluster.Piece {
		return cluster.Piece{Server: server, Workers: n, Amount: one}
	}
	for _, c := range []struct {
		what  string
		now   time.Duration
		names []string
		away  bool
		on    []cluster.Piece
		want  []float64
	}{
		{"it waits", time.Minute, ab, false, nil, []float64{0, 0, 0, 0, 0, 0}},
		{"it started", 2 * time.Minute, ab, false, []cluster.Piece{on(0, 2)}, []float64{0, 0, 0, 1, 0, 1}},
		{"the server has another id", 3 * time.Minute, ba, false, []cluster.Piece{on(1, 2)}, []float64{0, 0, 0, 1, 0, 2}},
		{"it moved", 4 * time.Minute, ba, false, []cluster.Piece{on(0, 2)}, []float64{0, 1, 0, 1, 0, 3}},
		{"it grew", 5 * time.Minute, ba, false, []cluster.Piece{on(0, 3)}, []float64{0, 1, 1, 1, 0, 4}},
		{"an older state", 4 * time.Minute, ba, false, nil, []float64{0, 1, 1, 1, 0, 4}},
		{"it was stopped", 6 * time.Minute, ba, false, nil, []float64{1, 1, 1, 1, 0, 5}},
		{"its pods are away", 7 * time.Minute, []string{"a", "b", ""}, true, nil, []float64{1, 1, 1, 2, 0, 6}},
		{"its pods are still away", 8 * time.Minute, []string{"a", "b", ""}, true, nil, []float64{1, 1, 1, 2, 0, 6}},
		{"it runs again", 9 * time.Minute, ab, false, []cluster.Piece{on(0, 2)}, []float64{1, 1, 1, 2, 0, 6}},
		{"it is away again", 10 * time.Minute, []string{"a", "b", ""}, true, nil, []float64{1, 1, 1, 2, 0, 7}},
		{"it runs once more", 11 * time.Minute, ab, false, []cluster.Piece{on(0, 2)}, []float64{2, 1, 1, 2, 0, 7}},
		{"it has ended", 12 * time.Minute, []string{"a", "b", ""}, false, nil, []float64{2, 1, 1, 2, 0, 8}},
		{"nothing", 19 * time.Minute, []string{"a", "b", ""}, false, nil, []float64{2, 1, 1, 2, 0, 8}},
	} {
		at(c.now, c.names, c.away, c.on...)
		for i, want := range c.want {
			if got := l.Terms()[i]; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %s has cost %v, want %v", c.what, o.TermName(i), got, want)
			}
		}
		rate := l.AppendPerHour(nil)
		want := []float64{0, 0, 0, 0, 0, 0}
		if c.names[2] != "" {
			want[5] = 60
			if c.on == nil && c.what != "an older state" {
				want[3] = 60
			}
		}
		if !slices.Equal(rate, want) {
			t.Errorf("%s: an hour costs %v, want %v", c.what, rate, want)
		}
	}
}
