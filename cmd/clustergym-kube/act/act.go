// Package act does to a Kubernetes cluster what was decided: it binds pods, evicts and deletes them, scales their
// owners, lends nodes and takes them back, and says why a pod waits. It is the only package that writes to the API
// server, and it decides nothing.
//
// Every write names the object that was meant, by its UID, and can be repeated: what is already so is no error. Writes
// that fail for a reason that passes are tried again, a few times and for as long as the context lasts.
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

// manager is who the API server notes as the author of changed fields.
const manager = "clustergym"

// usualParallel is how many requests are in flight when Actor.Parallel does not say.
const usualParallel = 16

// What callers branch on; the errors of this package wrap them.
var (
	ErrElsewhere = errors.New("pod is on another node")
	ErrGone      = errors.New("object is gone")                            // or is being deleted, or another took its name
	ErrBudget    = errors.New("disruption budget refuses")                 // try again later
	ErrRigid     = errors.New("owner cannot be scaled")                    // and never will be
	ErrUnknown   = errors.New("server has not said where the pod is")      // until a watch shows it
	errConflict  = errors.New("another has scaled the owner in the while") // decide again
)

// Actor writes to one API server. All fields but Client may be zero, as said. Its methods may be called at once.
type Actor struct {
	Client   kubernetes.Interface
	Scales   scale.ScalesGetter   // for Scale
	Mapper   meta.RESTMapper      // for Scale
	Events   events.EventRecorder // for callers that have something to tell; this package emits none
	Parallel int                  // requests in flight at most, 16 if not above 0
	Log      *slog.Logger         // writes at debug, failures at warn; nil for none
}

// each calls do for the numbers below n, Parallel of them at a time, and returns what they return, in order.
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

// pods calls do for every one of pods and logs what came of it.
func (a *Actor) pods(ctx context.Context, what string, pods []*corev1.Pod, do func(*corev1.Pod) error) []error {
	return a.each(len(pods), func(i int) error {
		err := do(pods[i])
		a.note(ctx, what, err, "pod", name(pods[i]), "node", pods[i].Spec.NodeName)
		return err
	})
}

// note logs a write or why it failed.
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
