package act

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// Loan puts a node on loan to training: it adds a label, and a taint that keeps all pods but those of training off the node. If
// the node was being returned, Loan ends that. Loan, StartReturn and EndReturn leave all other labels and taints as they are.
func (a *Actor) Loan(ctx context.Context, node string) error {
	return a.mark(ctx, "loan", node, func(n *corev1.Node) {
		n.Labels[mirror.LoanedToLabel] = mirror.TrainingPool
		delete(n.Labels, mirror.ReturningLabel)
		taint := corev1.Taint{Key: mirror.LoanedToLabel, Value: mirror.TrainingPool, Effect: corev1.TaintEffectNoSchedule}
		if i := slices.IndexFunc(n.Spec.Taints, ours); i < 0 {
			n.Spec.Taints = append(n.Spec.Taints, taint)
		} else {
			n.Spec.Taints[i] = taint
		}
	})
}

// StartReturn labels a node on loan as being returned. It changes nothing if the node is not on loan.
func (a *Actor) StartReturn(ctx context.Context, node string) error {
	return a.mark(ctx, "start return of", node, func(n *corev1.Node) {
		if _, loaned := n.Labels[mirror.LoanedToLabel]; loaned {
			n.Labels[mirror.ReturningLabel] = "true"
		}
	})
}

// EndReturn removes from a node the labels and the taint that Loan and StartReturn added.
func (a *Actor) EndReturn(ctx context.Context, node string) error {
	return a.mark(ctx, "end return of", node, func(n *corev1.Node) {
		delete(n.Labels, mirror.LoanedToLabel)
		delete(n.Labels, mirror.ReturningLabel)
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, ours)
	})
}

// ours reports whether a taint is the one that Loan adds. A node has at most one taint for each pair of key and effect.
func ours(t corev1.Taint) bool {
	return t.Key == mirror.LoanedToLabel && t.Effect == corev1.TaintEffectNoSchedule
}

// mark calls the function change on a copy of the node and patches the labels and taints that differ. The patch is valid only for
// the version that was read, because a patch replaces the whole list of taints. If somebody else changed the node first, mark
// reads it again and retries.
func (a *Actor) mark(ctx context.Context, what, node string, change func(*corev1.Node)) error {
	err := try(ctx, func() error {
		old, err := a.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		wanted := old.DeepCopy()
		if wanted.Labels == nil {
			wanted.Labels = map[string]string{}
		}
		change(wanted)
		patch, err := nodePatch(old, wanted)
		if err != nil || patch == nil {
			return err
		}
		_, err = a.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: manager})
		return err
	})
	if apierrors.IsNotFound(err) {
		err = fmt.Errorf("%w: %w", ErrGone, err)
	}
	a.note(ctx, what, err, "node", node)
	if err != nil {
		return fmt.Errorf("%s node %s: %w", what, node, err)
	}
	return nil
}

// nodePatch returns the merge patch that turns the labels and taints of the old node into the wanted ones, or nil if they are
// equal.
func nodePatch(old, wanted *corev1.Node) ([]byte, error) {
	labels := map[string]any{}
	for key := range old.Labels {
		if _, kept := wanted.Labels[key]; !kept {
			labels[key] = nil
		}
	}
	for key, value := range wanted.Labels {
		if was, there := old.Labels[key]; !there || was != value {
			labels[key] = value
		}
	}
	same := slices.EqualFunc(old.Spec.Taints, wanted.Spec.Taints, func(x, y corev1.Taint) bool {
		return x.Key == y.Key && x.Value == y.Value && x.Effect == y.Effect
	})
	if len(labels) == 0 && same {
		return nil, nil
	}
	metadata := map[string]any{"resourceVersion": old.ResourceVersion}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	patch := map[string]any{"metadata": metadata}
	if !same {
		patch["spec"] = map[string]any{"taints": wanted.Spec.Taints}
	}
	return json.Marshal(patch)
}
