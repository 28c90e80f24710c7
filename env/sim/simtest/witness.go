package simtest

import "github.com/clustergym/clustergym/env/cluster"

// Witness is a scheduler that records which jobs it proposed to start when it was last asked.
type Witness struct {
	cluster.Scheduler
	Starts *[]cluster.JobID
}

// Schedule implements cluster.Scheduler.
func (w Witness) Schedule(tx *cluster.Txn) error {
	mark := tx.Mark()
	*w.Starts = (*w.Starts)[:0]
	err := w.Scheduler.Schedule(tx)
	for _, o := range tx.Ops()[mark:] {
		if o.Kind == cluster.OpPlace {
			*w.Starts = append(*w.Starts, o.Job)
		}
	}
	return err
}
