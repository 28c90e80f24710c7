package objectives

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Foresight says what jobs will cost, from the state of a cluster and what it shows of run times alone. It remembers nothing, so
// it says the same in a simulation, where it sees every instant, as in production, where it sees only one. Not safe for
// concurrent use.
type Foresight struct {
	meter    *Meter // of which only what Look sets is used
	view     *cluster.View
	instants bool    // some term has a limit, a deadline or a tariff
	job      account // that was asked for last
}

// NewForesight returns a Foresight that has seen no cluster yet.
func NewForesight(o *Objective) *Foresight {
	f := &Foresight{}
	f.meter = NewMeter(o, Options{RunTime: func(id cluster.JobID) time.Duration { return Believed(f.view, id) }, Foresee: true})
	for i := range o.Terms {
		t := &o.Terms[i]
		f.instants = f.instants || t.Over > 0 || t.Cost == Late || t.Prices != nil
	}
	return f
}

// Look reads the cluster as it is now. Call it before all else, and again when the cluster has changed.
func (f *Foresight) Look(v *cluster.View) {
	f.view = v
	m := f.meter
	m.looked, m.clock, m.options.Jobs = v.Now(), v.Clock(), len(v.Pending())+len(v.Running())
	m.seeTogether(v)
}

// open makes f.job the account of a job, by what the state tells of it.
func (f *Foresight) open(id cluster.JobID) *account {
	a := &f.job
	f.meter.choose(a, f.view, id)
	a.recall(f.view, id)
	a.gpus = f.view.Spec(id).GPUs()
	a.note(f.view, id)
	return a
}

// Wake asks for a decision at the next instant at which the rate of what a waiting job costs changes by itself: see Meter.Change.
// It is the one rule for all who decide by an objective. The transaction must be of the cluster that f has looked at.
func (f *Foresight) Wake(tx *cluster.Txn) {
	if !f.instants {
		return
	}
	v, soonest := f.view, cluster.Never
	for _, id := range v.Pending() {
		n := f.meter.next(f.open(id), v.Spec(id), Left(v, id))
		soonest = min(soonest, n.limit, n.deadline, n.start, n.price)
	}
	if soonest < cluster.Never-v.Now() {
		tx.WakeAt(v.Now() + soonest)
	}
}

// Curve is what a job costs from now on.
type Curve struct {
	Wait, Run float64 // what an hour costs at this instant, if the job waits and if it runs
	// Change is the time until Wait or Run changes by itself, because of a limit, a deadline or an hour of a tariff, and
	// cluster.Never if neither does. Costs with a power change all the time; only what sets in is counted.
	Change              time.Duration
	WaitAfter, RunAfter float64       // Wait and Run then; as now if nothing changes
	Stop                float64       // what it costs at once to stop the job if it then restarts for Pause; 0 if it waits
	Lose                float64       // what it costs besides if the stop destroys all its work
	Limit, Deadline     time.Duration // until the next limit and the next deadline; cluster.Never if none is ahead
	Start               time.Duration // until the last moment to start before that deadline, 0 if it has passed
	Miss                float64       // what that deadline costs once when it passes
}

// Pause is how long restarts are taken to last, since a state does not tell that.
const Pause = 10 * time.Minute

// Curve returns what a job that waits or runs costs from now on. f must have looked at the cluster.
func (f *Foresight) Curve(id cluster.JobID) Curve {
	m, a, spec := f.meter, f.open(id), f.view.Spec(id)
	left := Left(f.view, id)
	n := m.next(a, spec, left)
	c := Curve{Change: min(n.limit, n.deadline, n.price), Limit: n.limit, Deadline: n.deadline, Start: cluster.Never}
	c.Wait, c.Run = m.rates(a, spec, 0)
	c.WaitAfter, c.RunAfter = c.Wait, c.Run
	if c.Change < cluster.Never {
		c.WaitAfter, c.RunAfter = m.rates(a, spec, c.Change)
	}
	if n.deadline < cluster.Never {
		c.Start = max(n.deadline-left, 0)
		c.Miss = m.missed(a, spec, n.deadline)
	}
	if a.running {
		c.Stop, c.Lose = m.stopCost(a, Pause, 0), m.stopCost(a, 0, 1)-m.stopCost(a, 0, 0)
	}
	return c
}

// rates returns what an hour costs if the job waits and if it runs, after the time d from now in which it goes on as it does.
func (m *Meter) rates(a *account, spec *cluster.JobSpec, d time.Duration) (wait, run float64) {
	for _, i := range a.terms {
		w, r := m.termRates(a, i, spec, d)
		wait, run = wait+w, run+r
	}
	return wait + m.unfair(a, spec, a.gpus), run
}

// termRates returns the part of rates of one term.
func (m *Meter) termRates(a *account, i int32, spec *cluster.JobSpec, d time.Duration) (wait, run float64) {
	t, at := &m.objective.Terms[i], m.looked+d
	switch t.Cost {
	case Completion:
		wait = t.slope(a.runTime, at-spec.Submit)
		return wait, wait
	case Late:
		if due := t.due(spec, a.runTime); due != cluster.Never {
			wait = t.slope(a.runTime, at-due)
		}
		return wait, wait
	case Wait:
		if x, counts := a.wait(t); counts && a.running {
			wait = t.slope(a.runTime, x)
		} else if counts {
			wait = t.slope(a.runTime, x+d)
		}
	case GPUTime:
		factor := 1.0
		if t.Prices != nil {
			factor = m.tariffs[i].at(m.clock + at)
		}
		run = t.Price.Amount * a.gpus * factor / t.Price.hours()
	}
	return wait, run
}

// slope returns what an hour costs at the instant when the clock shows x.
func (t *Term) slope(runTime, x time.Duration) float64 {
	unit := t.unit(runTime)
	n := float64(x-t.Over) / unit
	if n < 0 {
		return 0
	}
	hour := t.Price.Amount * float64(time.Hour) / unit
	if t.Power == 1 {
		return hour
	}
	return hour * t.Power * math.Pow(n, t.Power-1)
}

// missed returns what the deadlines that pass after the time d cost once.
func (m *Meter) missed(a *account, spec *cluster.JobSpec, d time.Duration) (sum float64) {
	for _, i := range a.terms {
		if t := &m.objective.Terms[i]; t.Cost == Late && t.due(spec, a.runTime) == m.looked+d {
			sum += t.Miss
		}
	}
	return sum
}

// Together returns what an hour costs at this instant by terms of the cluster as a whole, such as idle GPUs.
func (f *Foresight) Together() (sum float64) {
	for _, x := range f.meter.together {
		sum += x
	}
	return sum
}

// GPUPrice returns the price of a GPU-hour that sets in or goes on the given time from now: the sum over the terms with a tariff,
// and the most that this sum is in any hour of the day; 0 and 0 without a tariff.
func (f *Foresight) GPUPrice(after time.Duration) (price, most float64) {
	m := f.meter
	for hour := range 24 {
		sum := 0.0
		for i := range m.objective.Terms {
			if t := &m.objective.Terms[i]; t.Prices != nil {
				sum += t.Price.Amount / t.Price.hours() * m.tariffs[i].of[hour]
			}
		}
		most = max(most, sum)
		if hour == int(wrap(m.clock+m.looked+after)/time.Hour) {
			price = sum
		}
	}
	return price, most
}

// Scale returns the largest price of the objective, for an hour, a GPU-hour, an event or a run time. Costs divided by it do not
// depend on the unit in which the objective counts.
func (f *Foresight) Scale() (most float64) {
	for i := range f.meter.objective.Terms {
		t := &f.meter.objective.Terms[i]
		most = max(most, t.Price.Amount/t.Price.hours(), t.Miss)
	}
	return most
}
