package review

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Kind says what an offer is.
type Kind uint8

// The kinds.
const (
	Own     Kind = iota // the base's own: its next start, its proposal as a whole, or to start nobody else
	Packed              // the job beside another on the same GPUs
	Alone               // the job on GPUs that nobody else uses
	Aligned             // the job where others end when it does
	Sized               // the job with another number of workers
	First               // another job in its place
	Begin               // a job that the base leaves waiting
	Wait                // the job waits at this instant
	Stop                // nobody starts at this instant
	Reserve             // servers are held for a gang that the job would be in the way of
	Gather              // a gang waits for fewer servers
	Drop                // a block that is held is given up
	Veto                // nobody is preempted
	Grow                // a running job gets more workers
	Move                // a running job moves, or gets other amounts
	Preempt             // a running job is stopped for one that waits
	Kinds   int  = iota
)

var kindNames = [...]string{
	"own", "packed", "alone", "aligned", "sized", "first", "begin", "wait", "stop", "reserve", "gather", "drop", "veto", "grow",
	"move", "preempt",
}

func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Offer is one thing that could be done: operations at once, and what the base is held to from then on.
type Offer struct {
	Kind Kind
	Job  cluster.JobID      // that it is about, -1 for none
	Ops  []cluster.Proposal // what happens at once; none where it only waits
	Wait time.Duration      // until what it waits for is expected, 0 for nothing
	// Saves is, of Grow and Move, what the job gains of its time to go by what profiles say.
	Saves time.Duration

	commitment
	of *Scheduler // that offers it, nil for none
}

// Apply does at once what the offer is. An error wraps cluster.ErrInfeasible, and what was done before it stands.
func (o *Offer) Apply(tx *cluster.Txn) error {
	for i := range o.Ops {
		if err := tx.Do(&o.Ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// starts reports whether the offer starts the job.
func (o *Offer) starts(id cluster.JobID) bool {
	return slices.ContainsFunc(o.Ops, func(p cluster.Proposal) bool { return p.Kind == cluster.OpPlace && p.Job == id })
}

// proposals copies operations, to be done again.
func proposals(ops []cluster.Op) []cluster.Proposal {
	all := make([]cluster.Proposal, len(ops))
	for i := range ops {
		all[i] = ops[i].Proposal()
	}
	return all
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

// starts appends what was proposed since the mark; only is false if that is not starts alone.
func starts(tx *cluster.Txn, mark int, dst []start) (all []start, only bool) {
	ops := tx.Ops()[mark:]
	for i := range ops {
		o := &ops[i]
		if o.Kind != cluster.OpPlace {
			return dst, false
		}
		dst = append(dst, start{o.Job, slices.Clone(o.Placement()), unshared(tx.State(), o)})
	}
	return dst, true
}

// unshared reports whether the job has its GPUs to itself.
func unshared(s *cluster.State, o *cluster.Op) bool {
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
