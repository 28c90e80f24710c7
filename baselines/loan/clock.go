package loan

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

const never = time.Duration(1<<63 - 1)

// clock divides time into rounds and hides from the inner scheduler the calls that it asks for itself. With a period of 0
// every call is a round, and it asks for none.
type clock struct {
	period time.Duration
	next   time.Duration // when the next round begins
	asked  time.Duration // when the inner scheduler wants to be called, never if it does not
}

// observe takes the event out by which a call of the clock's own shows.
func (c *clock) observe(now time.Duration, events []cluster.Event) []cluster.Event {
	if now >= c.asked {
		c.asked = never
	} else if c.period > 0 {
		events = slices.DeleteFunc(events, func(e cluster.Event) bool { return e.Kind == cluster.Woke })
	}
	return events
}

// due reports whether to act now: a round has begun, or the next would come too late for what is owed.
func (c *clock) due(s *cluster.View) bool {
	now := s.Now()
	if c.period == 0 {
		return true
	}
	if now >= c.next {
		c.next = now - now%c.period + c.period
		return true
	}
	owed, deadline := s.Owed()
	return owed > 0 && deadline <= c.next
}

// wake asks for the calls that the inner scheduler and, if there is something to do, the next round need. A driver forgets a
// request once an earlier one is met, so the inner scheduler's is repeated.
func (c *clock) wake(tx *cluster.Txn, something bool) {
	if at, ok := tx.Wake(); ok {
		c.asked = min(c.asked, at)
	}
	if c.asked < never {
		tx.WakeAt(c.asked)
	}
	if something {
		tx.WakeAt(c.next)
	}
}
