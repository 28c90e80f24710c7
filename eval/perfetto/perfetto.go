// Package perfetto writes the schedule of an event log in the Trace Event Format, the JSON that ui.perfetto.dev and
// chrome://tracing open.
//
// A server is a process and a GPU is one or more of its threads. Jobs that share a GPU have separate threads, called slots, so
// that no two slices of a thread overlap. A job keeps the lowest free slot of its GPU for a whole stay. All slices of a job have
// its name, and one flow joins them, from GPU to GPU and from stay to stay. The process "cluster" contains counters and the
// events that stopped jobs; the process "queue" contains a slice for every wait. Stays and waits of no duration are left out.
//
// Format: "Trace Event Format", Duca and Sinclair, Google, 2016. Perfetto treats it as a legacy format with best-effort support.
// Process and thread ids start at 1, and all thread ids differ, because Perfetto interprets them as Linux ids.
package perfetto

import (
	"io"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// Write writes the schedule of a log. Timestamps are in microseconds, with up to three decimals, and equal those of the log
// exactly; other times are in seconds. Equal logs give equal bytes. Write returns only errors of w.
func Write(w io.Writer, log *sim.Log) error {
	stays := eval.Stays(log)
	p := &pen{layout: newLayout(log, stays), out: newWriter(w), log: log, stays: stays, jobs: make([]progress, len(log.Jobs))}
	if n := len(log.Records); n > 0 {
		p.until = log.Records[n-1].At
	}
	p.counters = newCounters(log)
	p.names()
	for i := range log.Records {
		r := &log.Records[i]
		p.follow(r)
		p.counters.follow(log, r)
		if i+1 == len(log.Records) || log.Records[i+1].At > r.At {
			p.count(r.At)
		}
	}
	for id := range p.jobs {
		p.endWait(cluster.JobID(id), p.until)
	}
	return p.out.end(log)
}

// pen writes the events of a log in the order of its records.
type pen struct {
	*layout
	out      *writer
	log      *sim.Log
	stays    [][]eval.Stay
	jobs     []progress
	lane     int // index into layout.lanes of the next worker to write
	until    time.Duration
	counters *counters
}

// progress is the position in the records of a job.
type progress struct {
	stay    int           // number of its stays that have begun
	slices  int           // number of its slices written
	since   time.Duration // when its latest wait began
	waiting bool          // whether a slice of the queue is open
}

func (p *pen) follow(r *sim.Record) {
	switch r.Kind {
	case sim.Submit:
		p.beginWait(r)
	case sim.Preempt:
		p.stopped(r, p.preemptions)
		p.beginWait(r)
	case sim.Interrupt:
		p.stopped(r, p.interruptions)
		p.beginWait(r)
	case sim.Start, sim.Resize, sim.Migrate:
		p.endWait(r.Job, r.At)
		p.stay(r)
	case sim.Loan, sim.Reclaim, sim.Seize:
		p.happened(r, r.Kind.String())
	case sim.Fail, sim.Repair:
		name := r.Kind.String()
		if r.Index >= 0 {
			name += " " + gpuName(r.Index, 0)
		}
		p.happened(r, name)
	}
}

// happened writes an instant event for a server.
func (p *pen) happened(r *sim.Record, name string) {
	p.out.instant(r.At, p.pid(r.Server), p.server[r.Server], name)
	p.out.close()
}

// stopped writes an instant event for a job that lost its GPUs.
func (p *pen) stopped(r *sim.Record, tid int) {
	j := &p.log.Jobs[r.Job]
	p.out.instant(r.At, clusterPID, tid, j.Name)
	p.out.args()
	p.out.text("job", j.Name)
	p.out.whole("id", int64(r.Job))
	p.out.some("user", j.User)
	p.out.close()
}

// beginWait opens a slice in the queue, unless the job starts at the same instant.
func (p *pen) beginWait(r *sim.Record) {
	now, j := &p.jobs[r.Job], &p.log.Jobs[r.Job]
	now.since = r.At
	start := p.until
	if now.stay < len(p.stays[r.Job]) {
		start = p.stays[r.Job][now.stay].From
	}
	if start == r.At {
		return
	}
	now.waiting = true
	p.out.wait('b', r.At, p.queue, r.Job, waitName(p.log, r.Job))
	p.out.args()
	p.out.text("job", j.Name)
	p.out.some("user", j.User)
	p.out.text("since", r.Kind.String())
	p.out.seconds("submit_s", j.Submit)
	p.out.close()
}

func (p *pen) endWait(id cluster.JobID, at time.Duration) {
	if now := &p.jobs[id]; now.waiting {
		now.waiting = false
		p.out.wait('e', at, p.queue, id, waitName(p.log, id))
		p.out.close()
	}
}

// stay writes a slice for every worker of a job whose stay begins.
func (p *pen) stay(r *sim.Record) {
	now := &p.jobs[r.Job]
	s := &p.stays[r.Job][now.stay]
	now.stay++
	if s.From == s.To {
		return
	}
	gpus, all := p.log.GPUs(r), p.log.Placement(r)
	for i, piece := range all {
		for _, gpu := range gpus[:piece.Workers] {
			tid := p.gpu[p.first[piece.Server]+int(gpu)] + int(p.lanes[p.lane])
			p.lane, now.slices = p.lane+1, now.slices+1
			p.out.slice(s, p.pid(piece.Server), tid, p.log.Jobs[r.Job].Name)
			p.out.flow(int(r.Job)+1, now.slices > 1, now.slices < p.slices[r.Job])
			p.describe(s, r, now, all, i)
			p.out.close()
		}
		gpus = gpus[piece.Workers:]
	}
}

// describe writes the details that the viewer shows for a selected slice.
func (p *pen) describe(s *eval.Stay, r *sim.Record, now *progress, all cluster.Placement, piece int) {
	j := &p.log.Jobs[r.Job]
	p.out.args()
	p.out.text("job", j.Name)
	p.out.whole("id", int64(r.Job))
	p.out.some("user", j.User)
	p.out.some("tenant", j.Tenant)
	p.out.some("model", j.Model)
	p.out.whole("workers", int64(all.Workers()))
	p.out.milli("gpus_each", int64(all[piece].GPUMilli))
	p.out.whole("workers_here", int64(all[piece].Workers))
	p.out.whole("servers", int64(len(all)))
	p.out.seconds("submit_s", j.Submit)
	if r.Kind == sim.Start {
		p.out.seconds("waited_s", r.At-now.since)
	}
	p.out.whole("stay", int64(now.stay))
	p.out.text("begins", r.Kind.String())
	p.out.text("ends", s.End.String())
}

func waitName(log *sim.Log, id cluster.JobID) string {
	wanted := log.Jobs[id].GPUMilli()
	if wanted == cluster.WholeGPU {
		return "waiting for 1 GPU"
	}
	return "waiting for " + string(appendMilli(nil, wanted)) + " GPUs"
}
