package control

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"
)

// trouble is a fault that strikes requests of one verb.
type trouble struct {
	kind, verb string // any verb if verb is ""
	skip       int    // requests of the verb that it spares first
	times      int    // requests that it strikes then
}

// verbOf names a request, such as "create pods/binding".
func verbOf(a ktesting.Action) string {
	return strings.TrimSuffix(a.GetVerb()+" "+a.GetResource().Resource+"/"+a.GetSubresource(), "/")
}

// strikes returns the trouble that strikes a request, or "".
func (s *soak) strikes(verb string) string {
	for i := range s.troubles {
		x := &s.troubles[i]
		if x.verb != "" && x.verb != verb {
			continue
		}
		if x.skip--; x.skip >= 0 {
			continue
		}
		kind := x.kind
		if x.times--; x.times <= 0 {
			s.troubles = slices.Delete(s.troubles, i, i+1)
		}
		s.count("request: " + kind)
		return kind
	}
	return ""
}

// answer answers a request of a process.
func (s *soak) answer(p *soakProcess, action ktesting.Action) (bool, runtime.Object, error) {
	if p.dead {
		return true, nil, &url.Error{Op: "Post", Err: errors.New("the process was killed")}
	}
	kind := s.strikes(verbOf(action))
	switch kind {
	case "kill before":
		p.kill()
		return true, nil, context.Canceled
	case "slow":
		time.Sleep(time.Duration(1+s.draw.IntN(40))*time.Second + 137*time.Millisecond) // no deadline ends at that instant
		s.slow = true
	case "another binds", "deleted", "made anew":
		s.meddle(kind, action)
	case "switched off":
		s.control(switchTo("off"))
		s.showOrders()
	}
	early := soakError(kind)
	if early != nil && !strings.HasSuffix(kind, "after") {
		return true, nil, early
	}
	object, err := s.carryOut(p, action)
	if kind == "kill after" {
		p.kill()
		return true, nil, context.Canceled
	}
	if early != nil {
		return true, nil, early
	}
	return true, object, err
}

// soakError returns what the client gets instead of the server's answer.
func soakError(kind string) error {
	pods := corev1.Resource("pods")
	switch kind {
	case "busy":
		return apierrors.NewTooManyRequests("busy", 1)
	case "unavailable":
		return apierrors.NewServiceUnavailable("starting")
	case "lost before", "lost after":
		return &url.Error{Op: "Post", Err: context.DeadlineExceeded}
	case "timeout before", "timeout after":
		return apierrors.NewTimeoutError("request did not complete", 1)
	case "broken after":
		return apierrors.NewInternalError(errors.New("etcd"))
	case "forbidden":
		return apierrors.NewForbidden(pods, "p", errors.New("role was taken away"))
	case "conflict":
		return apierrors.NewConflict(pods, "p", errors.New("changed"))
	}
	return nil
}

// carryOut does what a request asks for.
func (s *soak) carryOut(p *soakProcess, action ktesting.Action) (runtime.Object, error) {
	key := func(name string) string { return action.GetNamespace() + "/" + name }
	switch a := action.(type) {
	case ktesting.DeleteActionImpl:
		return nil, s.remove(p, key(a.GetName()), a.DeleteOptions.Preconditions, false)
	case ktesting.GetAction: // a patch is one, too
		if action.GetResource().Resource == "configmaps" {
			if s.ledger == nil {
				return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), a.GetName())
			}
			return s.ledger.DeepCopy(), nil
		}
		if pod := s.pods[key(a.GetName())]; pod != nil {
			return pod.DeepCopy(), nil
		}
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), a.GetName())
	case ktesting.CreateAction: // an update is one, too
		switch o := a.GetObject().(type) {
		case *corev1.ConfigMap:
			return s.book(o)
		case *corev1.Binding:
			return nil, s.bind(p, s.pods[key(o.Name)], o)
		case *policyv1.Eviction:
			return nil, s.remove(p, key(o.Name), o.DeleteOptions.Preconditions, true)
		}
	}
	return nil, fmt.Errorf("request %s is none that the soak knows", verbOf(action))
}

// book writes the ledger.
func (s *soak) book(m *corev1.ConfigMap) (runtime.Object, error) {
	there := ""
	if s.ledger != nil {
		there = s.ledger.ResourceVersion
	}
	if m.ResourceVersion != there {
		return nil, apierrors.NewConflict(corev1.Resource("configmaps"), m.Name, errors.New("changed"))
	}
	s.ledger = m.DeepCopy()
	s.ledger.ResourceVersion = s.next()
	return s.ledger.DeepCopy(), nil
}

func (s *soak) bind(p *soakProcess, pod *corev1.Pod, b *corev1.Binding) error {
	s.checkBinding(p, b)
	switch {
	case pod == nil:
		return apierrors.NewNotFound(corev1.Resource("pods"), b.Name)
	case b.UID != pod.UID, pod.Spec.NodeName != "", pod.DeletionTimestamp != nil:
		return apierrors.NewConflict(corev1.Resource("pods"), b.Name, errors.New("bound, or another UID"))
	}
	s.count("# pods bound")
	s.place(pod, b.Target.Name)
	s.mine[pod.UID] = b.Target.Name
	s.checkRoom(pod)
	return nil
}

// place puts a pod on a node, whose kubelet starts it at once.
func (s *soak) place(pod *corev1.Pod, node string) {
	at := metav1.NewTime(time.Now())
	s.note("pod %s with %d GPUs on %s", pod.Name, gpusOf(pod), node)
	pod.Spec.NodeName = node
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &at
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at}}
}

// remove evicts or deletes a pod. It needs up to half a minute to end.
func (s *soak) remove(p *soakProcess, key string, must *metav1.Preconditions, evict bool) error {
	pod := s.pods[key]
	g := s.gangOf(pod)
	switch {
	case pod == nil:
		return apierrors.NewNotFound(corev1.Resource("pods"), key)
	case evict && g != nil && g.budget:
		err := apierrors.NewTooManyRequests("budget", 0)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
		return err
	case must == nil || must.UID == nil || *must.UID != pod.UID:
		if must == nil || must.UID == nil {
			s.fault("pod %s is removed without its UID", key)
		}
		return apierrors.NewConflict(corev1.Resource("pods"), key, errors.New("another UID"))
	case pod.DeletionTimestamp != nil:
		return nil
	}
	s.checkRemoval(p, g, pod, evict)
	s.end(pod)
	return nil
}

// end begins to delete a pod.
func (s *soak) end(pod *corev1.Pod) {
	at := metav1.NewTime(time.Now().Add(time.Duration(s.draw.IntN(30)) * time.Second))
	s.note("pod %s of %s leaves", pod.Name, pod.Spec.NodeName)
	pod.DeletionTimestamp = &at
	if pod.Spec.NodeName == "" {
		delete(s.pods, pod.Namespace+"/"+pod.Name)
	}
}

// meddle changes the pod of a request before the server carries it out.
func (s *soak) meddle(kind string, action ktesting.Action) {
	create, ok := action.(ktesting.CreateAction)
	if !ok {
		return
	}
	object, ok := create.GetObject().(metav1.Object)
	if !ok {
		return
	}
	key := action.GetNamespace() + "/" + object.GetName()
	pod := s.pods[key]
	if pod == nil {
		return
	}
	switch kind {
	case "another binds":
		if node := s.room(pod); pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && node != "" {
			s.place(pod, node)
			s.excused[node] = true
		}
	case "deleted":
		delete(s.pods, key)
	case "made anew":
		again := pod.DeepCopy()
		again.UID, again.Spec.NodeName, again.Status, again.DeletionTimestamp = types.UID(s.next()), "", corev1.PodStatus{}, nil
		s.pods[key] = again
	}
}
