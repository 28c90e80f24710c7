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

// settle rewrites what was done since the mark as one operation a job, so that one that starts and grows in an epoch starts
// with all its workers. Every job gets its last placement, in the order of these. In that order each fits, since the others
// then hold no more than they did when it was found, save for shares of GPUs, whose places the transaction chooses: if one does
// not, all stays as it was.
func (e *scheduler) settle(tx *cluster.Txn, mark int) error {
	ops := tx.Ops()[mark:]
	clear(e.last)
	for i := range ops {
		e.last[ops[i].Job] = i
	}
	if len(e.last) == len(ops) {
		return nil
	}
	e.changes = e.changes[:0]
	for i := range ops {
		e.changes = append(e.changes, change{ops[i].Job, slices.Clone(ops[i].Placement())})
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
	if tx.View().Phase(c.job) == cluster.Pending {
		return tx.Place(c.job, c.to)
	}
	return tx.Resize(c.job, c.to)
}
