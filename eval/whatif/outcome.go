package whatif

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Outcome is what came of a play. Times count from the instant of the snapshot and are exact to the microsecond.
type Outcome struct {
	Policy  string
	Change  string // in words
	Servers int    // that training jobs may use from the beginning on
	GPUs    int64  // of those, in order
	Ended   string // why the play was cut off, "" if every job that can run finished
	Jobs    []Job  // by id
	Assumed []Assumed

	Makespan    time.Duration // until the last finish
	Held        float64       // GPU-hours that jobs held until then
	Open        float64       // GPU-hours that were there for them until then
	Preemptions int
	Migrations  int
	Resizes     int
	// Interruptions are stops that the policy did not want: by a server that is removed or taken back by the inference pool.
	Interruptions int
}

// Job is what becomes of one job of the snapshot.
type Job struct {
	ID       cluster.JobID // in the state that was played
	Name     string
	Workers  int32
	Age      time.Duration // since its submission
	Ran      bool          // in the snapshot
	Start    time.Duration // when it first gets GPUs; 0 for one that runs and is not stopped at once
	Finish   time.Duration
	Started  bool
	Finished bool
	Wait     time.Duration // that it spends without GPUs, until it finishes or the play ends
	Stops    int           // preemptions and interruptions
	AtOnce   bool          // it runs in the snapshot and is stopped at that instant
	Never    Never         // why it does not run or finish, "" if it does

	held    int64 // thousandths of GPUs, now
	running bool
	since   time.Duration // of what it does now
}

// JCT is the time from the job's submission to its finish.
func (j *Job) JCT() time.Duration { return j.Age + j.Finish }

// Never says why a job does not finish in a play.
type Never string

// The reasons.
const (
	NeverFits Never = "never-fits" // the working servers could not hold it; it is left out of the play
	CutOff    Never = "cut-off"    // the play ended before: see Outcome.Ended
)

// Assumed is a job that is played other than the snapshot says.
type Assumed struct {
	Job  string  `json:"job"`
	Why  Guess   `json:"why"`
	Left float64 `json:"left_s"` // work that it is taken to have left, in seconds of isolated run time
}

// Guess says what was assumed of a job.
type Guess string

// The guesses.
const (
	NoEstimate Guess = "no-estimate"   // it needs Options.Assume in all
	Overrun    Guess = "overrun"       // it has outlived its estimate: it needs as long again as it ran
	Shrunk     Guess = "fewer-workers" // it asks for more than the working servers hold: for as many as they do
)

// outcome reads the log of the play.
func (st *stage) outcome(policy string, c *Change, ended string) *Outcome {
	o := &Outcome{Policy: policy, Change: c.String(), Ended: ended, Jobs: st.out, Assumed: st.assumed}
	log := st.episode.Log()
	b := books{stage: st, out: o, lent: make([]bool, len(st.removed)), down: make([]bool, len(st.removed)),
		gpus: make([]int64, len(st.removed))}
	for i, v := range log.Config.Cluster.Servers {
		b.gpus[i] = int64(v.GPUs)
	}
	for i := range log.Records {
		b.read(log, &log.Records[i])
	}
	o.Servers, o.GPUs = b.servers, b.first
	for i := range st.out {
		j := &st.out[i]
		if !j.Finished {
			if j.Never == "" {
				j.Never = CutOff
			}
			if !j.running {
				j.Wait += b.at - j.since
			}
		}
	}
	return o
}

// books adds up a log, record by record.
type books struct {
	*stage
	out     *Outcome
	lent    []bool
	down    []bool
	gpus    []int64 // in order
	at      time.Duration
	begun   bool
	servers int
	first   int64 // GPUs open at the beginning
	held    int64 // thousandths of GPUs, now
	used    float64
	there   float64
}

func (b *books) read(log *sim.Log, r *sim.Record) {
	at := max(r.At-b.begin, 0).Round(time.Microsecond) // the play begins a nanosecond late
	if at > b.at {
		if !b.begun {
			b.begun, b.servers, b.first = true, b.openServers(), b.open()
		}
		hours := (at - b.at).Hours()
		b.used += hours * float64(b.held) / cluster.WholeGPU
		b.there += hours * float64(b.open())
		b.at = at
	}
	o := b.out
	switch r.Kind {
	case sim.Loan, sim.Reclaim, sim.Seize:
		b.lent[r.Server] = r.Kind == sim.Loan
	case sim.Fail:
		if r.Index < 0 {
			b.down[r.Server] = true
		} else {
			b.gpus[r.Server]--
		}
	case sim.Start, sim.Migrate, sim.Resize:
		b.take(r.Job, log.Placement(r).GPUMilli())
		if r.Kind == sim.Migrate {
			o.Migrations++
		}
		if r.Kind == sim.Resize {
			o.Resizes++
		}
	case sim.Preempt:
		o.Preemptions++
		b.stop(r.Job)
	case sim.Interrupt:
		o.Interruptions++
		b.stop(r.Job)
	case sim.Finish:
		j := b.job(r.Job)
		b.held -= j.held
		j.held, j.running, j.Finished, j.Finish = 0, false, true, at
		o.Makespan, o.Held, o.Open = at, b.used, b.there
	case sim.End:
		if !b.begun {
			b.servers, b.first = b.openServers(), b.open()
		}
	}
}

func (b *books) job(id cluster.JobID) *Job { return &b.stage.out[b.source[id]] }

func (b *books) take(id cluster.JobID, milli int64) {
	j := b.job(id)
	b.held += milli - j.held
	j.held = milli
	if j.running {
		return
	}
	j.Wait += b.at - j.since
	j.running, j.since = true, b.at
	if !j.Started {
		j.Started, j.Start = true, b.at
	}
}

func (b *books) stop(id cluster.JobID) {
	j := b.job(id)
	b.held -= j.held
	j.held, j.running, j.since = 0, false, b.at
	j.Stops++
	if b.at == 0 { // it had no time to run
		j.Started, j.AtOnce = false, j.AtOnce || j.Ran
	}
}

func (b *books) isOpen(i int) bool {
	pool := b.config.Cluster.Servers[i].Pool
	return !b.down[i] && (pool == cluster.Training || b.lent[i])
}

func (b *books) open() int64 {
	n := int64(0)
	for i := range b.gpus {
		if b.isOpen(i) {
			n += b.gpus[i]
		}
	}
	return n
}

func (b *books) openServers() int {
	n := 0
	for i := range b.gpus {
		if b.isOpen(i) {
			n++
		}
	}
	return n
}
