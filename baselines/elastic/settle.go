package elastic

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// change is a job's last placement in an epoch.
type change struct {
	job cluster.JobID
	to  cluster.Placement
}

// settle replaces the operations since the mark by one operation per job, so that a job that starts and grows in the same epoch
// starts with all its workers. Every job gets its last placement, and the jobs go in the order of these. In that order each
// placement fits, because the other jobs then hold no more than when the placement was found. The exception are shares of GPUs,
// because the transaction chooses their GPUs: if one does not fit, settle restores the original operations.
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

// repeat carries out all changes in their original order.
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
