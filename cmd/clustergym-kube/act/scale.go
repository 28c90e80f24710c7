package act

import (
	"context"
	"errors"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// shedCost is the deletion cost of the pods to delete first, in the annotation that ReplicaSets read; the default cost is 0.
const shedCost = "-1000"

// Scale sets the number of pods of the owner of pod: the Deployment of its ReplicaSet, its StatefulSet, its Job, or any other
// resource with a scale subresource. Before shrinking, Scale marks the pods in shed as cheapest to delete, if the owner reads
// that mark. A StatefulSet and an Indexed Job ignore shed: they delete the pods with the highest indices.
//
// An error wraps ErrRigid if the pod has no owner that can be scaled or if the server forbids it, ErrGone if the owner no longer
// exists, and errConflict if somebody else scaled the owner after Scale first read it.
func (a *Actor) Scale(ctx context.Context, pod *corev1.Pod, replicas int32, shed []*corev1.Pod) error {
	o, err := a.governor(ctx, pod)
	if err == nil {
		if o.kind.Group == "batch" && o.kind.Kind == "Job" {
			err = a.scaleJob(ctx, o, replicas)
		} else {
			err = a.scaleOwner(ctx, o, pod, replicas, shed)
		}
	}
	a.note(ctx, "scale", err, "pod", name(pod), "owner", o.String(), "replicas", replicas)
	if err != nil {
		return fmt.Errorf("scale the owner of pod %s to %d: %w", name(pod), replicas, err)
	}
	return nil
}

// owner is an object that creates pods, or that creates an object that creates pods.
type owner struct {
	kind            schema.GroupVersionKind
	namespace, name string
	uid             types.UID
	sheds           bool // it reads the deletion cost of pods when it shrinks
}

func (o owner) String() string {
	if o.name == "" {
		return ""
	}
	return o.kind.Kind + " " + o.namespace + "/" + o.name
}

// check returns an error if uid is not the UID of the owner, because another object then has the owner's name.
func (o owner) check(uid types.UID) error {
	if uid != o.uid {
		return fmt.Errorf("%w: %v has UID %s now, want %s", ErrGone, o, uid, o.uid)
	}
	return nil
}

// parent returns the controller of an object in the namespace; ok is false if the object has none.
func parent(namespace string, of metav1.Object) (o owner, ok bool) {
	ref := metav1.GetControllerOf(of)
	if ref == nil {
		return owner{}, false
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	return owner{kind: kind, namespace: namespace, name: ref.Name, uid: ref.UID}, true
}

// governor returns the object that sets the number of pods like pod. If an object created the ReplicaSet or StatefulSet of the
// pod, that object would undo a change of the number, so governor returns that object. A Job keeps its number, so governor
// returns the Job itself.
func (a *Actor) governor(ctx context.Context, pod *corev1.Pod) (owner, error) {
	o, ok := parent(pod.Namespace, pod)
	if !ok {
		return o, fmt.Errorf("%w: it has none", ErrRigid)
	}
	var child metav1.Object
	err := try(ctx, func() (err error) {
		switch (schema.GroupKind{Group: o.kind.Group, Kind: o.kind.Kind}) {
		case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}:
			o.sheds = true
			child, err = a.Client.AppsV1().ReplicaSets(o.namespace).Get(ctx, o.name, metav1.GetOptions{})
		case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
			child, err = a.Client.AppsV1().StatefulSets(o.namespace).Get(ctx, o.name, metav1.GetOptions{})
		}
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		return o, fmt.Errorf("%w: %w", ErrGone, err)
	case err != nil:
		return o, fmt.Errorf("read %v: %w", o, err)
	case child == nil:
		return o, nil
	}
	if err := o.check(child.GetUID()); err != nil {
		return o, err
	}
	if p, ok := parent(o.namespace, child); ok {
		p.sheds = o.sheds
		return p, nil
	}
	return o, nil
}

// scaleOwner sets the number of replicas through the owner's scale subresource.
func (a *Actor) scaleOwner(ctx context.Context, o owner, pod *corev1.Pod, replicas int32, shed []*corev1.Pod) error {
	mapping, err := a.Mapper.RESTMapping(o.kind.GroupKind(), o.kind.Version)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("%w: server has no %v", ErrRigid, o.kind)
	}
	if err != nil {
		return fmt.Errorf("find the resource of %v: %w", o, err)
	}
	scales, resource := a.Scales.Scales(o.namespace), mapping.Resource.GroupResource()
	var first *int32
	return try(ctx, func() error {
		s, err := scales.Get(ctx, resource, o.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return fmt.Errorf("%w: %v has no scale: %w", ErrRigid, o, err)
		}
		if err != nil {
			return fmt.Errorf("read the scale of %v: %w", o, err)
		}
		if err := governs(o, s, pod); err != nil {
			return err
		}
		if done, err := compare(&first, s.Spec.Replicas, replicas); done || err != nil {
			return err
		}
		if o.sheds && replicas < s.Spec.Replicas {
			if err := a.cheapen(ctx, shed); err != nil {
				return err
			}
		}
		s.Spec.Replicas = replicas
		_, err = scales.Update(ctx, resource, s, metav1.UpdateOptions{FieldManager: manager})
		return err
	})
}

// governs returns nil if s is the scale of o and its selector matches the pod.
func governs(o owner, s *autoscalingv1.Scale, pod *corev1.Pod) error {
	if err := o.check(s.UID); err != nil || s.Status.Selector == "" {
		return err
	}
	selector, err := labels.Parse(s.Status.Selector)
	if err != nil {
		return fmt.Errorf("read the selector of %v: %w", o, err)
	}
	if !selector.Matches(labels.Set(pod.Labels)) {
		return fmt.Errorf("%w: %v counts pods with %s, which this one is not", ErrRigid, o, s.Status.Selector)
	}
	return nil
}

// scaleJob sets the parallelism of a Job. In an Indexed Job whose completions equal its parallelism it sets the completions too.
func (a *Actor) scaleJob(ctx context.Context, o owner, replicas int32) error {
	jobs := a.Client.BatchV1().Jobs(o.namespace)
	var first *int32
	return try(ctx, func() error {
		job, err := jobs.Get(ctx, o.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
		if err != nil {
			return fmt.Errorf("read %v: %w", o, err)
		}
		if err := o.check(job.UID); err != nil {
			return err
		}
		parallelism := int32(1)
		if job.Spec.Parallelism != nil {
			parallelism = *job.Spec.Parallelism
		}
		if done, err := compare(&first, parallelism, replicas); done || err != nil {
			return err
		}
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"spec":{"parallelism":%d}}`, job.ResourceVersion, replicas)
		indexed := job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == "Indexed"
		if indexed && job.Spec.Completions != nil && *job.Spec.Completions == parallelism {
			patch = fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"spec":{"parallelism":%d,"completions":%d}}`,
				job.ResourceVersion, replicas, replicas)
		}
		_, err = jobs.Patch(ctx, o.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) { // for example a Job that Kubernetes has made a PodGroup for
			return fmt.Errorf("%w: %w", ErrRigid, err)
		}
		return err
	})
}

// compare reports whether the number of replicas read is the number wanted. It stores the first number read in first, and returns
// an error if a later call reads another one: then somebody else has scaled the owner, and not only changed its status.
func compare(first **int32, read, wanted int32) (done bool, err error) {
	if *first == nil {
		*first = &read
	}
	if read != **first && read != wanted {
		return false, fmt.Errorf("%w: from %d to %d replicas", errConflict, **first, read)
	}
	return read == wanted, nil
}

// cheapen sets the deletion cost of pods so that their owner deletes them first.
func (a *Actor) cheapen(ctx context.Context, pods []*corev1.Pod) error {
	cost := map[string]string{corev1.PodDeletionCost: shedCost}
	return errors.Join(a.pods(ctx, "set deletion cost", pods, func(pod *corev1.Pod) error {
		if pod.Annotations[corev1.PodDeletionCost] == shedCost {
			return nil
		}
		patch, err := podPatch(pod, cost, nil)
		if err != nil {
			return err
		}
		return a.patchPod(ctx, pod, types.MergePatchType, patch)
	})...)
}
