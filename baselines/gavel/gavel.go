// Package gavel schedules jobs on GPUs of several types by heterogeneity-aware max-min fairness, in rounds: Gavel (Narayanan
// et al., OSDI 2020, §4.1 and §5). A linear program says which share of its time every job should spend on which type, and
// rounds come near to that.
package gavel

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Config is the options of the scheduler.
type Config struct {
	// Round is the time after which it is decided anew who runs where: 6 minutes as in the source's experiments (§7).
	Round time.Duration
	// Aware lets it know how fast models are on GPU types. Otherwise all types count alike, as to the source's agnostic
	// baseline.
	Aware bool
	// Levels is how many linear programs share out the GPUs: 1 is that of §4.1, which looks at the least served jobs alone,
	// more are water filling (§4.3). The number is an own choice: where the GPUs suffice for most jobs, every class has a
	// level of its own.
	Levels int
	// Backfill starts waiting jobs also between rounds, on GPUs that came free. Own choice: the source leaves them idle until
	// the round ends.
	Backfill bool
}

// Default returns the default options.
func Default() Config {
	return Config{Round: 6 * time.Minute, Aware: true, Levels: 16, Backfill: true}
}

// New returns the scheduler.
//
// From the source: the linear program, see allocate, over types of GPUs, with speeds that are known beforehand (here those
// of env/physics/profile; it also describes an estimator); a job's priority on a type, which is its share there over the
// part of its time that it got there; the greedy choice by priority, each job once, at the beginning of every round; jobs
// that never ran come first. With one type of GPUs this is max-min fair sharing over time.
//
// Reconstructed or own: equal jobs are one variable of the program; a job's own time counts, not that since the last
// allocation, and half a round is added to what it got somewhere, so that it does not move for a sliver; a gang that no type
// alone holds, and that may be of several, is spread over all in proportion; what is left when all have got a place that
// wanted one goes to any job, running ones first; a job that a turn brought nothing, because restarting ate it or its work
// was lost with it, gets turns that are twice as long, or it might never end. Quotas and CPU and memory bound who is chosen,
// but are no part of the program, except that it knows which types can hold a gang at all.
//
// Space sharing is left out: to share a GPU is up to what jobs ask for.
//
// A job that goes on with the same type is not moved. A job that changes types migrates if there is room for it, and else is
// preempted and placed.
func New(name string, c Config) cluster.Scheduler {
	c.Round = max(c.Round, time.Second)
	p := &gavel{name: name, c: c}
	_ = p.Reset(0)
	return p
}

// gavel is the scheduler.
type gavel struct {
	name string
	c    Config
	next time.Duration // when the next round begins
	jobs []*turn       // by JobID, nil for those that do not live
	market
	round
	waiting []cluster.JobID   // to start between rounds, in order: those of the last round, then those that came
	refused []bool            // by kind
	fit     cluster.Placement // what search found
	fits    []host
}

// turn is what the scheduler remembers of a live job.
type turn struct {
	kind    int
	seen    time.Duration   // when it was first seen
	got     []time.Duration // by option, up to from
	total   time.Duration
	on      int           // the option that it runs with, -1 while it waits
	from    time.Duration // counted up to then
	until   time.Duration // it is left alone until then
	rounds  int           // of its turns
	before  time.Duration // its progress when its last turn began
	started bool
	pick    int // the option chosen for this round, -1 for none
}

func (p *gavel) Name() string { return p.name }

func (p *gavel) Reset(uint64) error {
	*p = gavel{name: p.name, c: p.c, market: market{aware: p.c.Aware}}
	return nil
}

func (p *gavel) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	p.survey(s)
	for _, e := range tx.Events() {
		switch e.Kind {
		case cluster.Finished:
			p.leave(e.Job)
		case cluster.Interrupted:
			p.know(s, e.Job)
			p.waiting = append(p.waiting, e.Job)
		case cluster.Arrived:
			p.waiting = append(p.waiting, e.Job)
		}
	}
	if s.Now() >= p.next {
		p.next = (s.Now()/p.c.Round + 1) * p.c.Round
		if err := p.decide(tx); err != nil {
			return err
		}
	} else if p.c.Backfill {
		if err := p.fill(tx); err != nil {
			return err
		}
	}
	if p.restless(s) {
		tx.WakeAt(p.next)
	}
	return nil
}

// restless reports whether the next round may bring a change by itself: a job waits that some type could hold, or runs where
// it is not as fast as elsewhere.
func (p *gavel) restless(s *cluster.View) bool {
	for _, id := range s.Pending() {
		if p.kinds[p.know(s, id).kind].mask != 0 {
			return true
		}
	}
	if len(p.types) == 1 {
		return false
	}
	for _, id := range s.Running() {
		j := p.know(s, id)
		k := &p.kinds[j.kind]
		for o, speed := range k.speed {
			if k.mask>>o&1 == 1 && speed > k.speed[j.on] {
				return true
			}
		}
	}
	return false
}

// know returns what is remembered of a live job, also of one that it sees for the first time, after a look at whether it
// runs and with what.
func (p *gavel) know(s *cluster.View, id cluster.JobID) *turn {
	if int(id) >= len(p.jobs) {
		p.jobs = append(p.jobs, make([]*turn, s.Jobs()-len(p.jobs))...)
	}
	j := p.jobs[id]
	if j == nil {
		j = &turn{kind: p.kindOf(s, id), seen: s.Now(), got: make([]time.Duration, len(p.types)+1), on: -1, rounds: 1}
		p.jobs[id] = j
		p.join(j.kind, 1)
	}
	now := -1
	if s.Phase(id) == cluster.Running {
		now = p.optionOf(s, id)
	}
	if now == j.on {
		return j
	}
	j.count(s.Now())
	j.on = now
	if now >= 0 {
		p.begin(j, s.Now(), s.Progress(id))
	}
	return j
}

// begin begins a turn.
func (p *gavel) begin(j *turn, now, progress time.Duration) {
	if j.started && progress <= j.before {
		j.rounds = min(2*j.rounds, 1<<20)
	}
	j.started, j.before, j.until = true, progress, now
	if j.rounds > 1 {
		j.until = now + time.Duration(j.rounds)*p.c.Round
	}
}

func (p *gavel) leave(id cluster.JobID) {
	if int(id) < len(p.jobs) && p.jobs[id] != nil {
		p.join(p.jobs[id].kind, -1)
		p.jobs[id] = nil
	}
}

// count adds the time up to now with the option that the job ran with.
func (j *turn) count(now time.Duration) {
	if j.on >= 0 {
		j.got[j.on] += now - j.from
		j.total += now - j.from
	}
	j.from = now
}
