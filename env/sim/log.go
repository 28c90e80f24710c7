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
	// Index is for fail and repair the GPU, -1 for the whole server; for need an index into Config.Demand; for measure see
	// Log.Speed; for start, resize and migrate see Log.Placement.
	Index int32
}

// places reports whether records of the kind have a placement.
func (k Kind) places() bool { return k == Start || k == Resize || k == Migrate }

// place is where a placement begins in the log's pieces and GPU indices. It ends where the next one begins.
type place struct{ pieces, gpus uint32 }

// Log is the event log of an episode: the cluster, the jobs, and all events in order. Metrics, charts and replay need nothing
// else.
type Log struct {
	Config    Config
	Scheduler string
	Jobs      []trace.Job // by JobID
	Outcome   Outcome
	Records   []Record
	forgotten int
	places    []place // by Record.Index of the records that have a placement
	pieces    []cluster.Piece
	gpus      []int32
	speeds    []float64 // by Record.Index of the records of kind Measure
	ended     int       // the number of records of kind Finish
	off       bool      // in a fork: nothing is recorded
}

// Placement returns the placement that the record gave its job, nil if it gave none. Read only.
func (l *Log) Placement(r *Record) cluster.Placement {
	if !r.Kind.places() {
		return nil
	}
	to := len(l.pieces)
	if next := int(r.Index) + 1; next < len(l.places) {
		to = int(l.places[next].pieces)
	}
	return cluster.Placement(l.pieces[l.places[r.Index].pieces:to])
}

// GPUs returns the GPU indices of the record's placement, one per worker, piece by piece. Read only.
func (l *Log) GPUs(r *Record) []int32 {
	if !r.Kind.places() {
		return nil
	}
	to := len(l.gpus)
	if next := int(r.Index) + 1; next < len(l.places) {
		to = int(l.places[next].gpus)
	}
	return l.gpus[l.places[r.Index].gpus:to]
}

// Speed returns the throughput in a record of kind Measure, in the unit of physics.Throughput.
func (l *Log) Speed(r *Record) float64 { return l.speeds[r.Index] }

// Forget removes all records from the log of a long episode, to save memory. Read the records before. A log that has forgotten
// records cannot be written or replayed, and Placement, GPUs and Speed accept only records that it still contains.
func (l *Log) Forget() {
	l.forgotten += len(l.Records)
	if most := 1 << 16; cap(l.Records) > most && len(l.Records) < most { // newLog has reserved memory for all records
		l.Records, l.places, l.pieces, l.gpus = nil, nil, nil, nil
	}
	l.Records, l.places, l.pieces, l.gpus, l.speeds = l.Records[:0], l.places[:0], l.pieces[:0], l.gpus[:0], l.speeds[:0]
}

// Forgotten returns the number of records that the log has forgotten.
func (l *Log) Forgotten() int { return l.forgotten }

// newLog returns an empty log with enough memory to submit, start and finish every job once.
func newLog(cfg Config, jobs []trace.Job) Log {
	n := len(jobs)
	return Log{
		Config: cfg, Jobs: jobs, Records: make([]Record, 0, 3*n+1),
		places: make([]place, 0, n), pieces: make([]cluster.Piece, 0, n), gpus: make([]int32, 0, 2*n),
	}
}

func (l *Log) append(r Record) {
	if l.off {
		return
	}
	if len(l.Records) == cap(l.Records) {
		l.grow()
	}
	if r.Kind == Finish {
		l.ended++
	}
	l.Records = append(l.Records, r)
}

// grow makes room for a quarter more records or, if that is more, for those that the log will have if there are as many for each
// of the other jobs as for those that have ended, but at most for three times as many more. It makes room for placements alike.
// Thus a long log is seldom copied.
func (l *Log) grow() {
	more := 1.25
	if l.ended > 0 {
		more = min(max(more, 1.05*float64(len(l.Jobs))/float64(l.ended)), 4)
	}
	l.Records, l.places = enlarge(l.Records, more), enlarge(l.places, more)
	l.pieces, l.gpus = enlarge(l.pieces, more), enlarge(l.gpus, more)
}

// enlarge returns the list with room for more times as many elements, and for a few at least. Unlike slices.Grow it does not
// touch the memory that it adds.
func enlarge[E any](list []E, more float64) []E {
	if need := int(more*float64(len(list))) + 16; cap(list) < need {
		return append(make([]E, 0, need), list...)
	}
	return list
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
	if r.Kind.places() {
		r.Index = l.place()
		l.pieces, l.gpus = append(l.pieces, o.Placement()...), append(l.gpus, o.GPUs()...)
	}
	l.append(r)
}

// place begins a placement and returns its index in places.
func (l *Log) place() int32 {
	l.places = append(l.places, place{uint32(len(l.pieces)), uint32(len(l.gpus))})
	return int32(len(l.places) - 1)
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
