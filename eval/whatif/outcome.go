package whatif

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
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

// jct is the time from the job's submission to its finish.
func (j *Job) jct() time.Duration { return j.Age + j.Finish }

// Never says why a job does not finish in a play.
type Never string

// The reasons.
const (
	neverFits Never = "never-fits" // the working servers could not hold it; it is left out of the play
	cutOff    Never = "cut-off"    // the play ended before: see Outcome.Ended
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
	noEstimate Guess = "no-estimate"   // it needs Options.Assume in all
	overrun    Guess = "overrun"       // it has outlived its estimate: it needs as long again as it ran
	shrunk     Guess = "fewer-workers" // it asks for more than the working servers hold: for as many as they do
)

// outcome closes the tally.
func (st *stage) outcome(policy string, c *Change, ended string) *Outcome {
	o := &st.out
	o.Policy, o.Change, o.Ended, o.Assumed, o.Jobs = policy, c.String(), ended, st.assumed, st.jobs
	if o.Servers < 0 { // no time has passed
		o.Servers, o.GPUs = st.servers, st.open
	}
	for i := range o.Jobs {
		if j := &o.Jobs[i]; !j.Finished {
			if j.Never == "" {
				j.Never = cutOff
			}
			if !j.running {
				j.Wait += st.at - j.since
			}
		}
	}
	return o
}
