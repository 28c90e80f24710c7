package serve

import "time"

type Problem = problem

// StopClock makes requests wait for a slot without a limit of time.
func (s *Server) StopClock() { s.queue.after = func(time.Duration) <-chan time.Time { return nil } }

// Waiting returns how many requests wait for a slot.
func (s *Server) Waiting() int64 { return s.queue.waiting.Load() }
