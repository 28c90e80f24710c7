package cluster

import (
	"cmp"
	"fmt"
	"slices"
)

// Restore starts a pending job where a production cluster already runs it. gpus lists the exact GPUs, one per worker, piece after
// piece. The job progresses at rate 1 from now on, until SetProgress says otherwise. Restore copies both slices. It returns an
// error that wraps ErrInfeasible, and changes nothing, if the job is not pending, if Txn.Place would reject the placement, or if
// the pieces cannot have these GPUs. Never call it while a transaction is open.
func (s *State) Restore(id JobID, p Placement, gpus []int32) error {
	if err := s.base.expect("restore", id, Pending); err != nil {
		return err
	}
	if err := s.base.admit("restore", id, p); err != nil {
		return err
	}
	if int(p.Workers()) != len(gpus) {
		return fmt.Errorf("restore job %d: %d GPUs named, want one for each of %d workers: %w",
			id, len(gpus), p.Workers(), ErrInfeasible)
	}
	first := 0
	for i := range p {
		if err := s.servers[p[i].Server].holdable(&p[i], gpus[first:first+int(p[i].Workers)]); err != nil {
			return fmt.Errorf("restore job %d: server %d: %w: %w", id, p[i].Server, err, ErrInfeasible)
		}
		first += int(p[i].Workers)
	}
	j := &s.jobs[id]
	s.delist(&s.pending, j.at)
	s.enlist(&s.running, id)
	s.occupy(id, s.pieceStorage(p), append(s.gpuStorage(), gpus...))
	j.phase, j.since, j.rate = Running, s.now, 1
	if j.starts++; j.starts == 1 {
		j.first = longAgo
	}
	return nil
}

// longAgo is earlier than every instant.
const longAgo = -1

// holdable returns an error about the first GPU that cannot take a worker of the piece.
func (s *server) holdable(p *Piece, gpus []int32) error {
	twice := repeats(gpus, s.spec.GPUs)
	for i, g := range gpus {
		switch {
		case g < 0 || g >= s.spec.GPUs:
			return fmt.Errorf("GPU %d, want 0 to %d", g, s.spec.GPUs-1)
		case i == twice:
			return fmt.Errorf("GPU %d named twice, want a GPU of its own for each worker", g)
		case p.GPUMilli < WholeGPU && !s.takes(int(g), p.Amount) && int32(s.used[g])+p.GPUMilli <= WholeGPU:
			return fmt.Errorf("GPU %d has %d jobs and too little memory left or as many as it may", g, s.jobs[g])
		case int32(s.used[g])+p.GPUMilli > WholeGPU:
			return fmt.Errorf("GPU %d has %d thousandths in use, want at most %d", g, s.used[g], WholeGPU-p.GPUMilli)
		}
	}
	return nil
}

// repeats returns the index of the first GPU in the list that also occurs before that index, or -1 if there is none. It ignores
// GPUs that the server does not have.
func repeats(gpus []int32, has int32) int {
	const few = 16
	if len(gpus) <= few { // a set per piece would cost more than this scan, as most pieces are small
		for i, g := range gpus {
			if slices.Contains(gpus[:i], g) {
				return i
			}
		}
		return -1
	}
	seen := make([]bool, has)
	for i, g := range gpus {
		if g >= 0 && g < has {
			if seen[g] {
				return i
			}
			seen[g] = true
		}
	}
	return -1
}

// Introduce returns the events that describe the whole state to a scheduler that has seen nothing yet: a Found event for each
// running job, then an Arrived event for each pending job, both ordered by submission time, then id. Pass them to Begin.
func (s *View) Introduce() []Event { return s.AppendIntroduction(nil) }

// AppendIntroduction appends the events of Introduce to dst, for callers that need them often.
func (s *View) AppendIntroduction(dst []Event) []Event {
	from := len(dst)
	events := slices.Grow(dst, len(s.running)+len(s.pending))
	for _, id := range s.running {
		events = append(events, Event{Kind: Found, Job: id})
	}
	for _, id := range s.pending {
		events = append(events, Event{Kind: Arrived, Job: id})
	}
	bySubmission := func(a, b Event) int {
		return cmp.Or(cmp.Compare(s.jobs[a.Job].spec.Submit, s.jobs[b.Job].spec.Submit), cmp.Compare(a.Job, b.Job))
	}
	slices.SortFunc(events[from:from+len(s.running)], bySubmission)
	slices.SortFunc(events[from+len(s.running):], bySubmission)
	return events
}
