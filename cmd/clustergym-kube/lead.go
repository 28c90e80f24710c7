package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseTimes are the times of the lease.
type leaseTimes struct {
	held  time.Duration // after which another process may take the lease
	renew time.Duration // within which it must be renewed; nothing is written later than that after a renewal
	retry time.Duration
}

// usualLease are the times that Kubernetes' own components use.
var usualLease = leaseTimes{held: 15 * time.Second, renew: 10 * time.Second, retry: 2 * time.Second}

// leaseName is the name of the lease.
const leaseName = "clustergym"

// lead calls the function work while this process holds the lease. It returns errLost if the process loses the lease: the process
// must then stop, and its supervisor starts it again.
func lead(
	ctx context.Context, c *connected, times leaseTimes, work func(context.Context), log *slog.Logger,
) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("elect a leader: %w", err)
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: leaseName}, Client: c.lease.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}
	// The election ends after the work, so that the lease is released only when nothing is written any more.
	election, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var leads atomic.Bool
	stop := context.AfterFunc(ctx, func() {
		if !leads.Load() {
			end()
		}
	})
	defer stop()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &recordingLock{lock, c.renewals}, LeaseDuration: times.held, RenewDeadline: times.renew, RetryPeriod: times.retry,
		ReleaseOnCancel: true, Name: leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				leads.Store(true)
				working, cancel := context.WithCancel(leading)
				defer context.AfterFunc(ctx, cancel)()
				log.Info("leading", "lease", c.Namespace+"/"+leaseName, "identity", lock.Identity())
				work(working)
				end()
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(id string) { log.Info("leader", "identity", id) },
		},
	})
	if err != nil {
		return fmt.Errorf("elect a leader: %w", err)
	}
	elector.Run(election)
	if ctx.Err() != nil {
		return nil
	}
	return errLost
}
