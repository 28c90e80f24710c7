package sim

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// Kind is the kind of a record.
type Kind uint8

// The kinds of records.
const (
	Submit Kind = iota
	Start
	Resize
	Preempt
	Migrate
	Loan
	Reclaim
	Finish
	Fail      // a server or a GPU goes out of service
	Repair    // the server or the GPU is back in service
	Interrupt // a job is stopped by a failure or because its server is seized
	Need      // from now on the inference pool needs and offers the amounts of Config.Demand[Index]
	Seize     // a server on loan is taken back by force, because its deadline has passed
	Measure   // the throughput of a running job is measured: see Log.Speed
	End
)

var kindNames = [...]string{"submit", "start", "resize", "preempt", "migrate", "loan", "reclaim", "finish", "fail", "repair",
	"interrupt", "need", "seize", "measure", "end", "unsubmitted"}

func (k Kind) String() string { return kindNames[k] }

// Record is one event of an episode. The log holds its placement, if it has one: see Log.Placement.
type Record struct {
	At     time.Duration
	Kind   Kind
	Job    cluster.JobID    // for kinds that concern a job
	Server cluster.ServerID // for loan, reclaim, seize, fail and repair
	Index  int32            // fail, repair: the GPU, -1 for the whole server; need: index into Config.Demand; measure: see Log.Speed
	pieces span
	gpus   span
}

type span struct{ from, to uint32 }

// Log is the event log of an episode: the cluster, the jobs, and all events in order. Metrics, charts and replay need nothing
// else.
type Log struct {
	Config    Config
	Scheduler string
	Jobs      []trace.Job // by JobID
	Outcome   Outcome
	Records   []Record
	pieces    []cluster.Piece
	gpus      []int32
	speeds    []float64 // by Record.Index of the records of kind Measure
	off       bool      // in a fork: nothing is recorded
}

// Placement returns the placement that the record gave its job, nil if it gave none. Read only.
func (l *Log) Placement(r *Record) cluster.Placement {
	return cluster.Placement(l.pieces[r.pieces.from:r.pieces.to])
}

// GPUs returns the GPU indices of the record's placement, one per worker, piece by piece. Read only.
func (l *Log) GPUs(r *Record) []int32 { return l.gpus[r.gpus.from:r.gpus.to] }

// Speed returns the throughput in a record of kind Measure, in the unit of physics.Throughput.
func (l *Log) Speed(r *Record) float64 { return l.speeds[r.Index] }

// newLog returns an empty log with enough memory to submit, start and finish every job once.
func newLog(cfg Config, jobs []trace.Job) Log {
	n := len(jobs)
	return Log{
		Config: cfg, Jobs: jobs, Records: make([]Record, 0, 3*n+1),
		pieces: make([]cluster.Piece, 0, n), gpus: make([]int32, 0, 2*n),
	}
}

func (l *Log) append(r Record) {
	if !l.off {
		l.Records = append(l.Records, r)
	}
}

var kindOf = [...]Kind{
	cluster.OpPlace: Start, cluster.OpResize: Resize, cluster.OpPreempt: Preempt, cluster.OpMigrate: Migrate,
	cluster.OpLoan: Loan, cluster.OpReclaim: Reclaim,
}

func (l *Log) op(at time.Duration, o *cluster.Op) {
	if l.off {
		return
	}
	r := Record{At: at, Kind: kindOf[o.Kind], Job: o.Job, Server: o.Server}
	l.place(&r, o.Placement(), o.GPUs())
	l.append(r)
}

func (l *Log) place(r *Record, p cluster.Placement, gpus []int32) {
	r.pieces.from, r.gpus.from = uint32(len(l.pieces)), uint32(len(l.gpus))
	l.pieces, l.gpus = append(l.pieces, p...), append(l.gpus, gpus...)
	r.pieces.to, r.gpus.to = uint32(len(l.pieces)), uint32(len(l.gpus))
}

func (l *Log) reading(r reading, speed float64) {
	if l.off {
		return
	}
	l.append(Record{At: r.at, Kind: Measure, Job: r.job, Index: int32(len(l.speeds))})
	l.speeds = append(l.speeds, speed)
}

func (l *Log) end(at time.Duration, o Outcome) {
	l.Outcome = o
	l.append(Record{At: at, Kind: End})
}
