package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/faulttest"
)

// fault makes one random fault. It counts when it takes effect: one of a request does when a replica sends one.
func (w *soak) fault() {
	if w.wire.idle() && w.draw.IntN(2) == 0 {
		w.wire.arm()
		return
	}
	all := []struct {
		kind string
		make func() bool // returns false if there is nothing that it could happen to
	}{
		{"program killed at any time", w.killAny}, {"program told to end (SIGTERM)", w.tellToEnd}, {"program stopped (SIGSTOP)", w.pause},
		{"API server killed", w.killServer},
		{"pod deleted", w.deletePod}, {"pod deleted", w.deletePod}, {"pod failed", w.failPod}, {"pod bears a wrong clock's times", w.misdate},
		{"node not ready", w.breakNode}, {"node cordoned", w.cordon}, {"node removed", w.removeNode}, {"node lost GPUs", w.shrinkNode},
		{"another scheduler binds a pod", w.rivalBinds}, {"another scheduler takes GPUs", w.rivalTakes},
		{"watch delayed", w.delay}, {"watch delayed", w.delay},
		{"garbage pod", w.garbagePod}, {"garbage annotation", w.garbageAnnotation}, {"garbage node", w.garbageNode},
		{"garbage ledger", w.garbageLedger}, {"ledger written by another", w.writeLedger}, {"ledger deleted", w.deleteLedger},
		{"mode off, shadow or garbage", w.turnOff}, {"control ConfigMap deleted", w.deleteControl},
		{"disruption budget", w.protectGang},
	}
	if f := all[w.draw.IntN(len(all))]; f.make() {
		w.count(f.kind)
	}
}

// must fails the test if a request of the test failed because of something else than that the object has changed or is gone. It
// reports whether the request succeeded.
func (w *soak) must(err error) bool {
	w.t.Helper()
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

func (w *soak) ctx() context.Context { return w.t.Context() }

// some returns a random pod for which hold returns true, nil if there is none.
func (w *soak) some(hold func(*corev1.Pod) bool) *corev1.Pod {
	pods := w.list(hold)
	if len(pods) == 0 {
		return nil
	}
	return pods[w.draw.IntN(len(pods))]
}

func (w *soak) deletePod() bool {
	pod := w.some(alive)
	return pod != nil && w.must(w.remove(w.ctx(), pod, metav1.DeleteOptions{}))
}

func works(pod *corev1.Pod) bool { return alive(pod) && pod.Status.Phase == corev1.PodRunning }

func (w *soak) failPod() bool {
	pod := w.some(works)
	return pod != nil && w.must(setPhase(w.ctx(), w.c, pod, corev1.PodFailed))
}

// misdate sets the times in a pod's status, as a kubelet with a wrong clock would.
func (w *soak) misdate() bool {
	pod := w.some(works)
	if pod == nil {
		return false
	}
	by := []time.Duration{time.Minute, time.Hour, 72 * time.Hour}[w.draw.IntN(3)]
	at := metav1.NewTime(time.Now().Add(time.Duration(w.draw.Int64N(int64(2*by))) - by))
	pod = pod.DeepCopy()
	pod.Status.StartTime = &at
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].LastTransitionTime = at
	}
	_, err := w.c.Client.CoreV1().Pods(pod.Namespace).UpdateStatus(w.ctx(), pod, metav1.UpdateOptions{})
	return w.must(err)
}

// delay delays what the program sees of a resource.
func (w *soak) delay() bool {
	d := time.Duration(200+w.draw.IntN(3000)) * time.Millisecond
	w.wire.stall([]string{"pods", "nodes", "configmaps"}[w.draw.IntN(3)], d)
	w.rules.disturb()
	w.later = append(w.later, undo{time.Now().Add(d), w.rules.settle})
	return true
}

// rivalOf binds a pod of the program to a node with room, as another scheduler would.
func (w *soak) rivalOf(ctx context.Context, pod *corev1.Pod) bool {
	w.mu.Lock()
	node := w.rules.free(gpusOf(pod))
	if node != "" {
		w.rules.at(pod.UID).rival = node
	}
	w.mu.Unlock()
	return node != "" && w.c.Client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{}) == nil
}

// free returns a node that has as many free GPUs, "" if there is none.
func (r *rules) free(gpus int64) string {
	names := make([]string, 0, len(r.nodes))
	for name, n := range r.nodes {
		if !n.closed && n.room-r.w.held(name) >= gpus {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

func (w *soak) rivalBinds() bool {
	pod := w.some(unbound)
	return pod != nil && w.rivalOf(w.ctx(), pod)
}

func (w *soak) rivalBindsFirst(c *call) {
	w.mu.Lock()
	pod := w.rules.podAt(c.read.URL.Path)
	w.mu.Unlock()
	if pod != nil && !bound(pod) {
		w.rivalOf(c.read.Context(), pod)
	}
}

// take runs a pod of another scheduler on a node for a while. It returns the pod.
func (w *soak) take(ctx context.Context, name, node string, gpus int) *corev1.Pod {
	pod := (&madeGang{name: name, space: "default", pods: 1, gpus: gpus}).pod(0)
	pod.Spec.SchedulerName, pod.Spec.NodeName = "other", node
	made, err := w.c.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return nil
	}
	return made
}

func (w *soak) rivalTakes() bool {
	gpus := 1 + w.draw.IntN(4)
	w.mu.Lock()
	node := w.rules.free(int64(gpus))
	w.mu.Unlock()
	if node == "" {
		return false
	}
	w.made++
	pod := w.take(w.ctx(), fmt.Sprint("other", w.made), node, gpus)
	if pod != nil {
		w.until(6*time.Second, func() { w.must(w.remove(w.ctx(), pod, metav1.DeleteOptions{})) })
	}
	return pod != nil
}

// rivalFills lets another scheduler run a pod on the node that a request is about to bind to.
func (w *soak) rivalFills(c *call) {
	o, ok := c.object().(*corev1.Binding)
	if !ok {
		return
	}
	if pod := w.take(c.read.Context(), "first-"+o.Name, o.Target.Name, 2); pod != nil {
		time.AfterFunc(3*time.Second, func() { _ = w.remove(w.ctx(), pod, metav1.DeleteOptions{}) })
	}
}

// word returns nonsense without the byte 0.
func (w *soak) word() string {
	return strings.TrimPrefix(faulttest.Words[w.draw.IntN(len(faulttest.Words))], "\x00")
}

// garbageAnnotation writes nonsense into an annotation of a pod for a while.
func (w *soak) garbageAnnotation() bool {
	pod := w.some(alive)
	if pod == nil {
		return false
	}
	names := []string{"clustergym.dev/estimate", "clustergym.dev/max-workers", "clustergym.dev/min-workers", "clustergym.dev/model"}
	name := names[w.draw.IntN(len(names))]
	was, had := pod.Annotations[name]
	set := func(value any) bool {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]any{name: value}}})
		if err != nil {
			w.t.Fatal(err)
		}
		_, err = w.c.Client.CoreV1().Pods(pod.Namespace).Patch(w.ctx(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return w.must(err)
	}
	w.until(8*time.Second, func() {
		if had {
			set(was)
		} else {
			set(nil)
		}
	})
	return set(w.word())
}

// protectGang lets a disruption budget refuse evictions of a gang's pods for a while.
func (w *soak) protectGang() bool {
	pod := w.some(func(pod *corev1.Pod) bool { return works(pod) && pod.Labels["kubetest/gang"] != "" })
	return pod != nil && w.protect(pod)
}

// protect lets a disruption budget refuse evictions of the pods of a pod's gang for a while.
func (w *soak) protect(pod *corev1.Pod) bool {
	w.made++
	none := intstr.FromInt32(0)
	budgets := w.c.Client.PolicyV1().PodDisruptionBudgets(pod.Namespace)
	budget, err := budgets.Create(w.ctx(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("budget", w.made)},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubetest/gang": pod.Labels["kubetest/gang"]}},
		},
	}, metav1.CreateOptions{})
	if !w.must(err) {
		return false
	}
	budget.Status.ObservedGeneration = budget.Generation // as the disruption controller would
	_, err = budgets.UpdateStatus(w.ctx(), budget, metav1.UpdateOptions{})
	w.must(err)
	gang := gangOf(pod)
	w.rules.guard(gang, 1)
	w.until(10*time.Second, func() {
		w.must(budgets.Delete(w.ctx(), budget.Name, metav1.DeleteOptions{}))
		w.rules.guard(gang, -1)
	})
	return true
}

// protectAll lets disruption budgets refuse all evictions for some time, in which no other fault hinders the program: it may ask for
// those of each gang once.
func (w *soak) protectAll() {
	seen := map[string]bool{}
	for _, pod := range w.list(func(pod *corev1.Pod) bool { return works(pod) && pod.Labels["kubetest/gang"] != "" }) {
		if gang := gangOf(pod); !seen[gang] {
			seen[gang] = true
			if w.protect(pod) {
				w.count("disruption budget")
			}
		}
	}
	w.quiet(3 * notice)
}

// guard notes that a disruption budget protects a gang, or no longer does.
func (r *rules) guard(gang string, by int) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.protect[gang] += by
}
