package cluster

import (
	"fmt"
	"slices"
	"time"
)

// lending is what the inference scheduler allows. The inference scheduler decides how many servers it lends; the training
// scheduler chooses which ones.
type lending struct {
	offer    int32 // the number of servers that may be on loan
	lent     int32 // the number of servers on loan
	deadline time.Duration
}

// SetOffer sets how many servers of the inference pool may be on loan from now on. If more are on loan, the first of the excess
// servers must be back by the deadline. Before the first call, all servers of the pool may be on loan.
func (s *State) SetOffer(servers int32, deadline time.Duration) {
	s.offer, s.deadline = servers, deadline
}

// Offer returns how many servers of the inference pool may be on loan.
func (s *View) Offer() int32 { return s.offer }

// Lent returns the number of servers on loan, including servers that are down.
func (s *View) Lent() int32 { return s.lent }

// Owed returns how many servers on loan must be returned, 0 if none, and the deadline for the first of them.
func (s *View) Owed() (servers int32, deadline time.Duration) {
	return max(s.lent-s.offer, 0), s.deadline
}

// Down reports whether the whole server has failed and is not yet repaired.
func (s *View) Down(id ServerID) bool { return s.servers[id].down }

// Loan opens a server of the inference pool to training jobs. It fails with ErrInfeasible if the loan would exceed Offer.
func (t *Txn) Loan(id ServerID) error { return t.count(t.loan(id)) }

func (t *Txn) loan(id ServerID) error {
	s := t.s
	if id < 0 || int(id) >= len(s.servers) {
		return fmt.Errorf("loan server %d: no such server: %w", id, ErrInfeasible)
	}
	switch v := &s.servers[id]; {
	case v.spec.Pool == Training || v.onLoan:
		return t.refuse(func() error { return fmt.Errorf("loan server %d: it serves training already: %w", id, ErrInfeasible) })
	case v.down:
		return fmt.Errorf("loan server %d: it is down: %w", id, ErrInfeasible)
	case s.lent >= s.offer:
		return t.refuse(func() error {
			return fmt.Errorf("loan server %d: %d are on loan, want at most the %d offered: %w", id, s.lent, s.offer, ErrInfeasible)
		})
	}
	s.lend(id, true)
	t.ops = append(t.ops, Op{Kind: OpLoan, Server: id})
	return nil
}

// Reclaim returns a server on loan to the inference pool. No training job may run on it.
func (t *Txn) Reclaim(id ServerID) error { return t.count(t.reclaim(id)) }

func (t *Txn) reclaim(id ServerID) error {
	s := t.s
	if id < 0 || int(id) >= len(s.servers) {
		return fmt.Errorf("reclaim server %d: no such server: %w", id, ErrInfeasible)
	}
	switch v := &s.servers[id]; {
	case !v.onLoan:
		return t.refuse(func() error { return fmt.Errorf("reclaim server %d: it is not on loan: %w", id, ErrInfeasible) })
	case len(v.residents) > 0:
		return t.refuse(func() error {
			return fmt.Errorf("reclaim server %d: %d jobs run on it: %w", id, len(v.residents), ErrInfeasible)
		})
	}
	s.lend(id, false)
	t.ops = append(t.ops, Op{Kind: OpReclaim, Server: id})
	return nil
}

func (s *State) lend(id ServerID, on bool) {
	s.shelve(id)
	s.servers[id].onLoan = on
	s.unshelve(id)
	if on {
		s.lent++
	} else {
		s.lent--
	}
}

// Seize returns a server on loan to the inference pool at once. It interrupts the jobs on the server and appends them to stopped.
// Never call it while a transaction is open, nor for a server that is not on loan.
func (s *State) Seize(id ServerID, stopped []JobID) []JobID {
	stopped = s.evict(id, -1, stopped)
	s.lend(id, false)
	return stopped
}

// Fail takes one GPU of a server out of service, or the whole server if gpu is -1. It interrupts the jobs that used it, so that
// they are pending again, and appends them to stopped in ascending order of id. The driver then calls SetProgress to say how much
// work they keep. Never call Fail or Repair while a transaction is open.
func (s *State) Fail(id ServerID, gpu int32, stopped []JobID) []JobID {
	stopped = s.evict(id, gpu, stopped)
	s.shelve(id)
	if gpu < 0 {
		s.servers[id].down = true
	} else {
		s.servers[id].setFailed(gpu, true)
	}
	s.unshelve(id)
	return stopped
}

// Repair reverses Fail.
func (s *State) Repair(id ServerID, gpu int32) {
	s.shelve(id)
	if gpu < 0 {
		s.servers[id].down = false
	} else {
		s.servers[id].setFailed(gpu, false)
	}
	s.unshelve(id)
}

// setFailed marks a GPU that no job uses as failed or as repaired. It does nothing if the GPU is in that state already.
func (v *server) setFailed(gpu int32, on bool) {
	if v.failed == nil {
		v.failed = make([]bool, v.spec.GPUs)
	}
	if v.failed[gpu] == on {
		return
	}
	v.failed[gpu] = on
	if on {
		v.hold(gpu, Amount{GPUMilli: WholeGPU})
	} else {
		v.drop(gpu, Amount{GPUMilli: WholeGPU})
	}
}

// Working returns the number of the server's GPUs that have not failed.
func (s *View) Working(id ServerID) int32 {
	n := s.servers[id].spec.GPUs
	for _, failed := range s.servers[id].failed {
		if failed {
			n--
		}
	}
	return n
}

// Failed reports whether the GPU has failed.
func (s *View) Failed(id ServerID, gpu int32) bool {
	f := s.servers[id].failed
	return f != nil && f[gpu]
}

// evict interrupts the jobs on a server, or on one of its GPUs, and appends them to stopped.
func (s *State) evict(id ServerID, gpu int32, stopped []JobID) []JobID {
	from := len(stopped)
	for _, job := range s.servers[id].residents {
		if gpu < 0 || s.usesGPU(job, id, gpu) {
			stopped = append(stopped, job)
		}
	}
	for _, job := range stopped[from:] {
		j := &s.jobs[job]
		j.done = s.Progress(job)
		s.vacate(job)
		s.delist(&s.running, j.at)
		s.enlist(&s.pending, job)
		s.recycle(j.pieces, j.gpus)
		j.pieces, j.gpus, j.phase = nil, nil, Pending
	}
	return stopped
}

// usesGPU reports whether a running job has a worker on the GPU.
func (s *View) usesGPU(job JobID, id ServerID, gpu int32) bool {
	return slices.Contains(s.GPUsOn(job, id), gpu)
}
