package whatif

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Outcome is the result of a play. Times are since the snapshot, rounded to microseconds.
type Outcome struct {
	Side         // without the means and the utilisation, which Compare computes
	Jobs []Job   // by id
	Open float64 // GPU-hours open to training until the last finish

	Assumed []Assumed
	Now     time.Duration // when the play begins
	First   First
	Log     *sim.Log // of a play of a log: the whole log, also of what was before
	Differs bool     // whether a play of a log as it was ends otherwise than the log, because the policy does not repeat it
}

// First is the first decision of a play.
type First struct {
	Decision int      // its number in the log; 0 for a snapshot
	Does     string   // what is done
	Dropped  []string // what would be done, but does not fit after the change
	Altered  bool     // whether the change altered it
}

// Job is what happens to one job that has not ended when the play begins.
type Job struct {
	ID       cluster.JobID // in the simulated state
	Name     string
	Workers  int32
	Age      time.Duration // since its submission; negative if it is still to come
	Ran      bool          // whether it runs when the play begins
	Start    time.Duration // when it first gets GPUs; 0 for a job that runs and is not stopped at once
	Finish   time.Duration
	Started  bool
	Finished bool
	Wait     time.Duration // time without GPUs, until it finishes or the play ends
	Stops    int           // number of preemptions and interruptions
	AtOnce   bool          // whether it runs in the snapshot and is stopped at that instant
	Never    Never         // why it does not start or finish; "" if it finishes

	held    int64 // present thousandths of GPUs
	running bool
	since   time.Duration // start of its present state
}

// jct returns the time from the job's submission to its finish.
func (j *Job) jct() time.Duration { return j.Age + j.Finish }

// Never is the reason why a job does not finish in a play.
type Never string

// The values of Never.
const (
	neverFits Never = "never-fits" // the working servers have no room for it; the play leaves it out
	cutOff    Never = "cut-off"    // the play ended first: see Outcome.Ended
)

// Assumed is a job for which the play makes an assumption.
type Assumed struct {
	Job  string  `json:"job"`
	Why  Guess   `json:"why"`
	Left float64 `json:"left_s"` // assumed remaining work, in seconds of isolated run time
}

// Guess is the kind of an assumption.
type Guess string

// The values of Guess.
const (
	noEstimate Guess = "no-estimate"   // the job has no estimate; its total work is Options.Assume
	learned    Guess = "learned"       // the job has no estimate; it runs for the median of what was learned of similar jobs
	overrun    Guess = "overrun"       // the job has exceeded its estimate; as much work remains as it has done
	shrunk     Guess = "fewer-workers" // the job asks for more workers than the working servers hold, and gets as many as they can
)

// outcome completes the tally and returns the outcome.
func (st *stage) outcome(policy string, c *Change, ended string) *Outcome {
	o := &st.out
	o.Policy, o.Cluster, o.Ended, o.Assumed, o.Jobs = policy, c.String(), ended, st.assumed, st.jobs
	o.Now, o.First = st.start, st.first
	for _, m := range st.meters {
		m.Catch(&st.episode.State().View)
		o.Costs = append(o.Costs, m.Bill(func(yield func(cluster.JobID, *cluster.JobSpec) bool) {
			for _, id := range st.ids {
				yield(id, st.spec(id))
			}
		}))
	}
	if o.Servers < 0 { // no time has passed
		o.Servers, o.GPUs = st.servers, st.open
	}
	for i := range o.Jobs {
		if j := &o.Jobs[i]; !j.Finished {
			o.Unfinished++
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
