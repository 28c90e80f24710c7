package index

import "time"

// see lets room show the present state.
func (s *Scheduler) see() {
	if !s.looked {
		s.room.look(s.view)
		s.looked = true
	}
}

// delays reports whether a job that has just been started keeps the job that GPUs are held for waiting for longer, and whether
// that costs more than its own start saves. Its start otherwise has to wait until both have room.
func (s *Scheduler) delays(j *live) bool {
	h, placement := s.held, s.view.Placement(j.id)
	if h == nil || s.options.Holds == 0 {
		if s.looked {
			s.room.add(placement, j.left)
		}
		return false
	}
	otherwise := s.room.wait(j.worker, s.needs+j.gpus)
	s.room.add(placement, j.left)
	then := s.room.wait(h.worker, s.needs)
	if then <= h.wait {
		return false
	}
	gain := s.saves(j, 0, otherwise) + s.meter.Idle()*j.gpus*min(otherwise, j.left).Hours()
	if s.saves(h, h.wait, then) < s.options.Holds*gain {
		h.wait = then
		return false
	}
	s.room.drop(placement, j.left)
	return true
}

// saves returns what it saves if a job starts at an instant and not at a later one.
func (s *Scheduler) saves(j *live, at, later time.Duration) float64 {
	return s.meter.Cost(s.view, j.id, later, j.left, j.gpus) - s.meter.Cost(s.view, j.id, at, j.left, j.gpus)
}
