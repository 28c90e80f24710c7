package act

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Binding assigns a pod to a node.
type Binding struct {
	Pod  *corev1.Pod
	Node string
}

// Bind binds each pod to its node. The bindings are independent: some may succeed while others fail. Bind returns one error per
// binding, nil if the pod is bound to that node, now or before the call. An error wraps ErrElsewhere if the pod is on another
// node, ErrGone if the pod no longer exists, and ErrUnknown if the server's last state of the pod could not be read. Any other
// error means that the pod was not on the node when the server was last asked.
func (a *Actor) Bind(ctx context.Context, bindings []Binding) []error {
	return a.each(len(bindings), func(i int) error {
		b := bindings[i]
		err := a.bind(ctx, b)
		if err != nil {
			err = fmt.Errorf("bind pod %s to node %s: %w", name(b.Pod), b.Node, err)
		}
		a.note(ctx, "bind", err, "pod", name(b.Pod), "node", b.Node)
		return err
	})
}

func (a *Actor) bind(ctx context.Context, b Binding) error {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Pod.Namespace, Name: b.Pod.Name, UID: b.Pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: b.Node},
	}
	err := try(ctx, func() error {
		err := a.Client.CoreV1().Pods(b.Pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{FieldManager: manager})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%w: %w", ErrGone, err)
		case apierrors.IsConflict(err): // another UID, or the pod is bound already, maybe by an earlier attempt of ours
			if known, answer := a.whereabouts(ctx, b); known {
				return answer
			}
		}
		return err
	})
	if err == nil || errors.Is(err, ErrGone) || errors.Is(err, ErrElsewhere) {
		return err
	}
	switch known, answer := a.whereabouts(ctx, b); { // the server may have carried out a request whose answer was lost
	case known:
		return answer
	case answer != nil:
		return fmt.Errorf("%w: %w: %w", ErrUnknown, err, answer)
	default:
		return err
	}
}

// Where asks the server which bindings have taken effect, and changes nothing. It returns one error per binding, as Bind does.
// For a pod that has no node yet the error wraps ErrNowhere.
func (a *Actor) Where(ctx context.Context, bindings []Binding) []error {
	return a.each(len(bindings), func(i int) error {
		known, err := a.whereabouts(ctx, bindings[i])
		switch {
		case known && err == nil:
			return nil
		case !known && err == nil:
			err = ErrNowhere
		case !known:
			err = fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		return fmt.Errorf("find pod %s on node %s: %w", name(bindings[i].Pod), bindings[i].Node, err)
	})
}

// whereabouts asks the server whether a binding has taken effect. If known, err is nil if the pod is on the node, and wraps
// ErrElsewhere or ErrGone if it is not. If the answer is not known, err is nil if the pod has no node yet, and otherwise says why
// the server could not be asked.
func (a *Actor) whereabouts(ctx context.Context, b Binding) (known bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	pod, err := a.Client.CoreV1().Pods(b.Pod.Namespace).Get(ctx, b.Pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, fmt.Errorf("%w: %w", ErrGone, err)
	case err != nil:
		return false, fmt.Errorf("read the pod: %w", err)
	case pod.UID != b.Pod.UID:
		return true, fmt.Errorf("%w: its name has UID %s now, want %s", ErrGone, pod.UID, b.Pod.UID)
	case pod.Spec.NodeName == b.Node:
		return true, nil
	case pod.Spec.NodeName != "":
		return true, fmt.Errorf("%w: %s", ErrElsewhere, pod.Spec.NodeName)
	case pod.DeletionTimestamp != nil:
		return true, fmt.Errorf("%w: it is being deleted", ErrGone)
	default:
		return false, nil
	}
}
