package candidates

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Candidate is one thing that could be done now: operations that happen at once, and what the base is held to from then on. What
// it points to is the source's, and valid until its next step, as the list is.
type Candidate struct {
	Kind Kind
	Job  cluster.JobID      // that it is about, -1 for none
	Ops  []cluster.Proposal // what happens at once, in order; none if something only waits
	Wait time.Duration      // until what it waits for is expected, 0 if it waits for nothing or nobody can tell
	// Saves is, of Grow and Move, how much of its time to go the job gains by what profiles say.
	Saves time.Duration
	By    string // of Rival, the scheduler's name
	// Gone says that the candidate was carried out or no longer fits, and cannot be taken.
	Gone bool
	// Members are the servers that take part, ascending; their weights sum to 1. Those of a wait are the servers on which jobs
	// would have started, those of a block that is held are its servers, and those of a veto that starts nobody are the servers
	// of the jobs that it spares. Only where the base starts nobody is there no member.
	Members []Member

	commitment
	of *walk // that found it, nil for none
}

// Apply carries out the operations. An error wraps cluster.ErrInfeasible, and what was done before it stands: the caller rolls
// back.
func (c *Candidate) Apply(tx *cluster.Txn) error {
	for i := range c.Ops {
		if err := tx.Do(&c.Ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// do carries out the operations and reports whether the state allows them; if not, it is as before.
func (c *Candidate) do(tx *cluster.Txn) bool {
	mark := tx.Mark()
	for i := range c.Ops {
		if !tx.Try(&c.Ops[i]) {
			tx.Rollback(mark)
			return false
		}
	}
	return true
}

// starts reports whether the candidate starts the job.
func (c *Candidate) starts(id cluster.JobID) bool {
	return slices.ContainsFunc(c.Ops, func(p cluster.Proposal) bool { return p.Kind == cluster.OpPlace && p.Job == id })
}

// start is a job and where it starts.
type start struct {
	job cluster.JobID
	at  cluster.Placement
	own bool // on GPUs that nobody else uses
}

func (st *start) proposal() cluster.Proposal {
	return cluster.Proposal{Kind: cluster.OpPlace, Job: st.job, Placement: st.at}
}

// unshared reports whether the job has its GPUs to itself.
func unshared(s *cluster.View, o *cluster.Op) bool {
	gpus := o.GPUs()
	for _, p := range o.Placement() {
		for _, g := range gpus[:p.Workers] {
			if int32(s.GPUUse(p.Server)[g]) != p.GPUMilli {
				return false
			}
		}
		gpus = gpus[p.Workers:]
	}
	return true
}
