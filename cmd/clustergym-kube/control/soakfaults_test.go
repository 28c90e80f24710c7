package control

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

const (
	soakGarbage = "[1,2,\x00"
	soakLeast   = gang.MinMemberAnnotation
)

// soakTroubles are the faults that strike requests.
var soakTroubles = []string{
	"kill before", "kill after", "busy", "unavailable", "lost before", "lost after", "timeout before", "timeout after", "broken after",
	"forbidden", "conflict", "slow", "another binds", "deleted", "made anew", "switched off",
}

var soakVerbs = []string{"create pods/binding", "create pods/binding", "create pods/eviction", "delete pods", "update configmaps",
	"get pods", ""}

// inject makes one fault happen: at once, or in one of the next requests.
func (s *soak) inject() {
	if s.draw.IntN(3) == 0 {
		x := trouble{
			kind: soakTroubles[s.draw.IntN(len(soakTroubles))], verb: soakVerbs[s.draw.IntN(len(soakVerbs))],
			skip: s.draw.IntN(6), times: 1 + s.draw.IntN(6),
		}
		if x.kind == "slow" {
			x.times = 1
		}
		if s.troubles = append(s.troubles, x); len(s.troubles) > 8 { // the oldest waits for a request that does not come
			s.troubles = s.troubles[1:]
		}
		return
	}
	acts := []struct {
		kind string
		do   func() bool // whether there was something to do it to
	}{
		{"program: killed and started", func() bool { s.process.kill(); return true }},
		{"clock: forward", func() bool { s.skew += s.jump(); return true }},
		{"clock: back", func() bool { s.skew -= s.jump(); return true }},
		{"watch: late", func() bool { s.lag = 1 + s.draw.IntN(3); return true }},
		{"pod: deleted", s.onPod(func(pod *corev1.Pod) { s.end(pod) })},
		{"pod: gone at once", s.onPod(func(pod *corev1.Pod) { delete(s.pods, pod.Namespace+"/"+pod.Name) })},
		{"pod: failed", s.onPod(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })},
		{"pod: of another scheduler", s.foreign},
		{"node: not ready", s.onNode(func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown })},
		{"node: cordoned", s.onNode(func(n *corev1.Node) { n.Spec.Unschedulable = true })},
		{"node: gone", s.onNode(func(n *corev1.Node) { delete(s.nodes, n.Name); s.excused[n.Name] = true })},
		{"node: other number of GPUs", s.onNode(func(n *corev1.Node) {
			n.Status.Allocatable[gpu] = quantity([]int64{-1, 0, 3, 6, 1 << 40}[s.draw.IntN(5)])
			s.excused[n.Name] = true
		})},
		{"garbage: annotation", s.onPod(s.annotate)},
		{"garbage: pod", s.garbagePod},
		{"garbage: control ConfigMap", func() bool {
			s.control(switchTo("off"))
			s.orders.Data = map[string]string{[]string{modeKey, offerKey, reclaimKey, amountsKey, "what"}[s.draw.IntN(5)]: "\x00{"}
			return true
		}},
		{"control ConfigMap: deleted", func() bool { s.control(nil); return true }},
		{"garbage: ledger", func() bool {
			if s.ledger == nil {
				return false
			}
			s.ledger.Data, s.ledger.ResourceVersion = map[string]string{stopsKey: soakGarbage}, s.next()
			return true
		}},
		{"conflict: ledger written by another", func() bool {
			if s.ledger == nil {
				return false
			}
			s.ledger.ResourceVersion = s.next()
			return true
		}},
		{"budget: refuses", func() bool { s.gangs[s.draw.IntN(len(s.gangs))].budget = true; return true }},
	}
	if a := acts[s.draw.IntN(len(acts))]; a.do() {
		s.count(a.kind)
	}
}

// jump draws a jump of the clock, from a second to some ten days.
func (s *soak) jump() time.Duration {
	return time.Duration(s.draw.Int64N(int64(time.Second) << s.draw.IntN(20)))
}

// onPod returns a function that does something to a random pod of a gang.
func (s *soak) onPod(do func(*corev1.Pod)) func() bool {
	return func() bool {
		var all []*corev1.Pod
		for _, key := range slices.Sorted(maps.Keys(s.pods)) {
			if pod := s.pods[key]; s.gangOf(pod) != nil && pod.DeletionTimestamp == nil {
				all = append(all, pod)
			}
		}
		if len(all) > 0 {
			do(all[s.draw.IntN(len(all))])
		}
		return len(all) > 0
	}
}

func (s *soak) onNode(do func(*corev1.Node)) func() bool {
	return func() bool {
		all := slices.Sorted(maps.Keys(s.nodes))
		if len(all) > 0 {
			do(s.nodes[all[s.draw.IntN(len(all))]])
		}
		return len(all) > 0
	}
}

// foreign runs a pod of another scheduler where there is room.
func (s *soak) foreign() bool {
	pod := crew{space: "b", name: "foreign-" + s.next(), pods: 1, least: 1, gpus: 1 + s.draw.Int64N(8)}.list()[0]
	pod.Spec.SchedulerName, pod.UID, pod.CreationTimestamp = "other", types.UID(s.next()), metav1.NewTime(time.Now())
	name := s.room(pod)
	if name == "" {
		return false
	}
	s.place(pod, name)
	s.pods[pod.Namespace+"/"+pod.Name], s.excused[name] = pod, true
	return true
}

// annotate gives a pod an annotation that means nothing.
func (s *soak) annotate(pod *corev1.Pod) {
	keys := []string{soakLeast, mirror.EstimateAnnotation, mirror.MaxWorkersAnnotation}
	values := []string{"", "-1", "99999999999999999999", "\x00\x1b[31m", "1e9h", "{}", "0"}
	pod.Annotations[keys[s.draw.IntN(len(keys))]] = values[s.draw.IntN(len(values))]
	s.gangOf(pod).garbage = true
}

// garbagePod creates a pod that asks for something that is not supported.
func (s *soak) garbagePod() bool {
	pod := crew{space: "a", name: "garbage-" + s.next(), pods: 1, least: 1, gpus: 1}.list()[0]
	pod.UID, pod.CreationTimestamp = types.UID(s.next()), metav1.NewTime(time.Now())
	switch s.draw.IntN(5) {
	case 0:
		pod.Spec.Containers[0].Resources.Requests[gpu] = quantity(-1 << 62)
	case 1:
		pod.Spec.Containers[0].Resources.Requests[gpu] = quantity(1 << 62)
	case 2:
		pod.Spec.Containers[0].Resources.Requests["example.com/x"] = quantity(1)
	case 3:
		pod.Labels[gang.Label], pod.Annotations[soakLeast] = "\x1b[2J", "70000"
	default:
		for i := range 100 {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: fmt.Sprint(i)})
		}
	}
	s.pods[pod.Namespace+"/"+pod.Name] = pod
	return true
}
