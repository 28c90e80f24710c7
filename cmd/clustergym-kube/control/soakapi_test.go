package control

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// client returns a client of the server, through which a program writes. It answers one request at a time.
func (a *memory) client() *fake.Clientset {
	c := &fake.Clientset{}
	c.AddReactor("*", "*", func(action ktesting.Action) (bool, runtime.Object, error) {
		object, err := a.answer(action)
		return true, object, err
	})
	return c
}

var (
	errDead = errors.New("the program has ended")
	errLost = apierrors.NewTimeoutError("lost", 0)
)

func (a *memory) answer(action ktesting.Action) (runtime.Object, error) {
	if a.dead {
		return nil, errDead
	}
	kind := ""
	if t := a.armed; t != nil {
		binds := action.GetVerb() == "create" && action.GetSubresource() == "binding"
		switch {
		case t.do != nil && !binds:
		case t.after > 0:
			t.after--
		default:
			kind = t.kind
			if t.times--; t.times == 0 {
				a.armed = nil
			}
			a.hurt = true
			a.hit(t)
			if b, ok := bindingOf(action); ok && t.do != nil {
				t.do(a.pods[b.Namespace+"/"+b.Name], b.Target.Name)
			}
			a.sleep(t.wait)
		}
	}
	if status, refused := refusal(kind); refused {
		return nil, &apierrors.StatusError{ErrStatus: status}
	}
	switch kind {
	case killedBefore:
		a.dead = true
		return nil, errDead
	case lostBefore:
		return nil, errLost
	}
	a.lost = kind == killedAfter || kind == lostAfter || kind == slowLost
	object, err := a.carryOut(action)
	switch kind {
	case killedAfter:
		a.dead = true
		return nil, errDead
	case lostAfter, slowLost:
		return nil, errLost
	}
	return object, err
}

func bindingOf(action ktesting.Action) (*corev1.Binding, bool) {
	c, ok := action.(ktesting.CreateAction)
	if !ok {
		return nil, false
	}
	b, ok := c.GetObject().(*corev1.Binding)
	return b, ok
}

// carryOut carries out a request: on the real server if there is one, which must answer as the one in memory does.
func (a *memory) carryOut(action ktesting.Action) (runtime.Object, error) {
	if a.real == nil {
		return a.do(action)
	}
	resource := action.GetResource().Resource
	seen := len(a.changes[resource])
	a.model = true
	_, want := a.do(action)
	a.model = false
	a.changes[resource] = a.changes[resource][:seen]
	object, err := a.real.do(action)
	if apierrors.ReasonForError(err) != apierrors.ReasonForError(want) {
		a.differs(fmt.Sprintf("%s %s %s", action.GetVerb(), resource, action.GetSubresource()), want, err)
	}
	a.refresh(resource, action.GetNamespace(), nameOf(action))
	return object, err
}

// do carries out a request in memory.
func (a *memory) do(action ktesting.Action) (runtime.Object, error) {
	resource, space := action.GetResource().Resource, action.GetNamespace()
	group := schema.GroupResource{Resource: resource}
	if resource == "configmaps" {
		return a.doMap(action, group)
	}
	switch resource {
	case "nodes":
		return a.doNode(action, group)
	case "jobs":
		return a.doJob(action, group)
	}
	if resource != "pods" {
		return nil, apierrors.NewMethodNotSupported(group, action.GetVerb())
	}
	find := func(name string, uid *types.UID) (*corev1.Pod, error) {
		pod := a.pods[space+"/"+name]
		switch {
		case pod == nil:
			return nil, apierrors.NewNotFound(group, name)
		case uid != nil && *uid != "" && pod.UID != *uid:
			return nil, apierrors.NewConflict(group, name, fmt.Errorf("UID is %s, not %s", pod.UID, *uid))
		}
		return pod, nil
	}
	switch x := action.(type) {
	case ktesting.CreateActionImpl:
		switch o := x.GetObject().(type) {
		case *corev1.Binding:
			return nil, a.bind(o, find)
		case *policyv1.Eviction:
			pod, err := find(o.Name, o.DeleteOptions.Preconditions.UID)
			if err != nil {
				return nil, err
			}
			if a.refuse[gangName(pod)] && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				err := apierrors.NewTooManyRequests("budget", 0)
				err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
				a.heard("refuse", pod, pod.Spec.NodeName)
				return nil, err
			}
			a.heard("evict", pod, pod.Spec.NodeName)
			a.end(pod)
			return nil, nil
		}
	case ktesting.DeleteActionImpl:
		pod, err := find(x.GetName(), x.DeleteOptions.Preconditions.UID)
		if err != nil {
			return nil, err
		}
		a.heard("delete", pod, pod.Spec.NodeName)
		a.end(pod)
		return nil, nil
	case ktesting.GetActionImpl:
		pod, err := find(x.GetName(), nil)
		return pod, err
	case ktesting.PatchActionImpl:
		pod, err := find(x.GetName(), nil)
		if err != nil {
			return nil, err
		}
		return a.patchPod(x, pod)
	}
	return nil, apierrors.NewMethodNotSupported(group, action.GetVerb())
}

// bind binds a pod that has no node yet, as the real server does.
func (a *memory) bind(b *corev1.Binding, find func(string, *types.UID) (*corev1.Pod, error)) error {
	group := schema.GroupResource{Resource: "pods"}
	pod, err := find(b.Name, &b.UID)
	if err != nil {
		return err
	}
	a.asked(pod, b.Target.Name)
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
		return apierrors.NewConflict(group, b.Name, fmt.Errorf("pod is on %q, or is being deleted", pod.Spec.NodeName))
	}
	a.heard("bind", pod, b.Target.Name)
	a.assign(pod, b.Target.Name)
	return nil
}

// assign binds a pod to a node, whoever asks for it.
func (a *memory) assign(pod *corev1.Pod, node string) {
	a.editPod(pod, func(p *corev1.Pod) {
		p.Spec.NodeName = node
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(a.now()),
		}}
	})
}

// end begins to delete a pod. A pod without a node is gone at once, as is one that has ended.
func (a *memory) end(pod *corev1.Pod) {
	switch {
	case pod.Spec.NodeName == "" || mirror.Ended(pod):
		a.dropPod(pod)
	case pod.DeletionTimestamp == nil:
		a.editPod(pod, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: a.now()} })
	}
}
