// Package act writes decisions to a Kubernetes cluster: it binds pods, evicts and deletes them, scales their owners, puts nodes
// on loan and takes them back, and sets the condition that explains why a pod waits. It is the only package that writes to the
// API server, and it decides nothing.
//
// Every write names its object by UID and can be repeated: a write whose result is already there returns no error. The package
// retries a write that fails for a temporary reason, a few times and until the context ends.
package act

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/events"
)

// manager is the field manager that the API server records as the author of a change.
const manager = "clustergym"

// usualParallel is the number of concurrent requests if Actor.Parallel is not above 0.
const usualParallel = 16

// Callers branch on these errors; the errors of this package wrap them.
var (
	ErrElsewhere = errors.New("pod is on another node")
	ErrNowhere   = errors.New("pod has no node")
	ErrGone      = errors.New("object is gone")                            // or is being deleted, or another object has its name now
	ErrBudget    = errors.New("disruption budget refuses")                 // try again later
	ErrRigid     = errors.New("owner cannot be scaled")                    // and never will be
	ErrUnknown   = errors.New("server has not said where the pod is")      // until a watch shows it
	ErrUnread    = errors.New("server has not said what the pod requests") // until a watch shows it
	errConflict  = errors.New("another has scaled the owner in the while") // the caller must decide again
)

// Actor writes to one API server. Every field but Client may be zero, unless its comment names a method that needs it. Its
// methods may be called concurrently.
type Actor struct {
	Client   kubernetes.Interface
	Scales   scale.ScalesGetter   // needed by Scale
	Mapper   meta.RESTMapper      // needed by Scale
	Events   events.EventRecorder // for callers that want to emit events; this package emits none
	Parallel int                  // the highest number of concurrent requests, 16 if not above 0
	Log      *slog.Logger         // logs writes at debug and failures at warn; nil for no log
}

// each calls the function do with every number from 0 to n-1, at most Parallel calls at a time, and returns their errors in that
// order.
func (a *Actor) each(n int, do func(i int) error) []error {
	parallel := a.Parallel
	if parallel <= 0 {
		parallel = usualParallel
	}
	errs := make([]error, n)
	room := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for i := range n {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			errs[i] = do(i)
		})
	}
	all.Wait()
	return errs
}

// pods calls the function do for every pod, logs each result and returns the errors in the order of the pods.
func (a *Actor) pods(ctx context.Context, what string, pods []*corev1.Pod, do func(*corev1.Pod) error) []error {
	return a.each(len(pods), func(i int) error {
		err := do(pods[i])
		a.note(ctx, what, err, "pod", name(pods[i]), "node", pods[i].Spec.NodeName)
		return err
	})
}

// note logs a write, or the error that it failed with.
func (a *Actor) note(ctx context.Context, what string, err error, about ...any) {
	switch {
	case a.Log == nil:
	case err != nil:
		a.Log.WarnContext(ctx, what+" failed", append(about, "error", err)...)
	default:
		a.Log.DebugContext(ctx, what, about...)
	}
}

func name(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
