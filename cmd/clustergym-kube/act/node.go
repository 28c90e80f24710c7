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

// Loan puts a node on loan to training: with a label, and with a taint that keeps others than training's pods off it. A
// node that was being returned is no longer. Labels and taints of others stay as they are, here and below.
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

// StartReturn says by a label that a node on loan is being returned. A node that is not on loan stays as it is.
func (a *Actor) StartReturn(ctx context.Context, node string) error {
	return a.mark(ctx, "start return of", node, func(n *corev1.Node) {
		if _, loaned := n.Labels[mirror.LoanedToLabel]; loaned {
			n.Labels[mirror.ReturningLabel] = "true"
		}
	})
}

// EndReturn takes from a node all that Loan and StartReturn put on it.
func (a *Actor) EndReturn(ctx context.Context, node string) error {
	return a.mark(ctx, "end return of", node, func(n *corev1.Node) {
		delete(n.Labels, mirror.LoanedToLabel)
		delete(n.Labels, mirror.ReturningLabel)
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, ours)
	})
}

// ours tells whether a taint is the one of loans. Taints of a node differ in key or effect.
func ours(t corev1.Taint) bool {
	return t.Key == mirror.LoanedToLabel && t.Effect == corev1.TaintEffectNoSchedule
}

// mark has change alter the labels and taints of a node, by a patch of what differs. The patch holds for the version
// that was read, since taints are one list that a patch replaces whole; if somebody else was faster, the node is read
// anew.
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

// nodePatch is the merge patch from the labels and taints of one version of a node to others, nil if they are the same.
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
