package observe

import (
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
)

// Feature is the meaning of one number of an observation, as the manifest of a policy stores it.
type Feature = checkpoints.Feature

// Spec describes the columns of an Observation.
type Spec struct {
	Window    int       // maximum number of jobs shown at a time, unless candidates are about more jobs
	Server    []Feature // of a server
	Job       []Feature // of a job
	Candidate []Feature // of a candidate
	Global    []Feature // of the cluster
}

// Observation shows a state and its candidates as rows of numbers. The caller owns it and may reuse it; an Encoder allocates its
// slices on first use and later fills them in place.
type Observation struct {
	Servers    []float32       // [servers][len(Spec.Server)]
	Jobs       []float32       // [jobs][len(Spec.Job)]: the jobs that candidates are about, then the rest of the window
	Ids        []cluster.JobID // the job of each row of Jobs
	Global     []float32       // [len(Spec.Global)]
	Candidates []float32       // [candidates][len(Spec.Candidate)]
	Of         []int32         // [candidates]: the row in Jobs of each candidate's job, -1 for none
}

// Encoder turns a state and a list of candidates into numbers. Its output must depend on these two only, so that a policy
// observes the same in training and in production.
type Encoder interface {
	// Spec returns the meaning of the numbers. It never changes.
	Spec() Spec
	// Encode fills o. The state is that before any of the candidates. An encoder may carry out a candidate to observe its effect,
	// but must roll it back. At the end of an episode the list is empty. If a candidate is infeasible, Encode returns an error
	// that wraps cluster.ErrInfeasible.
	Encode(tx *cluster.Txn, list []candidates.Candidate, o *Observation) error
}
