package whatif

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// TestLearnedEstimates checks that a job without an estimate runs for the median of similar jobs that have ended, and that one which
// resembles none still needs an assumption.
func TestLearnedEstimates(t *testing.T) {
	learner := belief.New(belief.History, belief.Gittins)
	for range 400 {
		learner.Ended(&cluster.JobSpec{User: "ada", Workers: 1}, 300*time.Second)
	}
	s := snapshot(t, server("a", 1, ""), waits("c", 1, 0, `, "user": "ada"`), "")
	got := play(t, s, "fifo", Change{}, Options{Times: learner, Assume: time.Hour})
	if finish := got.Jobs[0].Finish; finish < 250*time.Second || finish > 350*time.Second {
		t.Errorf("it ends after %v, want about 300 s", finish)
	}
	if len(got.Assumed) != 1 || got.Assumed[0].Why != learned {
		t.Errorf("assumed: %+v", got.Assumed)
	}
	_, err := Play(t.Context(), &s.View, named("fifo"), Change{}, Options{Times: belief.New(belief.History, belief.Gittins)})
	if !errors.Is(err, ErrNoEstimate) {
		t.Errorf("with a learner that has seen no job end: error %v, want %v", err, ErrNoEstimate)
	}
}

// TestStartsOfStoppedJobs checks the forecast of a running job that the policy stops at once for a short one, and that only who asks
// for the job by its name gets it.
func TestStartsOfStoppedJobs(t *testing.T) {
	s := snapshot(t, server("a", 1, ""), runs("x", "a", 1, 9000, "")+","+waits("short", 1, 60, ""), "")
	for _, c := range []struct {
		waits func(string) bool
		want  string
	}{{nil, "short"}, {func(name string) bool { return name == "x" }, "x"}} {
		all, err := new(Forecaster).Starts(t.Context(), &s.View, named("srtf"), nil, c.waits)
		if err != nil || len(all) != 1 || s.Spec(all[0].Job).Name != c.want {
			t.Fatalf("%+v, error %v, want job %s", all, err, c.want)
		}
		if c.want == "x" && (all[0].Median < 5*time.Second || all[0].Median > time.Hour) {
			t.Errorf("it starts again after %v, want some time after the short job's 60 s", all[0].Median)
		}
	}
}

// TestStarts checks the forecasts of two jobs that wait for one after the other, from a history in which jobs of a user last for
// some 300 s, that they do not depend on who asks before, and that a job which can never start has none.
func TestStarts(t *testing.T) {
	user := `, "user": "ada"`
	s := snapshot(t, server("a", 1, ""), runs("x", "a", 1, 9000, user)+","+waits("first", 1, 9000, user)+","+
		waits("second", 1, 9000, user)+","+waits("never", 2, 60, ""), "")
	learner := belief.New(belief.History, belief.Gittins)
	for i := range 400 {
		learner.Ended(&cluster.JobSpec{User: "ada", Workers: 1}, 300*time.Second+time.Duration(i%7)*time.Second)
	}
	ask := func() []Start {
		all := must.Get(new(Forecaster).Starts(t.Context(), &s.View, named("fifo"), learner, nil))(t)
		return all
	}
	all := ask()
	if len(all) != 2 {
		t.Fatalf("%+v, want forecasts of two jobs", all)
	}
	// The job x has run for 100 s of 300, and then first runs for 300 s.
	for i, want := range []time.Duration{200 * time.Second, 500 * time.Second} {
		x := all[i]
		if x.Median < want/2 || x.Median > want*2 || x.P90 < x.Median || x.P90 > want*4 {
			t.Errorf("job %s is to start in %v, P90 %v; want about %v", s.Spec(x.Job).Name, x.Median, x.P90, want)
		}
	}
	if again := ask(); !reflect.DeepEqual(all, again) {
		t.Errorf("%+v, and then %+v", all, again)
	}
	gone, end := context.WithCancel(t.Context())
	end()
	if all, err := new(Forecaster).Starts(gone, &s.View, named("fifo"), learner, nil); err == nil {
		t.Errorf("after the context has ended: %+v, want an error", all)
	}
}

// TestForecastsFromSomeFutures checks that, when the context ends, the futures played so far answer if they are enough.
func TestForecastsFromSomeFutures(t *testing.T) {
	s := snapshot(t, server("a", 1, ""), runs("x", "a", 1, 900, "")+","+waits("first", 1, 900, ""), "")
	for _, last := range []int{LeastDraws - 1, LeastDraws, UsualDraws} {
		ctx, end := context.WithCancel(t.Context())
		played := 0
		f := Forecaster{Played: func(n, of int) {
			if played = n; n == last {
				end()
			}
			if n > of || of != UsualDraws {
				t.Errorf("%d futures of %d", n, of)
			}
		}}
		all, err := f.Starts(ctx, &s.View, named("fifo"), nil, nil)
		if played != last || (err == nil) != (last >= LeastDraws) || (len(all) == 1) != (last >= LeastDraws) {
			t.Errorf("ended after %d futures: %d are played, %+v, %v", last, played, all, err)
		}
		end()
	}
}

// impatient is a scheduler that ends a context when it has been asked some times.
type impatient struct {
	cluster.Scheduler
	left int
	end  func()
}

func (x *impatient) Schedule(tx *cluster.Txn) error {
	if x.left--; x.left <= 0 {
		x.end()
	}
	return x.Scheduler.Schedule(tx)
}

// TestForecastsEndWithTheContext checks that no decision is made after the context has ended.
func TestForecastsEndWithTheContext(t *testing.T) {
	s := snapshot(t, server("a", 1, ""), runs("x", "a", 1, 900, "")+","+waits("first", 1, 900, "")+","+waits("second", 1, 900, ""), "")
	ctx, end := context.WithCancel(t.Context())
	x := &impatient{left: 2, end: end}
	p := policy.Policy{Name: "impatient", New: func() (out cluster.Scheduler, err error) {
		x.Scheduler, err = baselines.New("fifo")
		return x, err
	}}
	if all, err := new(Forecaster).Starts(ctx, &s.View, p, nil, nil); err == nil || x.left != 0 {
		t.Errorf("%+v, %d decisions after the end, error %v", all, -x.left, err)
	}
}

// TestForecastsAreCorrected checks that as many jobs start before their 90th percentile as the correction aims at, when forecasts are
// wrong by a factor that changes all the time.
func TestForecastsAreCorrected(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	c := newCalibration()
	within, all := 0, 0
	for i := range 3000 {
		now := time.Duration(i) * 100 * time.Hour
		s := waiting(t, fmt.Sprint(i), now)
		starts := []Start{{0, time.Hour, time.Hour}}
		c.correct(&s.View, starts)
		wrong := 8 * draw.ExpFloat64()
		if i > 1500 {
			wrong /= 40
		}
		waited := time.Duration(float64(time.Hour) * wrong)
		if all++; waited <= starts[0].P90 {
			within++
		}
		started := waiting(t, fmt.Sprint(i), now+waited)
		tx := started.Begin(nil)
		must.Do(t, tx.Place(0, cluster.Placement{{Server: 0, Workers: 1, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}))
		tx.End()
		c.correct(&started.View, nil)
	}
	if share := float64(within) / float64(all); share < 0.91 || share > 0.95 {
		t.Errorf("%.3f of the jobs start before their 90th percentile, want 0.93", share)
	}
}

// waiting returns a state with one job that waits.
func waiting(t *testing.T, name string, now time.Duration) *cluster.State {
	t.Helper()
	s := must.Get(cluster.NewState(cluster.Uniform(1, 1), 1))(t)
	s.Advance(now)
	s.Submit(0, &cluster.JobSpec{Name: name, Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Submit: now})
	return s
}
