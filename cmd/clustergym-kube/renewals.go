package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// renewals stores when this process last renewed the lease, and lets it write to the API server only soon after that. A process
// that was paused may not know yet that another one leads: the time since the renewal says so before each write.
type renewals struct {
	most time.Duration    // the longest time from a renewal to a write
	now  func() time.Time // nil for time.Now

	mu   sync.Mutex
	last time.Time // when the request of the last renewal was sent; zero if the lease is not held
}

var errStale = errors.New("the lease was not renewed in time, and another process may lead: nothing is written")

func (r *renewals) clock() time.Time {
	if r.now != nil {
		return r.now()
	}
	return time.Now()
}

func (r *renewals) note(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = at
}

// fresh reports whether the last renewal is at most the time most ago, both by the monotonic clock and by the wall clock: the
// first stands still while a machine sleeps.
func (r *renewals) fresh() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock()
	return !r.last.IsZero() && now.Sub(r.last) <= r.most && now.Round(0).Sub(r.last.Round(0)) <= r.most
}

// guard returns a transport that refuses requests which write, with errStale, unless the lease is fresh.
func (r *renewals) guard(next http.RoundTripper) http.RoundTripper {
	return transport(func(request *http.Request) (*http.Response, error) {
		switch request.Method {
		case http.MethodGet, http.MethodHead, http.MethodOptions:
		default:
			if !r.fresh() {
				if request.Body != nil {
					_ = request.Body.Close()
				}
				return nil, errStale
			}
		}
		return next.RoundTrip(request)
	})
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// recordingLock is a lock that notes its renewals.
type recordingLock struct {
	resourcelock.Interface
	renewals *renewals
}

func (l *recordingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Create(ctx, record) })
}

func (l *recordingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Update(ctx, record) })
}

func (l *recordingLock) write(record resourcelock.LeaderElectionRecord, do func() error) error {
	sent := l.renewals.clock()
	if record.HolderIdentity != l.Identity() { // the lease is given up: nothing may be written from now on
		l.renewals.note(time.Time{})
		return do()
	}
	err := do()
	if err == nil {
		l.renewals.note(sent)
	}
	return err
}
