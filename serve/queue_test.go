package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// blocked returns a queue of which every slot is taken, and whose clock stands still until the test sends to it.
func blocked(slots int) (*queue, chan time.Time) {
	q, clock := newQueue(slots), make(chan time.Time)
	q.after = func(d time.Duration) <-chan time.Time {
		if d != mostWaits {
			panic(d)
		}
		return clock
	}
	for range slots {
		q.slots <- struct{}{}
	}
	return q, clock
}

// wait starts requests that wait, and returns when all of them do.
func (q *queue) wait(ctx context.Context, n int) <-chan error {
	got := make(chan error, n)
	for range n {
		go func() { got <- q.enter(ctx) }()
	}
	for q.waiting.Load() < int64(n) {
		time.Sleep(time.Millisecond)
	}
	return got
}

func status(t *testing.T, err error) int {
	t.Helper()
	var r *refusal
	if !errors.As(err, &r) {
		t.Fatalf("error %v, want a refusal", err)
	}
	return r.status
}

// TestRequestsWaitForASlot checks that a request waits for a slot, gets one that becomes free, and is refused when its time is over
// or its client has gone.
func TestRequestsWaitForASlot(t *testing.T) {
	q, clock := blocked(2)
	got := q.wait(t.Context(), 3)
	q.leave()
	if err := <-got; err != nil {
		t.Fatalf("a slot is free: %v", err)
	}
	select {
	case err := <-got:
		t.Fatalf("no slot is free: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	clock <- time.Time{}
	if err := <-got; status(t, err) != http.StatusTooManyRequests || !strings.Contains(err.Error(), "2 decisions are being made") {
		t.Errorf("after its time: %v", err)
	}
	q.leave()
	if err := <-got; err != nil {
		t.Errorf("a slot is free: %v", err)
	}
	ctx, gone := context.WithCancel(t.Context())
	got = q.wait(ctx, 1)
	gone()
	if err := <-got; status(t, err) != statusGone {
		t.Errorf("its client has gone: %v", err)
	}
	if n := q.waiting.Load(); n != 0 || len(q.slots) != 2 {
		t.Errorf("%d wait in the end, and %d slots are taken", n, len(q.slots))
	}
}

// TestTheQueueIsBounded checks that a request is refused at once if too many wait before it.
func TestTheQueueIsBounded(t *testing.T) {
	q, _ := blocked(2)
	ctx, end := context.WithCancel(t.Context())
	got := q.wait(ctx, 2*mostQueue)
	if err := q.enter(ctx); status(t, err) != http.StatusTooManyRequests || !strings.Contains(err.Error(), "64 other requests wait") {
		t.Errorf("one more: %v", err)
	}
	end()
	for range 2 * mostQueue {
		if err := <-got; status(t, err) != statusGone {
			t.Errorf("its client has gone: %v", err)
		}
	}
}
