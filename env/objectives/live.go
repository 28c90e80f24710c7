package objectives

import (
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Live adds up what a cluster costs from looks at it now and then. Each look may be at another State, in which the same jobs and
// servers have other ids: they are known by name. The time between two looks is charged as if the cluster had stayed as it was at
// the first, so a job that ends or starts between them counts until the second. What was before the first look is not charged,
// but ages and waits count from the submission. Not safe for concurrent use.
type Live struct {
	meter *Meter
	view  *cluster.View // the one that it looks at
	jobs  map[string]*followed
	list  []*followed     // those of the last look, in its order, so that equal looks give equal sums
	gone  []*followed     // those that were away then
	free  []cluster.JobID // in the meter, of jobs that are gone
	looks uint64
}

// followed is a job that waits or runs.
type followed struct {
	id       cluster.JobID // in the meter
	name     string
	spec     *cluster.JobSpec
	progress time.Duration
	pieces   []piece // sorted
	seen     uint64  // the look that last saw it
}

// piece is what a job holds on a server.
type piece struct {
	server  string
	workers int32
	amount  cluster.Amount
}

// NewLive returns a Live that has not looked yet.
func NewLive(o *Objective) *Live {
	l := &Live{jobs: map[string]*followed{}}
	l.meter = NewMeter(o, Options{RunTime: func(id cluster.JobID) time.Duration { return Believed(l.view, id) }})
	return l
}

// Objective returns what it measures.
func (l *Live) Objective() *Objective { return l.meter.objective }

// Terms returns what each term has cost since the first look. Read only.
func (l *Live) Terms() []float64 { return l.meter.terms }

// Look charges the time since the last look and what has happened since. It ignores a state that is older than the last. A job
// that is not in the state has ended, unless away says that it may come back; nil says that of none. Until then it costs nothing.
// A stop counts where the state says so, and where a job that ran waits now, or ran and was away. How much work a stop destroyed
// is known only of jobs whose starts and progress the state tells while they wait.
func (l *Live) Look(v *cluster.View, away func(name string) bool) {
	m, now := l.meter, v.Now()
	if m.began != cluster.Never && now < m.looked {
		return
	}
	if m.began != cluster.Never {
		for _, j := range l.list {
			m.pass(j.spec, j.id, m.looked, now)
		}
		m.passTogether(m.looked, now)
	}
	l.view, l.looks = v, l.looks+1
	m.began, m.looked, m.clock = min(m.began, now), now, v.Clock()
	last := slices.Concat(l.list, l.gone)
	l.list, l.gone = make([]*followed, 0, len(last)), nil
	for _, list := range [2][]cluster.JobID{v.Pending(), v.Running()} {
		for _, id := range list {
			l.see(id)
		}
	}
	l.leave(last, away)
	m.options.Jobs = len(l.list)
	m.seeTogether(v)
}

// Forget makes the next look the first, but keeps what was charged: the time until then costs nothing.
func (l *Live) Forget() {
	for _, j := range slices.Concat(l.list, l.gone) {
		l.free = append(l.free, j.id)
	}
	clear(l.jobs)
	clear(l.meter.together)
	l.list, l.gone, l.meter.began = nil, nil, cluster.Never
}

// see brings the account of a job up to the present state.
func (l *Live) see(id cluster.JobID) {
	v, m := l.view, l.meter
	spec := v.Spec(id)
	j := l.jobs[spec.Name]
	if j == nil {
		j = &followed{id: cluster.JobID(len(m.jobs)), name: spec.Name}
		if n := len(l.free); n > 0 {
			j.id, l.free = l.free[n-1], l.free[:n-1]
		} else {
			m.jobs = append(m.jobs, account{})
		}
		l.jobs[spec.Name] = j
		a := &m.jobs[j.id]
		*a = account{}
		m.choose(a, v, id)
		a.parts = make([]float64, len(a.terms))
		a.recall(v, id)
	} else {
		l.happen(j, id)
	}
	m.jobs[j.id].note(v, id)
	l.list = append(l.list, j)
	j.spec, j.progress, j.seen, j.pieces = spec, v.Progress(id), l.looks, l.placement(id, j.pieces[:0])
}

// placement appends what a job holds, by the names of servers.
func (l *Live) placement(id cluster.JobID, pieces []piece) []piece {
	for _, p := range l.view.Placement(id) {
		pieces = append(pieces, piece{l.view.Server(p.Server).Name, p.Workers, p.Amount})
	}
	slices.SortFunc(pieces, func(a, b piece) int { return strings.Compare(a.server, b.server) })
	return pieces
}

// happen charges what has happened to a job since the last look.
func (l *Live) happen(j *followed, id cluster.JobID) {
	v, a := l.view, &l.meter.jobs[j.id]
	stops, moves, resizes := v.Changes(id)
	runs := v.Phase(id) == cluster.Running
	told := stops > a.stops
	stopped, moved, resized := max(stops-a.stops, 0), max(moves-a.moves, 0), max(resizes-a.resizes, 0)
	a.stops, a.moves, a.resizes = stops, moves, resizes
	switch now := l.placement(id, nil); {
	case a.running && (!runs || j.seen+1 < l.looks):
		stopped = max(stopped, 1)
	case !a.running || stopped+moved+resized > 0: // the state says it, or there is nothing to say
	case !slices.EqualFunc(now, j.pieces, func(a, b piece) bool { return a.server == b.server }):
		moved = 1
	case !slices.Equal(now, j.pieces):
		resized = 1
	}
	fraction := 0.0
	if done := v.Progress(id); stopped > 0 && (told || !runs) && v.Starts(id) > 0 && done < j.progress {
		fraction = 1 - float64(done)/float64(j.progress)
	}
	if stopped+moved+resized > 0 {
		l.meter.events(j.id, stopped, moved, resized, fraction)
	}
}

// leave forgets the jobs that have ended.
func (l *Live) leave(last []*followed, away func(name string) bool) {
	for _, j := range last {
		switch {
		case j.seen == l.looks:
		case away != nil && away(j.name):
			l.gone = append(l.gone, j)
		default:
			delete(l.jobs, j.name)
			l.free = append(l.free, j.id)
		}
	}
}

// AppendPerHour appends what an hour costs now by each term.
func (l *Live) AppendPerHour(dst []float64) []float64 {
	m := l.meter
	n := len(dst)
	dst = append(dst, m.together...)
	for _, j := range l.list {
		a := &m.jobs[j.id]
		for _, i := range a.terms {
			t := &m.objective.Terms[i]
			wait, run := m.termRates(a, i, j.spec, 0)
			switch {
			case !a.running:
				dst[n+int(i)] += wait
			case t.Cost == LostGPUTime && a.since > m.looked: // it restarts
				dst[n+int(i)] += t.Price.Amount * a.gpus / t.Price.hours()
			default:
				dst[n+int(i)] += run
			}
		}
	}
	return dst
}
