package control

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/env/pods"
)

// realServer is a real API server behind a cluster in memory: each change goes through to it, and what it makes of an object is what
// the cluster in memory then has. So the soak meets its rules and its versions of objects.
type realServer struct {
	kubernetes.Interface
	t   testing.TB
	ctx context.Context
}

// newRealServer starts an API server with the namespaces and priorities of the soak.
func newRealServer(t testing.TB) *realServer {
	s := &realServer{kubetest.Start(t, kubetest.Options{}).Client, t, t.Context()}
	for _, name := range []string{"ns", "team-0", "team-1", "team-2"} {
		_, err := s.CoreV1().Namespaces().Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		s.must(err)
	}
	for n := range int32(3) {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("class-", n)}, Value: n}
		_, err := s.SchedulingV1().PriorityClasses().Create(s.ctx, class, metav1.CreateOptions{})
		s.must(err)
	}
	return s
}

// must reports whether a request of the test succeeded. It fails the test if the object is neither invalid nor gone.
func (s *realServer) must(err error) bool {
	s.t.Helper()
	if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
	return err == nil
}

// putPod creates a pod, or makes of the pod was what it is to be. It returns the pod as it is then, or nil if it is refused or gone.
func (s *realServer) putPod(was, is *corev1.Pod) *corev1.Pod {
	pods := s.CoreV1().Pods(is.Namespace)
	if is.UID == "" {
		is = is.DeepCopy()
		for i := range is.Spec.Containers { // of GPUs a limit is needed
			of := &is.Spec.Containers[i].Resources
			if n, has := of.Requests[gpu]; has {
				if of.Limits == nil {
					of.Limits = corev1.ResourceList{}
				}
				of.Limits[gpu] = n
			}
		}
		if is.Spec.Priority != nil {
			is.Spec.PriorityClassName, is.Spec.Priority = fmt.Sprint("class-", *is.Spec.Priority), nil
		}
		done, err := pods.Create(s.ctx, is, metav1.CreateOptions{})
		if !s.must(err) {
			return nil
		}
		return done
	}
	is = is.DeepCopy()
	is.ResourceVersion = ""
	if !maps.Equal(was.Annotations, is.Annotations) {
		edited := was.DeepCopy()
		edited.ResourceVersion, edited.Annotations = "", is.Annotations
		_, err := pods.Update(s.ctx, edited, metav1.UpdateOptions{})
		s.must(err)
	}
	if was.Spec.NodeName != is.Spec.NodeName {
		to := corev1.ObjectReference{Kind: "Node", Name: is.Spec.NodeName}
		s.must(pods.Bind(s.ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: is.Name, UID: is.UID}, Target: to}, metav1.CreateOptions{}))
	} else if !equality.Semantic.DeepEqual(was.Status, is.Status) {
		_, err := pods.UpdateStatus(s.ctx, is, metav1.UpdateOptions{})
		s.must(err)
	}
	if was.DeletionTimestamp == nil && is.DeletionTimestamp != nil {
		s.must(pods.Delete(s.ctx, is.Name, metav1.DeleteOptions{}))
	}
	done, err := pods.Get(s.ctx, is.Name, metav1.GetOptions{})
	if !s.must(err) {
		return nil
	}
	return done
}

func (s *realServer) dropPod(pod *corev1.Pod) {
	s.must(s.CoreV1().Pods(pod.Namespace).Delete(s.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
}

func (s *realServer) putNode(was, is *corev1.Node) *corev1.Node {
	nodes := s.CoreV1().Nodes()
	is = is.DeepCopy()
	is.ResourceVersion = ""
	if was == nil {
		done, err := nodes.Create(s.ctx, is, metav1.CreateOptions{})
		if !s.must(err) {
			return nil
		}
		return done
	}
	_, err := nodes.Update(s.ctx, is, metav1.UpdateOptions{})
	s.must(err)
	done, err := nodes.UpdateStatus(s.ctx, is, metav1.UpdateOptions{})
	s.must(err)
	return done
}

func (s *realServer) dropNode(name string) {
	s.must(s.CoreV1().Nodes().Delete(s.ctx, name, metav1.DeleteOptions{}))
}

func (s *realServer) putMap(m *corev1.ConfigMap) *corev1.ConfigMap {
	maps := s.CoreV1().ConfigMaps(m.Namespace)
	m = m.DeepCopy()
	m.ResourceVersion, m.UID = "", ""
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, "written", fmt.Sprint(s.t.Name(), len(m.ManagedFields))) // a version of its own
	done, err := maps.Update(s.ctx, m, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		done, err = maps.Create(s.ctx, m, metav1.CreateOptions{})
	}
	s.must(err)
	return done
}

func (s *realServer) dropMap(key string) {
	space, name, _ := strings.Cut(key, "/")
	s.must(s.CoreV1().ConfigMaps(space).Delete(s.ctx, name, metav1.DeleteOptions{}))
}

func (s *realServer) putJob(j *batchv1.Job) *batchv1.Job {
	j.UID = ""
	j.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "c"}}}
	done, err := s.BatchV1().Jobs(j.Namespace).Create(s.ctx, j, metav1.CreateOptions{})
	s.must(err)
	return done
}

func (s *realServer) dropJob(j *batchv1.Job) {
	s.must(s.BatchV1().Jobs(j.Namespace).Delete(s.ctx, j.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}))
}

// guard creates or deletes a disruption budget that allows nothing, with the status that its controller would give it.
func (s *realServer) guard(name string, is bool) {
	space, name, _ := strings.Cut(name, "/")
	budgets := s.PolicyV1().PodDisruptionBudgets(space)
	if !is {
		s.must(budgets.Delete(s.ctx, name, metav1.DeleteOptions{}))
		return
	}
	b, err := budgets.Create(s.ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{pods.GroupLabel: name}},
		},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) || !s.must(err) {
		return
	}
	b.Status.ObservedGeneration = b.Generation
	_, err = budgets.UpdateStatus(s.ctx, b, metav1.UpdateOptions{})
	s.must(err)
}

// do carries out a request of the program.
func (s *realServer) do(action ktesting.Action) (runtime.Object, error) {
	space, part := action.GetNamespace(), []string{action.GetSubresource()}
	if part[0] == "" {
		part = nil
	}
	switch action.GetResource().Resource {
	case "pods":
		pods := s.CoreV1().Pods(space)
		switch x := action.(type) {
		case ktesting.CreateActionImpl:
			if b, ok := x.GetObject().(*corev1.Binding); ok {
				return nil, pods.Bind(s.ctx, b, metav1.CreateOptions{})
			}
			return nil, pods.EvictV1(s.ctx, x.GetObject().(*policyv1.Eviction))
		case ktesting.DeleteActionImpl:
			return nil, pods.Delete(s.ctx, x.GetName(), x.DeleteOptions)
		case ktesting.PatchActionImpl:
			return some(pods.Patch(s.ctx, x.GetName(), x.GetPatchType(), x.GetPatch(), metav1.PatchOptions{}, part...))
		}
		return some(pods.Get(s.ctx, nameOf(action), metav1.GetOptions{}))
	case "nodes":
		if x, ok := action.(ktesting.PatchActionImpl); ok {
			return some(s.CoreV1().Nodes().Patch(s.ctx, x.GetName(), x.GetPatchType(), x.GetPatch(), metav1.PatchOptions{}))
		}
		return some(s.CoreV1().Nodes().Get(s.ctx, nameOf(action), metav1.GetOptions{}))
	case "jobs":
		if x, ok := action.(ktesting.PatchActionImpl); ok {
			return some(s.BatchV1().Jobs(space).Patch(s.ctx, x.GetName(), x.GetPatchType(), x.GetPatch(), metav1.PatchOptions{}))
		}
		return some(s.BatchV1().Jobs(space).Get(s.ctx, nameOf(action), metav1.GetOptions{}))
	}
	maps := s.CoreV1().ConfigMaps(space)
	switch x := action.(type) {
	case ktesting.CreateActionImpl:
		return some(maps.Create(s.ctx, x.GetObject().(*corev1.ConfigMap), metav1.CreateOptions{}))
	case ktesting.UpdateActionImpl:
		return some(maps.Update(s.ctx, x.GetObject().(*corev1.ConfigMap), metav1.UpdateOptions{}))
	}
	return some(maps.Get(s.ctx, nameOf(action), metav1.GetOptions{}))
}

// some returns nil instead of the empty object that a client returns with an error.
func some(object runtime.Object, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return object, nil
}

// nameOf returns the name of the object that a request is about.
func nameOf(action ktesting.Action) string {
	switch x := action.(type) {
	case interface{ GetName() string }:
		return x.GetName()
	case interface{ GetObject() runtime.Object }:
		return x.GetObject().(metav1.Object).GetName()
	}
	return ""
}

// refresh takes an object over from the real server, and shows that as a change.
func (a *memory) refresh(resource, space, name string) {
	s, at := a.real, metav1.ObjectMeta{Namespace: space, Name: name}
	switch resource {
	case "pods":
		pod, err := s.CoreV1().Pods(space).Get(s.ctx, name, metav1.GetOptions{})
		if was := a.pods[key(&at)]; !s.must(err) {
			a.forgetPod(&corev1.Pod{ObjectMeta: at})
		} else if was == nil || was.ResourceVersion != pod.ResourceVersion {
			a.pods[key(pod)] = pod
			a.wrote(resource, key(pod), pod)
		}
	case "nodes":
		if n, err := s.CoreV1().Nodes().Get(s.ctx, name, metav1.GetOptions{}); s.must(err) {
			a.nodes[name] = n
			a.wrote(resource, name, n)
		}
	case "configmaps":
		if m, err := s.CoreV1().ConfigMaps(space).Get(s.ctx, name, metav1.GetOptions{}); s.must(err) {
			a.maps[key(m)] = m
			a.wrote(resource, key(m), m)
		}
	case "jobs":
		if j, err := s.BatchV1().Jobs(space).Get(s.ctx, name, metav1.GetOptions{}); s.must(err) {
			a.jobs[key(j)] = j
		}
	}
}
