package work

import (
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// seat is what the pool knows of a worker.
type seat struct {
	unit    int       // that it computes; idle for none
	since   time.Time // when it began that unit
	heard   time.Time // when it last said anything
	done    int       // answers accepted
	seconds float64   // that those took
	refused int       // answers refused
}

const (
	beatEvery  = 2 * time.Second
	lostAfter  = 3*beatEvery + time.Second // a worker that says nothing for so long is lost
	maxWorkers = 1 << 14
	// forgetAfter is how long the table shows a lost worker. A worker that comes back after that is a new one.
	forgetAfter = 10 * time.Minute
	patience    = 30 * time.Second
)

// rate counts accepted answers.
type rate struct {
	done    int
	first   time.Time
	slowest float64   // seconds of the slowest unit
	last    []float64 // seconds of the last units
}

// patience returns four times the time of the slowest unit.
func (r *rate) patience() time.Duration { return time.Duration(4 * r.slowest * float64(time.Second)) }

// count counts an accepted answer. The mutex must be locked.
func (p *Pool) count(m *message) {
	now := time.Now()
	if p.rate.done == 0 {
		p.rate.first = now
	}
	p.rate.done++
	p.rate.slowest = max(p.rate.slowest, m.Seconds)
	if p.rate.last = append(p.rate.last, m.Seconds); len(p.rate.last) > 64 {
		p.rate.last = p.rate.last[1:]
	}
	if s := p.seat(m.Worker, now); s != nil {
		s.done++
		s.seconds += m.Seconds
	}
}

// seat returns the seat of a worker, a new one if it has none, nil if there are too many workers. The mutex must be locked.
func (p *Pool) seat(worker string, now time.Time) *seat {
	s := p.workers[worker]
	if s == nil {
		if len(p.workers) >= maxWorkers {
			return nil
		}
		s = &seat{unit: idle, since: now}
		p.workers[worker] = s
	}
	s.heard = now
	return s
}

// forget removes the seats of workers that were lost long ago.
func (p *Pool) forget(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.workers, func(_ string, s *seat) bool { return now.Sub(s.heard) > forgetAfter })
}

// beat notes what a worker says.
func (p *Pool) beat(msg *nats.Msg) {
	m, err := parse(msg.Data, beat)
	if err != nil {
		p.warn(err)
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Job != p.digest {
		return
	}
	s := p.seat(m.Worker, now)
	if s == nil {
		return
	}
	if s.unit != m.Unit {
		s.unit, s.since = m.Unit, now.Add(-time.Duration(m.Seconds*float64(time.Second)))
	}
	if u := p.open[m.Unit]; u != nil && u.worker != m.Worker {
		u.worker, u.since = m.Worker, now
	}
}

// free reports whether a worker has nothing to do. The mutex must be locked.
func (p *Pool) free(now time.Time) bool {
	for _, s := range p.workers {
		if s.unit == idle && now.Sub(s.heard) < lostAfter {
			return true
		}
	}
	return false
}

// mean returns the mean time of the last units in seconds, 0 if there are none.
func (r *rate) mean() (mean float64) {
	for _, s := range r.last {
		mean += s / float64(len(r.last))
	}
	return mean
}

// median returns the median time of the last units in seconds, 0 if there are none.
func (r *rate) median() float64 {
	if len(r.last) == 0 {
		return 0
	}
	all := slices.Sorted(slices.Values(r.last))
	return all[len(all)/2]
}
