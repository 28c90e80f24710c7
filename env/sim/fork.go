package sim

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Fork makes dst an independent copy of the episode as it is now, including the open transaction. It reuses the memory of dst,
// which may be the zero Sim. The copy shares the jobs with s and keeps no log. Use it to try out what would happen after another
// decision.
func (s *Sim) Fork(dst *Sim) {
	old := *dst
	*dst = *s
	if old.state == nil {
		old.state = &cluster.State{}
	}
	dst.state = old.state
	s.state.CopyTo(dst.state)
	dst.finish.heap = append(old.finish.heap[:0], s.finish.heap...)
	dst.finish.place = append(old.finish.place[:0], s.finish.place...)
	dst.turns.heap = append(old.turns.heap[:0], s.turns.heap...)
	dst.turns.place = append(old.turns.place[:0], s.turns.place...)
	if s.phases != nil {
		dst.phases = append(old.phases[:0], s.phases...)
	}
	dst.works = append(old.works[:0], s.works...)
	if s.courses != nil {
		dst.courses = append(old.courses[:0], s.courses...)
	}
	dst.events = append(old.events[:0], s.events...)
	dst.scratch = scratch{
		ended: old.ended[:0], launched: old.launched[:0], readings: old.readings[:0],
		touched: append(old.touched[:0], s.touched...),
	}
	dst.log, dst.watch = Log{off: true}, nil
}

// Continue lets a scheduler play a forked or resumed episode to its end, beginning with the open transaction. It resets the
// scheduler and first tells it which jobs run and wait. If passed is not nil, Continue calls it after every stretch of time with
// the number of jobs in the system during that stretch, and stops early when passed returns false.
func (s *Sim) Continue(sched cluster.Scheduler, seed uint64, passed func(from, to time.Duration, jobs int) bool) error {
	if err := sched.Reset(seed); err != nil {
		return fmt.Errorf("reset %s: %w", sched.Name(), err)
	}
	tx := s.state.Txn()
	tx.Tell(s.state.Introduce())
	for ok := true; ok; {
		if err := sched.Schedule(tx); err != nil {
			return fmt.Errorf("%s at %v: %w", sched.Name(), s.state.Now(), err)
		}
		s.Commit()
		from, jobs := s.state.Now(), len(s.state.Pending())+len(s.state.Running())
		tx, ok = s.Next()
		if passed != nil && !passed(from, s.state.Now(), jobs) {
			return nil
		}
	}
	return nil
}
