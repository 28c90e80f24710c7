// Package gavel schedules jobs on GPUs of several types by heterogeneity-aware max-min fairness, in rounds: Gavel (Narayanan et
// al., OSDI 2020, §4.1 and §5). A linear program computes the share of its time that every job should spend on each type, and
// the rounds approximate these shares.
package gavel

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Round is the time between two decisions about which jobs run where, in the source's experiments (§7).
const Round = 6 * time.Minute

// levels is the largest number of linear programs that divide the GPUs. 1 would be the program of §4.1, which looks only at the
// least served jobs; more are water filling (§4.3). The number is an own choice: if the GPUs suffice for most jobs, every class
// has a level of its own.
const levels = 16

// New returns the scheduler, which decides once in each round.
//
// From the source: the linear program over GPU types (see allocate), with speeds that are known beforehand; they are those of
// env/physics/profile, while the source also describes an estimator. A job's priority on a type is its share there divided by
// the fraction of its time that it has run there. Every round begins with a greedy choice by priority, each job once; jobs that
// have never run come first. With one GPU type this is max-min fair sharing over time.
//
// Reconstructed or own: equal jobs are one variable of the program. The time that counts is the job's whole time, not that since
// the last allocation, and half a round is added to the time that it has run on each type, so that it does not move for a tiny
// difference. A gang that fits on no single type, and that may mix types, is spread over all types in proportion. When all jobs
// that were due have a place, what is left goes to any job, running ones first. Between rounds waiting jobs start on GPUs that
// became free, which the source leaves idle until the round ends. A job that made no progress in a turn, because the restart
// took all of it or the work was lost, gets turns twice as long, because otherwise it might never end. Rounds are longer while
// all jobs have very long to run (see mostRounds). Quotas, CPU and memory limit the choice of jobs but are not part of the
// program, except that it knows which types can hold a gang at all.
//
// Space sharing is left out: jobs share a GPU only if they ask for shares.
//
// A job that keeps its type is not moved. A job that changes types migrates if there is room, and otherwise is preempted and
// placed again.
func New(name string, round time.Duration) cluster.Scheduler {
	p := &gavel{name: name, every: max(round, time.Second)}
	_ = p.Reset(0)
	return p
}

// gavel is the scheduler of New.
type gavel struct {
	name  string
	every time.Duration // the time of a round
	next  time.Duration // when the next round begins
	jobs  []*turn       // by job id; nil for jobs that are not live
	market
	round
	waiting []cluster.JobID   // jobs to start between rounds, in order: those that the last round left, then those that came later
	refused []bool            // by kind
	fit     cluster.Placement // placement that search found
	fits    []host
}

// turn is what the scheduler remembers of a live job.
type turn struct {
	kind    int
	seen    time.Duration   // time at which the scheduler first saw it
	got     []time.Duration // run time by option, until from
	total   time.Duration
	on      int           // the option with which it runs; -1 while it waits
	from    time.Duration // got and total count the time until then
	until   time.Duration // the scheduler does not change the job before then
	rounds  int           // length of its turns, in rounds
	before  time.Duration // its progress when its last turn began
	started bool
	pick    int // the option chosen for this round; -1 for none
}

func (p *gavel) Name() string { return p.name }

func (p *gavel) Reset(uint64) error {
	*p = gavel{name: p.name, every: p.every}
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
		p.next = (s.Now()/p.every + p.length(s)) * p.every
		if err := p.decide(tx); err != nil {
			return err
		}
	} else if err := p.fill(tx); err != nil {
		return err
	}
	if p.restless(s) {
		tx.WakeAt(p.next)
	}
	return nil
}

// mostRounds bounds how many rounds a job takes part in: while the time that any live job has left, or has been there if the time
// left is not known, is more than so many rounds, the scheduler decides less often than every round. Own choice: with rounds of 6
// minutes that begins at 200 hours, so it hardly concerns traces, and jobs of 90 years end after some 10^4 rounds and not 10^6.
const mostRounds = 2_000

// length returns the number of rounds from now to the next decision.
func (p *gavel) length(s *cluster.View) time.Duration {
	shortest := time.Duration(math.MaxInt64)
	for _, ids := range [][]cluster.JobID{s.Running(), s.Pending()} {
		for _, id := range ids {
			left, known := s.Remaining(id)
			if !known || left == 0 {
				left = s.Now() - p.know(s, id).seen
			}
			shortest = min(shortest, left)
		}
	}
	if shortest == math.MaxInt64 {
		return 1
	}
	return max(shortest/(mostRounds*p.every), 1)
}

// restless reports whether the next round may bring a change although nothing happens: a job waits that some type could hold, or
// a job runs where it is slower than elsewhere.
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

// know returns what the scheduler remembers of a live job, and creates it for a new job. It first updates whether the job runs,
// and with which option.
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

// begin begins a turn of a job. If the turn before brought no progress, the new one is twice as long.
func (p *gavel) begin(j *turn, now, progress time.Duration) {
	if j.started && progress <= j.before {
		j.rounds = min(2*j.rounds, 1<<20)
	}
	j.started, j.before, j.until = true, progress, now
	if j.rounds > 1 {
		j.until = now + time.Duration(j.rounds)*p.every
	}
}

func (p *gavel) leave(id cluster.JobID) {
	if int(id) < len(p.jobs) && p.jobs[id] != nil {
		p.join(p.jobs[id].kind, -1)
		p.jobs[id] = nil
	}
}

// count adds the time up to now to the option with which the job ran.
func (j *turn) count(now time.Duration) {
	if j.on >= 0 {
		j.got[j.on] += now - j.from
		j.total += now - j.from
	}
	j.from = now
}
