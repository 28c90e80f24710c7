package baselines

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// evictor stops running jobs for a waiting job that comes before them in the order. A plan counts room by the cluster's totals: a
// job that fits them may still find no server, because each has only a part of what it needs (shares of GPUs, CPU, memory). Such
// a job would wait until jobs end, however late in the order these are.
//
// evictor looks at servers one by one: on each it would stop the last job in the order, then the one before it, and so on, until
// the waiting job finds room. It takes the server on which the job that comes first of these comes latest in the order. It stops
// all jobs behind that one there, also those that could go on: the waiting job then starts with better amounts, and on training
// windows this was better than to spare them.
type evictor struct {
	on  [][]cluster.JobID // for each server: its jobs that come late in the order, the last one first
	fit cluster.Placement // scratch
}

// run stops jobs so that a job fits as it asked. The tickets are those of all live jobs in their order. It returns the jobs
// that it stopped, none if no stops on one server make room. They are valid until the next call.
func (e *evictor) run(tx *cluster.Txn, tickets []ticket, id cluster.JobID) ([]cluster.JobID, error) {
	s, mark := tx.View(), tx.Mark()
	own := slices.IndexFunc(tickets, func(t ticket) bool { return t.job == id })
	e.on = slices.Grow(e.on[:0], s.Servers())[:s.Servers()]
	for i := range e.on {
		e.on[i] = e.on[i][:0]
	}
	for i := len(tickets) - 1; i > own && tickets[i].key > tickets[own].key; i-- {
		last := tickets[i].job
		if s.Phase(last) != cluster.Running {
			continue
		}
		held := s.Placement(last)
		for k := range held {
			on := &e.on[held[k].Server]
			if *on = append(*on, last); !enough(s, id, held[k].Server, *on) {
				continue
			}
			if err := preempt(tx, *on); err != nil {
				return nil, err
			}
			var fits bool
			if e.fit, fits = s.BestFit(id, e.fit[:0]); fits {
				return *on, nil
			}
			tx.Rollback(mark)
			held = s.Placement(last) // the stop took it away
		}
	}
	return nil, nil
}

// enough reports whether a server's free CPU and memory and those of jobs on it suffice for the job. It is true for a
// gang, which may also use other servers.
func enough(s *cluster.View, id cluster.JobID, server cluster.ServerID, on []cluster.JobID) bool {
	spec := s.Spec(id)
	if spec.Workers > 1 {
		return true
	}
	cpu, mem := s.FreeCPU(server), s.FreeMem(server)
	for _, j := range on {
		for _, piece := range s.Placement(j) {
			if piece.Server == server {
				cpu += int64(piece.Workers) * int64(piece.CPUMilli)
				mem += int64(piece.Workers) * int64(piece.MemMiB)
			}
		}
	}
	return cpu >= int64(spec.Request.CPUMilli) && mem >= int64(spec.Request.MemMiB)
}

func preempt(tx *cluster.Txn, jobs []cluster.JobID) error {
	for _, id := range jobs {
		if err := tx.Preempt(id); err != nil {
			return err
		}
	}
	return nil
}
