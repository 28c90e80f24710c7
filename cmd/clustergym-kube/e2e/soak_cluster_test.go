package e2e

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/faulttest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

// node returns a random node of those with GPUs.
func (w *soak) node() string { return fmt.Sprintf("gpu-%03d", w.draw.IntN(soakNodes)) }

// patchNode changes a node, or its status if part says so. It reports whether the node is there.
func (w *soak) patchNode(name string, change map[string]any, part ...string) bool {
	patch, err := json.Marshal(change)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = w.c.Client.CoreV1().Nodes().Patch(w.ctx(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, part...)
	return w.must(err)
}

// change changes a random node for a while, unless another fault changes it already.
func (w *soak) change(do, back func(node string) bool) bool {
	node := w.node()
	if w.rules.busy(node, true) || !do(node) {
		return false
	}
	w.until(5*time.Second, func() {
		back(node)
		w.rules.busy(node, false)
	})
	return true
}

// busy notes that a fault changes a node, or has ended. It reports whether another fault does already.
func (r *rules) busy(node string, is bool) bool {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	n := r.nodes[node]
	if is && n.busy {
		return true
	}
	n.busy = is
	return false
}

func (w *soak) cordon() bool {
	set := func(node string, is bool) bool {
		ok := w.patchNode(node, map[string]any{"spec": map[string]any{"unschedulable": is}})
		w.rules.node(node, is, -1)
		return ok
	}
	return w.change(func(node string) bool { return set(node, true) }, func(node string) bool { return set(node, false) })
}

// breakNode makes a node not ready, with the taint that Kubernetes gives it then. KWOK makes the node ready again soon, and the
// taint stays for a while.
func (w *soak) breakNode() bool {
	taint := func(node string, taints ...corev1.Taint) bool {
		ok := w.patchNode(node, map[string]any{"spec": map[string]any{"taints": append([]corev1.Taint{}, taints...)}})
		w.rules.node(node, len(taints) > 0, -1)
		return ok
	}
	return w.change(func(node string) bool {
		return taint(node, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}) &&
			w.patchNode(node, map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now(),
			}}}}, "status")
	}, func(node string) bool {
		w.rules.node(node, false, -1)
		return w.patchNode(node, map[string]any{"spec": map[string]any{"taints": nil}})
	})
}

func (w *soak) shrinkNode() bool {
	set := func(node string, gpus int64) bool {
		ok := w.patchNode(node, map[string]any{"status": map[string]any{"allocatable": map[string]any{string(kubetest.GPU): fmt.Sprint(gpus)}}}, "status")
		w.rules.node(node, false, gpus)
		return ok
	}
	return w.change(func(node string) bool { return set(node, w.draw.Int64N(8)) }, func(node string) bool { return set(node, 8) })
}

func (w *soak) removeNode() bool {
	nodes := w.c.Client.CoreV1().Nodes()
	var had *corev1.Node
	return w.change(func(node string) bool {
		var err error
		if had, err = nodes.Get(w.ctx(), node, metav1.GetOptions{}); !w.must(err) || !w.must(nodes.Delete(w.ctx(), node, metav1.DeleteOptions{})) {
			return false
		}
		w.rules.remove(node, true)
		return true
	}, func(node string) bool {
		again := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: had.Name, Labels: had.Labels}, Status: had.Status}
		_, err := nodes.Create(w.ctx(), again, metav1.CreateOptions{})
		w.rules.remove(node, false)
		return w.must(err)
	})
}

// remove notes that a node is gone, or there again.
func (r *rules) remove(node string, gone bool) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	n := r.nodes[node]
	n.gone, n.closed, n.changed = gone, gone, time.Now()
}

// garbagePod creates a pod of nobody for a while, maybe as one of a gang's.
func (w *soak) garbagePod() bool {
	w.made++
	g := &madeGang{name: fmt.Sprint("junk", w.made), space: fmt.Sprint("team-", w.draw.IntN(soakSpaces)), pods: 1, gpus: 1}
	pod := g.pod(0)
	set := func(r corev1.ResourceName, values ...string) {
		q := resource.MustParse(values[w.draw.IntN(len(values))])
		pod.Spec.Containers[0].Resources.Requests[r], pod.Spec.Containers[0].Resources.Limits[r] = q, q
	}
	switch w.draw.IntN(4) {
	case 0:
		set(kubetest.GPU, "0", "16384", "1E")
	case 1:
		set(corev1.ResourceCPU, "8E", "1n", "0")
	case 2:
		pod.Annotations["clustergym.dev/min-member"] = w.word()
	case 3: // as a member of a gang
		if of := w.some(func(pod *corev1.Pod) bool { return alive(pod) && pod.Labels["scheduling.x-k8s.io/pod-group"] != "" }); of != nil {
			pod.Namespace, pod.Spec.PriorityClassName = of.Namespace, of.Spec.PriorityClassName
			pod.Labels["scheduling.x-k8s.io/pod-group"] = of.Labels["scheduling.x-k8s.io/pod-group"]
			pod.Annotations["clustergym.dev/min-member"] = of.Annotations["clustergym.dev/min-member"]
			set(kubetest.GPU, "7")
		}
	}
	if w.draw.IntN(3) == 0 {
		pod.Annotations["clustergym.dev/estimate"] = w.word()
	}
	w.expect(pod.Namespace+"/"+g.name, 1)
	made, err := w.c.Client.CoreV1().Pods(pod.Namespace).Create(w.ctx(), pod, metav1.CreateOptions{})
	if apierrors.IsInvalid(err) || !w.must(err) { // the server knows it for garbage
		return false
	}
	w.until(5*time.Second, func() { w.must(w.remove(w.ctx(), made, metav1.DeleteOptions{})) })
	return true
}

func (w *soak) garbageNode() bool {
	w.made++
	gpus := resource.MustParse([]string{"4611686018427387904", "9E", "0"}[w.draw.IntN(3)])
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("junk", w.made), Labels: map[string]string{"nvidia.com/gpu.product": "x_-.1", "topology.kubernetes.io/rack": ""},
			Annotations: map[string]string{"clustergym.dev/pool": w.word()},
		},
		Spec:   corev1.NodeSpec{Unschedulable: true}, // so that its size does not attract pods
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{kubetest.GPU: gpus}, Capacity: corev1.ResourceList{kubetest.GPU: gpus}},
	}
	_, err := w.c.Client.CoreV1().Nodes().Create(w.ctx(), node, metav1.CreateOptions{})
	if !w.must(err) {
		return false
	}
	w.until(5*time.Second, func() { w.must(w.c.Client.CoreV1().Nodes().Delete(w.ctx(), node.Name, metav1.DeleteOptions{})) })
	return true
}

// ledger is the ConfigMap in which the program counts stops, and its key.
const (
	ledger   = "clustergym-ledger"
	stopsKey = "stops"
)

// garbageLedger replaces the ledger for a while; then it is deleted, as the program's log asks for.
func (w *soak) garbageLedger() bool {
	w.loseLedger(true)
	maps := w.c.Client.CoreV1().ConfigMaps("default")
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ledger}, Data: map[string]string{stopsKey: faulttest.Ledger}}
	_, err := maps.Update(w.ctx(), m, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(w.ctx(), m, metav1.CreateOptions{})
	}
	w.until(4*time.Second, func() {
		w.must(maps.Delete(w.ctx(), ledger, metav1.DeleteOptions{}))
		w.loseLedger(false)
	})
	return w.must(err)
}

// loseLedger notes that the ledger is lost: a process that begins after that knows none of the stops before.
func (w *soak) loseLedger(garbage bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules.garbage, w.rules.recent = garbage, 0
}

// writeLedger writes the ledger as it is, as another process would: the program's next write is refused.
func (w *soak) writeLedger() bool {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"written":%q}}}`, time.Now())
	_, err := w.c.Client.CoreV1().ConfigMaps("default").Patch(w.ctx(), ledger, types.MergePatchType, patch, metav1.PatchOptions{})
	return w.must(err)
}

func (w *soak) deleteLedger() bool {
	ok := w.must(w.c.Client.CoreV1().ConfigMaps("default").Delete(w.ctx(), ledger, metav1.DeleteOptions{}))
	w.loseLedger(false)
	return ok
}

// order replaces the control ConfigMap for a while, or deletes it if data is nil.
func (w *soak) order(data map[string]string) bool {
	if w.ordered {
		return false
	}
	w.ordered = true
	say(w.t, w.c, data)
	w.rules.setMode(false)
	w.until(5*time.Second, func() {
		say(w.t, w.c, map[string]string{"mode": string(control.Live)})
		w.rules.setMode(true)
		w.ordered = false
	})
	if w.draw.IntN(4) == 0 { // without other faults, so that any write is a breach
		w.wire.disarm()
		w.quiet(notice + 2*time.Second)
	}
	return true
}

func (w *soak) turnOff() bool {
	return w.order(map[string]string{"mode": []string{"off", "shadow", "garbage", ""}[w.draw.IntN(4)]})
}

func (w *soak) deleteControl() bool { return w.order(nil) }
