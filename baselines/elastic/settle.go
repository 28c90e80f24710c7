package elastic

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// change is what becomes of a job in an epoch.
type change struct {
	job cluster.JobID
	to  cluster.Placement
}

// settle rewrites what was done since the mark so that a job that starts and grows in one epoch starts with all its workers:
// the driver would charge it for a resize. Every job gets its last placement, in the order of these. In that order each fits,
// since the others then hold no more than they did when it was found, save for shares of GPUs, whose places the transaction
// chooses: if one does not, all stays as it was.
func (e *scheduler) settle(tx *cluster.Txn, mark int) error {
	again := false
	e.changes = e.changes[:0]
	clear(e.last)
	for i := range tx.Ops()[mark:] {
		o := &tx.Ops()[mark+i]
		_, twice := e.last[o.Job]
		again = again || twice
		e.last[o.Job] = i
		e.changes = append(e.changes, change{o.Job, slices.Clone(o.Placement())})
	}
	if !again {
		return nil
	}
	tx.Rollback(mark)
	for i, c := range e.changes {
		if e.last[c.job] != i {
			continue
		}
		if err := e.put(tx, c); err != nil {
			tx.Rollback(mark)
			return e.repeat(tx)
		}
	}
	return nil
}

// repeat does all changes as they were done.
func (e *scheduler) repeat(tx *cluster.Txn) error {
	for _, c := range e.changes {
		if err := e.put(tx, c); err != nil {
			return err
		}
	}
	return nil
}

func (e *scheduler) put(tx *cluster.Txn, c change) error {
	if tx.State().Phase(c.job) == cluster.Pending {
		return tx.Place(c.job, c.to)
	}
	return tx.Resize(c.job, c.to)
}
