package control

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/pods"
)

func (w *world) word() string { return garbageWords[w.draw.IntN(len(garbageWords))] }

// garbagePod creates a pod of nobody for a while, maybe as one of a gang's.
func (w *world) garbagePod() bool {
	w.made++
	pod := crew{space: fmt.Sprint("team-", w.draw.IntN(3)), name: fmt.Sprint("junk", w.made), pods: 1, least: 1, gpus: 1}.list()[0]
	pod.UID = ""
	pod.CreationTimestamp = metav1.NewTime(w.now().Add(time.Duration(w.draw.IntN(200)-100) * time.Hour))
	requests := pod.Spec.Containers[0].Resources.Requests
	switch w.draw.IntN(5) {
	case 0:
		requests[gpu] = resource.MustParse([]string{"0", "-1", "500m", "16384", "9E", "1n"}[w.draw.IntN(6)])
	case 1:
		requests["cpu"] = resource.MustParse([]string{"-1", "9E", "1n"}[w.draw.IntN(3)])
	case 2:
		pod.Annotations[pods.MinMemberNote] = w.word()
	case 3:
		pod.Spec.Containers = nil
	case 4: // as a member of a gang
		if len(w.gangs) > 0 {
			g := w.gangs[w.draw.IntN(len(w.gangs))]
			pod.Namespace, pod.Labels[pods.GroupLabel] = g.space, g.name
			pod.Annotations[pods.MinMemberNote] = fmt.Sprint(g.least)
			requests[gpu] = resource.MustParse("7")
		}
	}
	if w.draw.IntN(3) == 0 {
		pod.Annotations[pods.EstimateNote] = w.word()
	}
	if !w.putPod(pod) {
		return false
	}
	w.until(20, func() {
		if now := w.pods[key(pod)]; now != nil {
			w.dropPod(now)
		}
	})
	return true
}

// garbageAnnotation writes nonsense into an annotation of a gang's pod, for as long as the pod exists.
func (w *world) garbageAnnotation() bool {
	pod := w.some(alive)
	if pod == nil {
		return false
	}
	names := []string{pods.EstimateNote, pods.MaxWorkersNote, "clustergym.dev/min-workers", "clustergym.dev/model"}
	w.spoil(pod, names[w.draw.IntN(len(names))], w.word())
	return true
}

// spoil gives an annotation of a pod another value for a while.
func (w *world) spoil(pod *corev1.Pod, name, value string) {
	uid := pod.UID
	was, had := pod.Annotations[name]
	w.editPod(pod, func(p *corev1.Pod) { p.Annotations[name] = value })
	w.until(20, func() {
		if now := w.pods[key(pod)]; now != nil && now.UID == uid {
			w.editPod(now, func(p *corev1.Pod) {
				if p.Annotations[name] = was; !had {
					delete(p.Annotations, name)
				}
			})
		}
	})
}

func (w *world) garbageNode() bool {
	w.made++
	n := w.node(fmt.Sprint("junk", w.made))
	n.Status.Allocatable = corev1.ResourceList{gpu: resource.MustParse([]string{"-8", "9E", "1n", "0"}[w.draw.IntN(4)])}
	if w.draw.IntN(2) == 0 {
		n.Status.Conditions = nil
	}
	n.Labels = map[string]string{"type": w.word(), mirror.PoolLabel: w.word()}
	n.Spec.Unschedulable = true // so that its sizes do not attract pods
	if !w.putNode(n) {
		return false
	}
	w.until(20, func() { w.dropNode(n.Name) })
	return true
}

func (w *world) garbageLedger() bool {
	return w.ledgerIs(garbageStops)
}

// ledgerIs replaces the ledger's text for a while; then it is deleted, as the log asks for.
func (w *world) ledgerIs(text string) bool {
	name := metav1.ObjectMeta{Namespace: "ns", Name: ledgerName}
	w.putMap(&corev1.ConfigMap{ObjectMeta: name, Data: map[string]string{stopsKey: text}})
	w.until(10, func() {
		if m := w.maps["ns/"+ledgerName]; m != nil && m.Data[stopsKey] == garbageStops {
			w.dropMap("ns/" + ledgerName)
		}
	})
	return true
}

// writeLedger writes the ledger as it is, as another process would: the next write of this one is refused.
func (w *world) writeLedger() bool {
	m := w.maps["ns/"+ledgerName]
	if m == nil {
		return false
	}
	w.putMap(m.DeepCopy())
	return true
}

func (w *world) deleteLedger() bool {
	if w.maps["ns/"+ledgerName] == nil {
		return false
	}
	w.dropMap("ns/" + ledgerName)
	return true
}

// order replaces the control ConfigMap for some rounds, or deletes it if m is nil.
func (w *world) order(m *corev1.ConfigMap) bool {
	if m == nil {
		w.dropMap("ns/" + ControlName)
	} else {
		w.putMap(m)
	}
	w.until(10, func() { w.putMap(w.orders("live")) })
	return true
}

func (w *world) turnOff() bool {
	return w.order(w.orders([]string{"off", "shadow", "garbage", ""}[w.draw.IntN(4)]))
}

func (w *world) deleteSwitch() bool { return w.order(nil) }

// protect lets a disruption budget refuse evictions of a gang's pods for a while.
func (w *world) protect() bool {
	if len(w.gangs) == 0 {
		return false
	}
	name := w.gangs[w.draw.IntN(len(w.gangs))].key()
	w.guard(name, true)
	w.until(40, func() { w.guard(name, false) })
	return true
}
