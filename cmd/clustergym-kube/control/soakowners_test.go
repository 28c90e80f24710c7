package control

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/pods"
)

// kubelets starts pods, and ends those that are being deleted.
func (w *world) kubelets() {
	for _, pod := range w.podList() {
		n := w.nodes[pod.Spec.NodeName]
		switch {
		case pod.Spec.NodeName == "":
		case n == nil:
			w.dropPod(pod) // the garbage collector
		case !mirror.Ready(n):
		case pod.DeletionTimestamp != nil:
			if w.draw.IntN(3) > 0 {
				w.dropPod(pod)
			}
		case pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "":
			w.start(pod)
		case pod.Status.Phase == corev1.PodRunning && w.play.amounts:
			w.resize(pod)
		}
	}
}

// owners create the pods of gangs again that are missing, end gangs that have run for long enough, and create new gangs.
func (w *world) owners(passed time.Duration) {
	for _, g := range w.gangs {
		pods := w.members(g)
		running, ended := 0, 0
		for _, pod := range pods {
			switch {
			case pod.DeletionTimestamp != nil:
			case pod.Status.Phase == corev1.PodRunning:
				running++
			case mirror.Ended(pod):
				ended++
				if pod.Status.Phase == corev1.PodFailed {
					w.dropPod(pod) // the owner creates another
				}
			}
		}
		if running >= g.least && !g.over {
			w.report(g, pods)
			if g.ran += passed; g.ran >= g.run {
				g.over = true
				for _, pod := range pods {
					switch {
					case w.pods[key(pod)] == nil: // it has failed
					case pod.Spec.NodeName == "": // an elastic gang has run without it
						w.dropPod(pod)
					default:
						w.editPod(pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
					}
				}
			}
		} else {
			g.ran = 0
		}
		for i := range g.pods {
			name := fmt.Sprintf("%s-%d", g.name, i)
			switch pod := w.pods[g.space+"/"+name]; {
			case g.over:
			case i >= w.wants(g) && pod != nil && pod.DeletionTimestamp == nil:
				w.end(pod)
			case i < w.wants(g) && pod == nil:
				w.putPod(w.pod(g, name))
			}
		}
	}
	for _, g := range w.gangs {
		if g.over && w.draw.IntN(4) == 0 {
			for _, pod := range w.members(g) {
				w.dropPod(pod)
			}
		}
	}
	w.gangs = slices.DeleteFunc(w.gangs, func(g *wanted) bool {
		gone := g.over && len(w.members(g)) == 0
		if gone {
			w.dropJob(g.key())
		}
		return gone
	})
	if len(w.gangs) < w.open && w.draw.IntN(2) == 0 {
		w.made++
		g := &wanted{
			space: fmt.Sprint("team-", w.draw.IntN(3)), name: fmt.Sprint("g", w.made), pods: 1 + w.draw.IntN(6), gpus: 1 + w.draw.Int64N(4),
			priority: int32(w.draw.IntN(3)), run: time.Duration(30+w.draw.IntN(600)) * time.Second,
		}
		if g.least = g.pods; w.play.grows && w.draw.IntN(2) == 0 {
			g.pods, g.gpus = g.least+w.draw.IntN(6), 1
			w.putJob(&batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Namespace: g.space, Name: g.name, UID: types.UID("job-" + g.name)},
				Spec:       batchv1.JobSpec{Parallelism: new(int32(g.least + w.draw.IntN(g.pods-g.least+1)))},
			})
		}
		if w.play.amounts {
			g.size = w.size()
		}
		w.gangs = append(w.gangs, g)
	}
}

// wants returns how many pods the owner of a gang has now.
func (w *world) wants(g *wanted) int {
	if j := w.jobs[g.key()]; j != nil {
		return int(*j.Spec.Parallelism)
	}
	return g.pods
}

// members returns the pods that the owner of a gang created.
func (w *world) members(g *wanted) (pods []*corev1.Pod) {
	for i := range g.pods {
		if pod := w.pods[fmt.Sprintf("%s/%s-%d", g.space, g.name, i)]; pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (w *world) pod(g *wanted, name string) *corev1.Pod {
	pod := crew{space: g.space, name: g.name, pods: 1, least: g.least, gpus: g.gpus, priority: g.priority}.list()[0]
	pod.Name, pod.UID, pod.CreationTimestamp = name, "", metav1.NewTime(w.now())
	pod.Annotations[pods.EstimateNote] = g.run.String()
	if j := w.jobs[g.key()]; j != nil {
		pod.Annotations["clustergym.dev/min-workers"], pod.Annotations[pods.MaxWorkersNote] = fmt.Sprint(g.least), fmt.Sprint(g.pods)
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
	}
	requests := pod.Spec.Containers[0].Resources.Requests
	requests["cpu"] = resource.MustParse(fmt.Sprint(2 * g.gpus))
	requests["memory"] = resource.MustParse(fmt.Sprint(8*g.gpus, "Gi"))
	if g.size != nil {
		g.size.apply(pod, g.gpus)
	}
	return pod
}

// gangName returns the name of a pod's gang, as namespace/name.
func gangName(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Labels[pods.GroupLabel] }

func own(pod *corev1.Pod) bool { return slices.Contains(reading.Schedulers, pod.Spec.SchedulerName) }
