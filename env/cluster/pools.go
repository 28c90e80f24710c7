package cluster

import (
	"fmt"
	"slices"
	"time"
)

// lending is what the inference scheduler allows. It alone decides how many servers are lent; which ones is for the training
// scheduler to say.
type lending struct {
	offer    int32 // servers that may be on loan
	lent     int32 // servers on loan
	deadline time.Duration
}

// SetOffer states how many servers of the inference pool may be on loan from now on, and by when the first of those beyond must
// be back. Before the first call all may be.
func (s *State) SetOffer(servers int32, deadline time.Duration) {
	s.offer, s.deadline = servers, deadline
}

// Offer returns how many servers of the inference pool may be on loan.
func (s *View) Offer() int32 { return s.offer }

// Lent counts the servers on loan, also those that are down.
func (s *View) Lent() int32 { return s.lent }

// Owed returns how many servers on loan must be back and by when the first of them; 0 if none.
func (s *View) Owed() (servers int32, deadline time.Duration) {
	return max(s.lent-s.offer, 0), s.deadline
}

// Down reports whether the server has failed and is not yet repaired.
func (s *View) Down(id ServerID) bool { return s.servers[id].down }

// Loan opens a server of the inference pool to training jobs. Beyond what the inference scheduler offers it is infeasible.
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

// Reclaim gives a server on loan, free of training jobs, back to the inference pool.
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

// Seize gives a server on loan back to the inference pool at once; the jobs on it are interrupted and appended to stopped. Never
// call it while a transaction is open, nor for a server that is not on loan.
func (s *State) Seize(id ServerID, stopped []JobID) []JobID {
	stopped = s.evict(id, -1, stopped)
	s.lend(id, false)
	return stopped
}

// Fail takes a GPU of a server, or with gpu -1 the whole server, out of service; the jobs that used it are interrupted, that
// is stopped and pending again, and appended to stopped, lower ids first. The driver says by SetProgress what they keep.
// Never call it, or Repair, while a transaction is open.
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

// Repair undoes Fail.
func (s *State) Repair(id ServerID, gpu int32) {
	s.shelve(id)
	if gpu < 0 {
		s.servers[id].down = false
	} else {
		s.servers[id].setFailed(gpu, false)
	}
	s.unshelve(id)
}

// setFailed takes a GPU out of order, which nobody uses, or brings it back; one that is so already stays as it is.
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

// Working counts the server's GPUs that are in order.
func (s *View) Working(id ServerID) int32 {
	n := s.servers[id].spec.GPUs
	for _, failed := range s.servers[id].failed {
		if failed {
			n--
		}
	}
	return n
}

// Failed reports whether the GPU is out of order.
func (s *View) Failed(id ServerID, gpu int32) bool {
	f := s.servers[id].failed
	return f != nil && f[gpu]
}

// evict interrupts the jobs on a server, or on one GPU of it.
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
