package loan

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

const never = time.Duration(1<<63 - 1)

// clock divides time into rounds. It requests a call at the start of a round, and hides these calls from the inner scheduler.
// With period 0 every call is a round, and clock requests none.
type clock struct {
	period time.Duration
	next   time.Duration // when the next round begins
	asked  time.Duration // when the inner scheduler wants to be called; never if it does not
}

// observe removes the Woke event from events if the clock itself requested the call.
func (c *clock) observe(now time.Duration, events []cluster.Event) []cluster.Event {
	if now >= c.asked {
		c.asked = never
	} else if c.period > 0 {
		events = slices.DeleteFunc(events, func(e cluster.Event) bool { return e.Kind == cluster.Woke })
	}
	return events
}

// due reports whether to act now: a round has begun, or the deadline for servers owed is not after the next round.
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

// wake requests the calls that the inner scheduler needs and, if something is true, a call at the next round. Because a driver
// drops a request when an earlier one is met, wake repeats that of the inner scheduler.
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
