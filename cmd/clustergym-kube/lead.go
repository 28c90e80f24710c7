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

// The times of the lease, equal to those of Kubernetes' own components.
const (
	leaseTime  = 15 * time.Second
	renewTime  = 10 * time.Second
	leaseRetry = 2 * time.Second
)

// lead calls the function work while this process holds the lease. It returns errLost if the process loses the lease: the process
// must then stop, and its supervisor starts it again.
func (o *options) lead(ctx context.Context, c *connected, work func(context.Context), log *slog.Logger) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("elect a leader: %w", err)
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: o.lease}, Client: c.lease.CoordinationV1(),
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
		Lock: lock, LeaseDuration: leaseTime, RenewDeadline: renewTime, RetryPeriod: leaseRetry, ReleaseOnCancel: true, Name: o.lease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				leads.Store(true)
				working, cancel := context.WithCancel(leading)
				defer context.AfterFunc(ctx, cancel)()
				log.Info("leading", "lease", c.Namespace+"/"+o.lease, "identity", lock.Identity())
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
