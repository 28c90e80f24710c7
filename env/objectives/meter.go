package objectives

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Meter adds up what an episode costs while it goes on. Whoever drives the cluster calls Pass before each stretch of time during
// which only the clock changes, and Catch at the end. Equal episodes give equal costs, whatever the stretches are, up to
// rounding. Not safe for concurrent use.
type Meter struct {
	objective *Objective
	options   Options
	jobs      []account // by JobID
	active    []cluster.JobID
	terms     []float64     // by term, all that has been charged
	ended     int           // jobs that count and are done
	began     time.Duration // when it first looked at the cluster; cluster.Never before
	looked    time.Duration // when it last did
	clock     time.Duration // see cluster.View.Clock
	together  []float64     // by term: what the cluster as a whole costs an hour as it was then
	tariffs   []tariff      // by term, nil for terms without prices
	tenants   tenants
}

// Options are facts of an episode.
type Options struct {
	// RunTime returns how long a job runs alone with what it asks for, 0 if nothing is known: the truth in a simulator, what is
	// believed in a scheduler.
	RunTime func(cluster.JobID) time.Duration
	// Spec returns what terms select jobs by; nil is what the state shows, which may hide the model.
	Spec func(cluster.JobID) *cluster.JobSpec
	// Foresee lets only clocks go on, for Cost, Rate and Change: nothing is charged.
	Foresee bool
	// Charged, if not nil, is called with every cost, and the job that is charged, -1 for costs of the cluster as a whole.
	Charged func(id cluster.JobID, cost float64)
	Jobs    int // how many jobs the episode has; 0 if nobody knows: the makespan then grows while a job waits or runs
	Warm    int // jobs with lower ids only fill the cluster: they cost nothing
}

// account is what a meter remembers of a job.
type account struct {
	terms      []int32   // indices of the terms that select the job
	parts      []float64 // what has been charged, by index into terms
	known      bool
	running    bool          // when the meter last looked; likewise gpus and since
	gpus       float64       // that it holds
	since      time.Duration // it makes progress from then on
	stops      int
	moves      int
	resizes    int
	lost       float64 // see cluster.View.Lost
	runTime    time.Duration
	waited     time.Duration // in the queue so far
	firstWait  time.Duration // of it, before the job had run for a minute
	held       time.Duration // how long it has run, restarts included
	productive float64       // GPU-hours that made the present progress
}

// NewMeter returns a meter of an episode that has not begun, or of a cluster at any other instant: what was before is not
// charged, but ages and waits count from the submission.
func NewMeter(o *Objective, opts Options) *Meter {
	n := len(o.Terms)
	m := &Meter{
		objective: o, options: opts, began: cluster.Never,
		terms: make([]float64, n), tariffs: make([]tariff, n), together: make([]float64, n),
	}
	for i := range o.Terms {
		if p := o.Terms[i].Prices; p != nil {
			m.tariffs[i] = newTariff(p)
		}
	}
	return m
}

// CopyTo makes dst an independent copy, for a fork of the simulator.
func (m *Meter) CopyTo(dst *Meter) {
	old := *dst
	*dst = *m
	dst.active = append(old.active[:0], m.active...)
	dst.terms = append(old.terms[:0], m.terms...)
	dst.together = append(old.together[:0], m.together...)
	dst.jobs = append(old.jobs[:0], m.jobs...)
	for _, id := range m.active { // the parts of jobs that are done never change, and may be shared
		dst.jobs[id].parts = slices.Clone(m.jobs[id].parts)
	}
	dst.tenants = tenants{}
}

// Objective returns what the meter measures.
func (m *Meter) Objective() *Objective { return m.objective }

// Terms returns what each term has cost so far. Read only.
func (m *Meter) Terms() []float64 { return m.terms }

// Total returns what the episode has cost so far.
func (m *Meter) Total() (sum float64) {
	for _, x := range m.terms {
		sum += x
	}
	return sum
}

// Job calls yield with each term that a job has been charged for, and the amount. Costs of the cluster as a whole are no job's.
func (m *Meter) Job(id cluster.JobID, yield func(term int, cost float64)) {
	if int(id) < len(m.jobs) {
		a := &m.jobs[id]
		for i, t := range a.terms {
			yield(int(t), a.parts[i])
		}
	}
}

// Pass charges what has happened since the last call and what the time between two instants costs, during which the state of the
// cluster does not change. Call it while the clock still shows from.
func (m *Meter) Pass(v *cluster.View, from, to time.Duration) {
	m.see(v)
	m.elapse(v, from, to)
	m.looked = to
}

// Catch charges the time since the last call as if the cluster had stayed as it was then, and after that what has happened. It
// is for callers that look at a cluster now and then, and ends an episode that Pass has followed.
func (m *Meter) Catch(v *cluster.View) {
	if m.began != cluster.Never && v.Now() > m.looked {
		m.elapse(v, m.looked, v.Now())
	}
	m.see(v)
	m.looked = v.Now()
}

func (m *Meter) elapse(v *cluster.View, from, to time.Duration) {
	for _, id := range m.active {
		m.pass(v.Spec(id), id, from, to)
	}
	m.passTogether(from, to)
}

// passTogether charges what the cluster as a whole costs between two instants.
func (m *Meter) passTogether(from, to time.Duration) {
	if m.options.Foresee {
		return
	}
	hours := (to - from).Hours()
	for i, rate := range m.together {
		m.charge(-1, i, rate*hours)
	}
}

// see brings the accounts up to the present state: jobs that are new, have ended, or were stopped, moved or resized.
func (m *Meter) see(v *cluster.View) {
	m.began, m.clock = min(m.began, v.Now()), v.Clock()
	for len(m.jobs) < v.Jobs() {
		m.jobs = append(m.jobs, account{})
	}
	last := m.active
	for _, id := range last { // also those that have ended by now
		m.happen(v, id)
		if v.Phase(id) == cluster.Done {
			m.ended++
		}
	}
	m.active = m.active[:0]
	for _, list := range [2][]cluster.JobID{v.Pending(), v.Running()} {
		for _, id := range list {
			if int(id) < m.options.Warm {
				continue
			}
			if !m.jobs[id].known {
				m.open(v, id)
			}
			m.active = append(m.active, id)
			m.jobs[id].note(v, id)
		}
	}
	m.seeTogether(v)
}

// note remembers how a job runs.
func (a *account) note(v *cluster.View, id cluster.JobID) {
	if a.running = v.Phase(id) == cluster.Running; a.running {
		a.gpus, a.since = float64(v.Placement(id).GPUMilli())/cluster.WholeGPU, v.Since(id)
	}
}

// Note tells the meter that a job was started, stopped, moved or resized since it looked at the cluster, at the same instant. It
// is for a scheduler's own decisions, which Catch would see, too, but only by looking at all jobs.
func (m *Meter) Note(v *cluster.View, id cluster.JobID) {
	if int(id) < len(m.jobs) && m.jobs[id].known {
		m.jobs[id].note(v, id)
	}
}

// open begins the account of a job.
func (m *Meter) open(v *cluster.View, id cluster.JobID) {
	a := &m.jobs[id]
	spec := m.choose(a, v, id)
	a.known, a.parts = true, make([]float64, len(a.terms))
	if spec.Submit >= m.began {
		m.happen(v, id) // at the instant of its submission
		return
	}
	a.recall(v, id)
}

// choose finds the terms that select a job.
func (m *Meter) choose(a *account, v *cluster.View, id cluster.JobID) *cluster.JobSpec {
	spec := v.Spec(id)
	if m.options.Spec != nil {
		spec = m.options.Spec(id)
	}
	a.runTime, a.terms = m.options.RunTime(id), a.terms[:0]
	for i := range m.objective.Terms {
		if t := &m.objective.Terms[i]; t.Cost.kind() != shared && t.Jobs.Match(spec, a.runTime) {
			a.terms = append(a.terms, int32(i))
		}
	}
	return spec
}

// recall fills in what the state tells of a job's past: how long it waited and ran if it always held what it asks for.
func (a *account) recall(v *cluster.View, id cluster.JobID) {
	spec := v.Spec(id)
	a.stops, a.moves, a.resizes = v.Changes(id)
	a.lost, a.held, a.productive, a.firstWait = v.Lost(id), 0, 0, 0
	if gpus := spec.GPUs(); v.Starts(id) > 0 && gpus > 0 {
		a.held = time.Duration(float64(v.Attained(id)) / gpus)
		a.productive = a.held.Hours() * gpus
	}
	a.waited = max(v.Now()-spec.Submit-a.held, 0)
	if a.held < settled {
		a.firstWait = a.waited
	}
}

// happen charges the events of a job since the last call, and the GPU-time of the work that it has lost.
func (m *Meter) happen(v *cluster.View, id cluster.JobID) {
	a := &m.jobs[id]
	stops, moves, resizes := v.Changes(id)
	if stops == a.stops && moves == a.moves && resizes == a.resizes {
		return
	}
	m.events(id, stops-a.stops, moves-a.moves, resizes-a.resizes, v.Lost(id)-a.lost)
	a.stops, a.moves, a.resizes, a.lost = stops, moves, resizes, v.Lost(id)
}

// events charges so many stops, moves and resizes of a job, and the GPU-time of the fraction of its work that it lost.
func (m *Meter) events(id cluster.JobID, stops, moves, resizes int, fraction float64) {
	a := &m.jobs[id]
	lost := a.productive * min(fraction, 1)
	a.productive -= lost
	for i, t := range a.terms {
		term, n := &m.objective.Terms[t], 0.0
		switch term.Cost {
		case Stop:
			n = float64(stops)
		case Move:
			n = float64(moves)
		case Resize:
			n = float64(resizes)
		case LostGPUTime:
			n = lost / term.Price.hours()
		default:
			continue
		}
		m.chargeJob(id, i, term.Price.Amount*n)
	}
}

// hours returns the unit of the price in hours, 1 for prices of events.
func (p Price) hours() float64 {
	if p.Per == 0 {
		return 1
	}
	return p.Per.Hours()
}

// chargeJob charges a job by its i-th term.
func (m *Meter) chargeJob(id cluster.JobID, i int, cost float64) {
	if a := &m.jobs[id]; !m.options.Foresee {
		a.parts[i] += cost
		m.charge(id, int(a.terms[i]), cost)
	}
}

// charge charges a job by a term, or the cluster as a whole if id is -1.
func (m *Meter) charge(id cluster.JobID, term int, cost float64) {
	if m.terms[term] += cost; cost != 0 && m.options.Charged != nil {
		m.options.Charged(id, cost)
	}
}

// pass charges a job for the time between two instants.
func (m *Meter) pass(spec *cluster.JobSpec, id cluster.JobID, from, to time.Duration) {
	a, d := &m.jobs[id], to-from
	running, gpus, paused := a.running, 0.0, time.Duration(0)
	if running {
		gpus, paused = a.gpus, min(max(a.since-from, 0), d)
	}
	if !m.options.Foresee {
		m.chargeFor(spec, id, from, to, gpus, paused)
	}
	if running {
		a.held += d
		a.productive += gpus * (d - paused).Hours()
		return
	}
	a.waited += d
	if a.held < settled {
		a.firstWait += d
	}
}

// chargeFor charges a job for the time between two instants, of which it was paused for some.
func (m *Meter) chargeFor(
	spec *cluster.JobSpec, id cluster.JobID, from, to time.Duration, gpus float64, paused time.Duration,
) {
	a, d, submit := &m.jobs[id], to-from, spec.Submit
	for i, t := range a.terms {
		term := &m.objective.Terms[t]
		switch term.Cost {
		case Completion:
			m.chargeJob(id, i, term.between(a.runTime, from-submit, to-submit))
		case Wait:
			if x, counts := a.wait(term); counts && !a.running {
				m.chargeJob(id, i, term.between(a.runTime, x, x+d))
			}
		case Late:
			due := term.due(spec, a.runTime)
			if due == cluster.Never || to <= due {
				continue
			}
			cost := term.between(a.runTime, max(from-due, 0), to-due)
			if from <= max(due, submit) { // a deadline before the submission is missed then
				cost += term.Miss
			}
			m.chargeJob(id, i, cost)
		case LostGPUTime:
			m.chargeJob(id, i, term.Price.Amount*gpus*paused.Hours()/term.Price.hours())
		case GPUTime:
			m.chargeJob(id, i, term.Price.Amount*gpus*m.hours(t, from, to)/term.Price.hours())
		}
	}
}

// hours returns the hours between two instants, each at its price if the term has prices by the hour of the day.
func (m *Meter) hours(term int32, from, to time.Duration) float64 {
	if m.objective.Terms[term].Prices == nil {
		return (to - from).Hours()
	}
	return m.tariffs[term].between(m.clock+from, m.clock+to)
}

// between returns what the time between two readings of a job's clock costs.
func (t *Term) between(runTime, from, to time.Duration) float64 {
	return t.at(runTime, to) - t.at(runTime, from)
}

// at returns what a job costs by the time that its clock shows x.
func (t *Term) at(runTime, x time.Duration) float64 {
	n := float64(max(x-t.Over, 0)) / t.unit(runTime)
	if t.Power != 1 {
		n = math.Pow(n, t.Power)
	}
	return t.Price.Amount * n
}

// unit returns the time that a clock's price is for.
func (t *Term) unit(runTime time.Duration) float64 {
	if t.PerRunTime {
		return float64(max(runTime, t.Floor, time.Second))
	}
	return float64(t.Price.Per)
}

// due returns when a job should have ended, cluster.Never if nothing says that.
func (t *Term) due(spec *cluster.JobSpec, runTime time.Duration) time.Duration {
	switch d := t.Deadline; {
	case d != Deadline{}:
		after := d.RunTimes*float64(runTime) + float64(d.Plus)
		if after >= float64(cluster.Never-spec.Submit) {
			return cluster.Never
		}
		return spec.Submit + time.Duration(after)
	case spec.Deadline != 0:
		return spec.Deadline
	}
	return cluster.Never
}
