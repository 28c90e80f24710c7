package candidates

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Candidate is one thing that could be done now: operations that are carried out together, and a commitment that constrains the
// base afterwards. What it points to belongs to the source and, like the list, is valid until the source's next step.
type Candidate struct {
	Kind Kind
	Job  cluster.JobID      // the job that it is about, -1 for none
	Ops  []cluster.Proposal // the operations, in order; none if the candidate only makes jobs wait
	Wait time.Duration      // predicted time until what it waits for happens, 0 if it waits for nothing or the time is unknown
	// Saves is set for Grow and Move: the reduction of the job's remaining time, predicted from profiles.
	Saves time.Duration
	By    string // the scheduler's name, for Rival
	// Also names the other schedulers that proposed the same, for Rival.
	Also []string
	// Gone is true if the candidate was carried out or no longer fits. It cannot be taken then.
	Gone bool
	// Members are the servers that take part, ascending; their weights sum to 1. The members of a wait are the servers on which
	// jobs would have started; of a reservation, the reserved servers; of a veto that starts no job, the servers of the jobs that
	// it spares. Only the base's own candidate has no members, if it starts no job.
	Members []Member

	commitment
	of *walk // the walk that found it, nil for none
}

// Apply carries out the operations. If one is infeasible, Apply returns an error that wraps cluster.ErrInfeasible and leaves the
// earlier ones in effect; the caller rolls them back.
func (c *Candidate) Apply(tx *cluster.Txn) error {
	for i := range c.Ops {
		if err := tx.Do(&c.Ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// do carries out the operations and reports whether the state allows them all. If not, it rolls them back.
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

// starts reports whether the candidate starts the job with this id.
func (c *Candidate) starts(id cluster.JobID) bool {
	return slices.ContainsFunc(c.Ops, func(p cluster.Proposal) bool { return p.Kind == cluster.OpPlace && p.Job == id })
}

// start is a job and the placement with which it starts.
type start struct {
	job cluster.JobID
	at  cluster.Placement
	own bool // on GPUs that no other job uses
}

func (st *start) proposal() cluster.Proposal {
	return cluster.Proposal{Kind: cluster.OpPlace, Job: st.job, Placement: st.at}
}

// unshared reports whether the operation's job has its GPUs to itself.
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
