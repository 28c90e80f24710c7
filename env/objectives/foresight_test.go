package objectives_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestCurvesComeTrue checks, over random episodes and objectives, that until the rate of a job's cost changes, and until the next
// event after that, a meter that follows the episode charges the job what its curve says.
func TestCurvesComeTrue(t *testing.T) {
	charged, changed, missed := 0, 0, 0
	simtest.Many(t, 200, func(t *rapid.T) {
		e := drawEpisode(t)
		e.Config.Warm, e.Clock = 0, time.Duration(rapid.IntRange(0, 86400).Draw(t, "clock"))*time.Second
		o := drawObjective(t)
		o.Terms = slices.DeleteFunc(o.Terms, func(x objectives.Term) bool {
			return x.Cost == objectives.Unfair || x.Cost == objectives.LostGPUTime || x.Cost == objectives.Stop
		})
		for i := range o.Terms { // linear, and the same whatever is believed of run times
			x := &o.Terms[i]
			x.Power, x.PerRunTime, x.Jobs.RunTime, x.Deadline.RunTimes = 1, false, nil, 0
			if x.Price.Per == 0 {
				x.Price.Per = time.Hour
			}
			if x.Deadline.Plus > 0 {
				x.Deadline.Plus += time.Second / 2
			}
		}
		for i := range e.Jobs { // no deadline passes before or when something else happens
			if j := &e.Jobs[i]; j.Deadline != 0 {
				j.Deadline = max(j.Deadline, j.Submit) + time.Second/2
			}
		}
		s := simtest.Begin(t, e)
		v, got := &s.State().View, make([]float64, len(e.Jobs))
		m := e.Meter(o, func(id cluster.JobID, cost float64) {
			if id >= 0 {
				got[id] += cost
			}
		})
		f := objectives.NewForesight(o)
		s.Watch(func(from, to time.Duration) {
			f.Look(v)
			active, curves, first := slices.Concat(v.Pending(), v.Running()), map[cluster.JobID]objectives.Curve{}, to
			for _, id := range active {
				c := f.Curve(id)
				curves[id] = c
				if c.Change < first-from {
					first = from + c.Change
				}
			}
			m.Pass(v, from, from) // what has happened
			clear(got)
			m.Pass(v, from, first)
			check := func(d time.Duration, wait, run func(objectives.Curve) float64, once func(objectives.Curve) float64) {
				for _, id := range active {
					c := curves[id]
					want := wait(c)
					if v.Phase(id) == cluster.Running {
						want = run(c)
					}
					want = want*d.Hours() + once(c)
					if math.Abs(got[id]-want) > 1e-5*want+1e-12 {
						t.Fatalf("at %v, %v: job %d, %v, is charged %v for %v, foreseen %v; %+v, %+v", from, d, id, v.Phase(id), got[id], d, want,
							c, o.Terms)
					}
					if want > 0 {
						charged++
					}
				}
			}
			check(first-from, func(c objectives.Curve) float64 { return c.Wait }, func(c objectives.Curve) float64 { return c.Run },
				func(objectives.Curve) float64 { return 0 })
			at := first - from
			second := min(first+time.Millisecond, to) // nothing else changes so soon
			clear(got)
			m.Pass(v, first, second)
			after := func(now, then float64, c objectives.Curve) float64 {
				if c.Change <= at {
					changed++
					return then
				}
				return now
			}
			check(second-first, func(c objectives.Curve) float64 { return after(c.Wait, c.WaitAfter, c) },
				func(c objectives.Curve) float64 { return after(c.Run, c.RunAfter, c) },
				func(c objectives.Curve) float64 {
					if c.Deadline == at && second > first {
						missed++
						return c.Miss
					}
					return 0
				})
			m.Pass(v, second, to)
		})
		must.Do(t, s.Run(context.Background(), &starter{draw: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}, 1))
	})
	if charged < 1000 || changed < 100 || missed < 10 {
		t.Errorf("%d charges, %d changes of a rate, %d missed deadlines: too few to tell", charged, changed, missed)
	}
}

// starter starts jobs with what they ask for, and stops some.
type starter struct{ draw *rand.Rand }

func (s *starter) Name() string       { return "starter" }
func (s *starter) Reset(uint64) error { return nil }

func (s *starter) Schedule(tx *cluster.Txn) error {
	v := tx.View()
	for _, id := range slices.Clone(v.Running()) {
		if s.draw.IntN(8) == 0 {
			_ = tx.Preempt(id)
		}
	}
	for _, id := range slices.Clone(v.Pending()) {
		if p, ok := v.BestFit(id, nil); ok && s.draw.IntN(3) > 0 {
			_ = tx.Place(id, p)
		}
	}
	if len(v.Running()) == 0 {
		tx.WakeAt(v.Now() + time.Minute)
	}
	return nil
}

// TestCurves checks what curves say that no meter charges by the hour.
func TestCurves(t *testing.T) {
	text := `name: c
terms:
  - {cost: wait, over: 10m, price: 1/min}
  - {cost: late, price: 1/h, deadline: {plus: 1h}, miss: 20}
  - {cost: stop, price: 3}
  - {cost: lost_gpu_time, price: 6/h}
  - {cost: completion, power: 2, price: 1/h}
  - {cost: gpu_time, price: 1/h, prices: {0: 0.5, 7: 2, 22: 0.5}}
  - {cost: idle_gpu_time, price: 1/h}`
	o := must.Get(objectives.Read(bytes.NewBufferString(text)))(t)
	s := must.Get(cluster.NewState(cluster.Uniform(1, 4), 2))(t)
	s.SetClock(6 * time.Hour)
	spec := func(gpus int32) *cluster.JobSpec {
		return &cluster.JobSpec{
			Name: "j", Workers: gpus, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: 40 * time.Minute,
		}
	}
	s.Submit(0, spec(2))
	s.Submit(1, spec(4))
	tx := s.Begin(nil)
	must.Do(t, tx.Place(0, cluster.Placement{{Server: 0, Workers: 2, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}))
	tx.End()
	s.Advance(6 * time.Minute)
	f := objectives.NewForesight(o)
	f.Look(&s.View)
	tenth := 2 * 0.1 // of the square of the age in hours
	running := objectives.Curve{
		Wait: 60*0 + tenth, Run: tenth + 2*0.5, Change: 54 * time.Minute, WaitAfter: 60*0 + 2 + 1, RunAfter: 2 + 1 + 2*2,
		Stop: 3 + 6*2*10./60, Lose: 6 * 2 * 0.1, Limit: cluster.Never, Deadline: 54 * time.Minute, Start: 20 * time.Minute, Miss: 20,
	}
	waiting := objectives.Curve{
		Wait: tenth, Run: tenth + 4*0.5, Change: 4 * time.Minute, WaitAfter: 60 + 2./6, RunAfter: 2./6 + 4*0.5,
		Limit: 4 * time.Minute, Deadline: 54 * time.Minute, Start: 14 * time.Minute, Miss: 20,
	}
	for id, want := range []objectives.Curve{running, waiting} {
		got := f.Curve(cluster.JobID(id))
		for _, x := range [][2]*float64{
			{&got.Wait, &want.Wait}, {&got.Run, &want.Run}, {&got.WaitAfter, &want.WaitAfter}, {&got.RunAfter, &want.RunAfter},
			{&got.Stop, &want.Stop}, {&got.Lose, &want.Lose},
		} {
			if math.Abs(*x[0]-*x[1]) < 1e-9 {
				*x[0] = *x[1]
			}
		}
		if got != want {
			t.Errorf("job %d: %+v\nwant %+v", id, got, want)
		}
	}
	now, most := f.GPUPrice(0)
	next, _ := f.GPUPrice(time.Hour)
	if idle := f.Together(); now != 0.5 || next != 2 || most != 2 || idle != 2 || f.Scale() != 60 {
		t.Errorf("prices %v, %v of %v, idle %v, scale %v", now, next, most, idle, f.Scale())
	}
}

// TestWakeIsTheNextChange checks that jobs that wait, and only they, make a scheduler be asked at the next limit, deadline, last
// moment to start and hour of a tariff, and that nothing else does.
func TestWakeIsTheNextChange(t *testing.T) {
	for _, c := range []struct {
		term    string
		running bool
		want    time.Duration // 0: never
	}{
		{"cost: wait, over: 10m, price: 1/min", false, 10 * time.Minute},
		{"cost: wait, over: 10m, price: 1/min", true, 0},
		{"cost: wait, over: 10m, price: 1/min, jobs: {gpus: 2-}", false, 0},
		{"cost: wait, over: 5m, price: 1/min", false, 0}, // it has just passed
		{"cost: wait, price: 1/min", false, 0},
		{"cost: completion, over: 2h, price: 1/h", false, 2 * time.Hour},
		{"cost: late, price: 1/h, deadline: {plus: 1h}", false, 20 * time.Minute}, // less its run time
		{"cost: late, price: 1/h, deadline: {plus: 30m}", false, 30 * time.Minute},
		{"cost: late, price: 1/h", false, 0}, // no deadline
		{"cost: gpu_time, price: 1/h, prices: {0: 1, 7: 2}", false, time.Hour},
		{"cost: gpu_time, price: 1/h", false, 0},
		{"cost: stop, price: 1", false, 0},
	} {
		o := must.Get(objectives.Read(bytes.NewBufferString("name: w\nterms: [{" + c.term + "}]")))(t)
		s := must.Get(cluster.NewState(cluster.Uniform(1, 1), 1))(t)
		s.SetClock(6 * time.Hour)
		s.Submit(0, &cluster.JobSpec{
			Name: "j", Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: 40 * time.Minute,
		})
		tx := s.Begin(nil)
		if c.running {
			must.Do(t, tx.Place(0, cluster.Placement{{Server: 0, Workers: 1, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}))
		}
		tx.End()
		s.Advance(5 * time.Minute)
		f := objectives.NewForesight(o)
		f.Look(&s.View)
		tx = s.Begin(nil)
		f.Wake(tx)
		if at, asked := tx.Wake(); asked != (c.want > 0) || asked && at != c.want {
			t.Errorf("%s: asked to be woken: %t, at %v, want %v", c.term, asked, at, c.want)
		}
	}
}
