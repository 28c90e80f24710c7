package objectives

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Cost returns what a job will cost from now on if it runs without a break from the instant after from now until it has worked
// for left. Until then it waits, as all other jobs do that are not asked for. gpus is what it will hold. Costs of the cluster as
// a whole are not included. The meter must have looked at the cluster at this instant.
func (m *Meter) Cost(v *cluster.View, id cluster.JobID, after, left time.Duration, gpus float64) (sum float64) {
	a, now := &m.jobs[id], m.looked
	for _, i := range a.terms {
		t := &m.objective.Terms[i]
		switch t.Cost {
		case Completion:
			age := now - v.Spec(id).Submit
			sum += t.between(a.runTime, age, age+after+left)
		case Wait:
			if x, counts := a.wait(t); counts {
				sum += t.between(a.runTime, x, x+after)
			}
		case Late:
			due := t.due(v.Spec(id), a.runTime)
			if end := now + after + left; due < end {
				sum += t.between(a.runTime, max(now-due, 0), end-due)
				if due >= now {
					sum += t.Miss
				}
			}
		case GPUTime:
			sum += t.Price.Amount * gpus * m.hours(i, now+after, now+after+left) / t.Price.hours()
		}
	}
	return sum + m.unfair(a, v.Spec(id), gpus)*after.Hours()
}

// unfair returns what an hour costs, by terms of unfairness, in which a job does not hold the GPUs that its tenant's share
// allows it.
func (m *Meter) unfair(a *account, spec *cluster.JobSpec, gpus float64) (sum float64) {
	for i := range m.objective.Terms {
		if t := &m.objective.Terms[i]; t.Cost == Unfair {
			short := m.tenants.short(spec)
			if a.running {
				short += gpus
			}
			sum += t.Price.Amount * min(max(short, 0), gpus) / t.Price.hours()
		}
	}
	return sum
}

// Idle returns what an hour costs for each GPU that nobody holds, if a job waits.
func (m *Meter) Idle() (sum float64) {
	for i := range m.objective.Terms {
		if t := &m.objective.Terms[i]; t.Cost == IdleGPUTime {
			sum += t.Price.Amount / t.Price.hours()
		}
	}
	return sum
}

// wait returns what the clock of a term of waiting shows, and whether it goes on while the job waits.
func (a *account) wait(t *Term) (x time.Duration, counts bool) {
	if t.First {
		return a.firstWait, a.held < settled
	}
	return a.waited, true
}

// Rate returns what an hour of delay costs a job that then works for left, in the mean over delays that are distributed
// exponentially with the mean ahead. What begins to cost only later counts the less the later that is: a limit or a deadline that
// is x away has the weight exp(-x/ahead), which is the apparent tardiness cost (Vepsalainen and Morton, Management Science 1987).
// If nothing changes the rate it is the marginal cost itself, c of the cµ rule. The meter must have looked at the cluster at this
// instant.
func (m *Meter) Rate(v *cluster.View, id cluster.JobID, left, ahead time.Duration, gpus float64) (sum float64) {
	a, now := &m.jobs[id], m.looked
	for _, i := range a.terms {
		t := &m.objective.Terms[i]
		switch t.Cost {
		case Completion:
			sum += t.rate(a.runTime, now-v.Spec(id).Submit+left-t.Over, ahead)
		case Wait:
			if x, counts := a.wait(t); counts {
				sum += t.rate(a.runTime, x-t.Over, ahead)
			}
		case Late:
			due := t.due(v.Spec(id), a.runTime)
			if due == cluster.Never {
				continue
			}
			late := now + left - due
			sum += t.rate(a.runTime, late, ahead)
			if late <= 0 {
				sum += t.Miss / ahead.Hours() * math.Exp(float64(late)/float64(ahead))
			}
		case GPUTime:
			if t.Prices != nil { // a delay changes the price of what is done
				more := m.hours(i, now+ahead, now+ahead+left) - m.hours(i, now, now+left)
				sum += t.Price.Amount * gpus * more / t.Price.hours() / ahead.Hours()
			}
		}
	}
	return sum + m.unfair(a, v.Spec(id), gpus)
}

// The nodes and weights of the Gauss-Laguerre quadrature with four points.
var (
	laguerreAt     = [4]float64{0.322547689619392, 1.745761101158347, 4.536620296921128, 9.395070912301133}
	laguerreWeight = [4]float64{0.603154104341634, 0.357418692437800, 0.038887908515005, 0.000539294705561}
)

// rate returns the mean cost of an hour on a clock that shows x beyond what is free, before it if negative, over what it will
// show after a delay that is distributed exponentially with the mean ahead.
func (t *Term) rate(runTime, x, ahead time.Duration) float64 {
	unit := t.unit(runTime)
	reached := 1.0 // the chance that the delay reaches what is not free; beyond that it has the same distribution
	if x < 0 {
		reached, x = math.Exp(float64(x)/float64(ahead)), 0
	}
	hour := t.Price.Amount * float64(time.Hour) / unit * reached
	if t.Power == 1 {
		return hour
	}
	mean := 0.0
	for i, at := range laguerreAt {
		mean += laguerreWeight[i] * math.Pow((float64(x)+at*float64(ahead))/unit, t.Power-1)
	}
	return hour * t.Power * mean
}

// StopCost returns what it costs at once to stop a running job, which then has to restart for the time pause, if it loses the
// fraction lost of its work.
func (m *Meter) StopCost(id cluster.JobID, pause time.Duration, lost float64) (sum float64) {
	return m.stopCost(&m.jobs[id], pause, lost)
}

func (m *Meter) stopCost(a *account, pause time.Duration, lost float64) (sum float64) {
	for _, i := range a.terms {
		switch t := &m.objective.Terms[i]; t.Cost {
		case Stop:
			sum += t.Price.Amount
		case LostGPUTime:
			sum += t.Price.Amount * (a.gpus*pause.Hours() + a.productive*lost) / t.Price.hours()
		}
	}
	return sum
}

// Change returns the next instant at which the rate of what a job costs changes by itself, whether it waits or runs, and
// cluster.Never if there is none: a limit, a deadline, the last moment to start before one, an hour of a tariff.
func (m *Meter) Change(v *cluster.View, id cluster.JobID, left time.Duration) time.Duration {
	n := m.next(&m.jobs[id], v.Spec(id), left)
	if d := min(n.limit, n.deadline, n.start, n.price); d < cluster.Never-m.looked {
		return m.looked + d
	}
	return cluster.Never
}

// next is how long from now until something changes what a job costs; cluster.Never for what does not.
type next struct {
	limit    time.Duration // what a clock shows begins to cost
	deadline time.Duration
	start    time.Duration // the last moment to start before a deadline
	price    time.Duration
}

// next returns what changes next for a job that still has to run for left.
func (m *Meter) next(a *account, spec *cluster.JobSpec, left time.Duration) next {
	n, now := next{cluster.Never, cluster.Never, cluster.Never, cluster.Never}, m.looked
	sooner := func(at *time.Duration, d time.Duration) {
		if d > 0 {
			*at = min(*at, d)
		}
	}
	for _, i := range a.terms {
		t := &m.objective.Terms[i]
		switch t.Cost {
		case Completion:
			sooner(&n.limit, spec.Submit+t.Over-now)
		case Wait:
			if x, counts := a.wait(t); counts && !a.running {
				sooner(&n.limit, t.Over-x)
			}
		case Late:
			if due := t.due(spec, a.runTime); due != cluster.Never {
				sooner(&n.deadline, due-now)
				sooner(&n.start, due-left-now)
			}
		}
	}
	n.price = m.nextPrice(a, 0)
	return n
}

// NextPrice returns how long after the given time from now a price that concerns the job next changes, counted from now, and
// cluster.Never if no price does.
func (m *Meter) NextPrice(id cluster.JobID, after time.Duration) time.Duration {
	return m.nextPrice(&m.jobs[id], after)
}

func (m *Meter) nextPrice(a *account, after time.Duration) time.Duration {
	at := cluster.Never
	for _, i := range a.terms {
		if m.objective.Terms[i].Prices != nil {
			from := m.clock + m.looked
			at = min(at, m.tariffs[i].next(from+after)-from)
		}
	}
	return at
}
