package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	mostWaits = 300 * time.Millisecond // how long a request waits for a slot
	mostQueue = 32                     // how many requests may wait, for each slot
)

// queue gives out slots for decisions, of which it has a fixed number. Requests that find none wait for a short time, in the
// order in which they came, so that a burst is not refused that is over in a moment.
type queue struct {
	slots   chan struct{}
	waiting atomic.Int64
	after   func(time.Duration) <-chan time.Time // the clock
}

func newQueue(slots int) *queue { return &queue{slots: make(chan struct{}, slots), after: time.After} }

// enter takes a slot, which the caller gives back with leave. The error is a *refusal.
func (q *queue) enter(ctx context.Context) error {
	select {
	case q.slots <- struct{}{}:
		return nil
	default:
	}
	n := q.waiting.Add(1)
	defer q.waiting.Add(-1)
	if n > int64(mostQueue*cap(q.slots)) {
		return q.busy(n - 1)
	}
	select {
	case q.slots <- struct{}{}:
		return nil
	case <-q.after(mostWaits):
		return q.busy(n - 1)
	case <-ctx.Done():
		return &refusal{statusGone, errors.New("the client has gone")}
	}
}

func (q *queue) leave() { <-q.slots }

func (q *queue) busy(others int64) error {
	return &refusal{http.StatusTooManyRequests, fmt.Errorf("%d decisions are being made, and %d other requests wait: ask again",
		cap(q.slots), others)}
}
