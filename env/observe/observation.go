package observe

import (
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
)

// Feature is the meaning of one number of an observation, as a policy's manifest stores it.
type Feature = checkpoints.Feature

// Spec is the meaning and the number of columns of an Observation.
type Spec struct {
	Window    int       // jobs that are shown at a time, more only where candidates are about more
	Server    []Feature // of a server
	Job       []Feature // of a job
	Candidate []Feature // of a candidate
	Global    []Feature // of the cluster
}

// Observation shows a state and what could be done in it, as rows of numbers. The caller owns it and may reuse it; an Encoder
// sizes its slices on first use and then fills them in place.
type Observation struct {
	Servers    []float32       // [servers][len(Spec.Server)]
	Jobs       []float32       // [jobs][len(Spec.Job)]: the jobs that candidates are about, then the rest of the window
	Ids        []cluster.JobID // of the rows of Jobs
	Global     []float32       // [len(Spec.Global)]
	Candidates []float32       // [candidates][len(Spec.Candidate)]
	Of         []int32         // [candidates]: the row in Jobs of each candidate's job, -1 for none
}

// Encoder turns a state and a list of candidates into numbers. What it writes must depend on these two alone, so that training
// and production see the same.
type Encoder interface {
	// Spec tells what the numbers mean. It does not change.
	Spec() Spec
	// Encode fills o. The state is that before any of the candidates, and must be so again when Encode returns; an encoder may
	// carry a candidate out and roll it back to see what it changes. There are no candidates at the end of an episode. A
	// candidate that the state does not allow is an error that wraps cluster.ErrInfeasible.
	Encode(tx *cluster.Txn, list []candidates.Candidate, o *Observation) error
}
