package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

// gangLife contains when a gang reached each state, as a watch of its pods shows it.
type gangLife struct {
	made         time.Time // when its last pod was created, or its Job
	first, bound time.Time // when its first and its last pod were bound
	running      time.Time // when its last pod ran
	ended        time.Time // when its last pod ended
	pods, left   int       // number of its pods, and of those that have not ended
	ran          []string  // names of the pods that have run
}

// gangWatch sees every change of every pod in order, unlike a cache, and records faults: a pod that changes its node, a node with
// more GPUs used than it has, and a pod that disappears or fails.
type gangWatch struct {
	done   chan struct{} // closed when all pods have ended or the watch fails
	ended  chan struct{}
	cancel context.CancelFunc
	whole  func(gang string, pods []string) // is called when all pods of a gang run; may be nil

	gangs  map[string]*gangLife
	order  []*gangLife
	pods   map[types.UID]*podLife
	used   map[string]int64 // used GPUs, by node
	left   int
	faults []string
	events int
}

// podLife is the last known state of a pod.
type podLife struct {
	node  string
	phase corev1.PodPhase
}

func newGangWatch(jobs []gangJob) *gangWatch {
	w := &gangWatch{
		done: make(chan struct{}), ended: make(chan struct{}),
		gangs: map[string]*gangLife{}, pods: map[types.UID]*podLife{}, used: map[string]int64{},
	}
	for i := range jobs {
		life := &gangLife{pods: int(jobs[i].pods), left: int(jobs[i].pods)}
		w.order, w.gangs[jobs[i].Name] = append(w.order, life), life
		w.left += life.left
	}
	return w
}

// watchGangs starts a watch of a namespace, before the jobs' pods are created in it. It calls whole, which may be nil, when all
// pods of a gang run.
func watchGangs(t *testing.T, c *kubetest.Cluster, namespace string, jobs []gangJob, whole func(gang string, pods []string)) *gangWatch {
	t.Helper()
	w := newGangWatch(jobs)
	w.whole = whole
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	pods := c.Client.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	long := int64(3600)
	stream, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: &long})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.ended)
		defer stream.Stop()
		for change := range stream.ResultChan() {
			pod, ok := change.Object.(*corev1.Pod)
			if !ok {
				w.fault("the watch says %v", change.Object)
				break
			}
			if w.see(change.Type, pod, time.Now()); w.left == 0 {
				close(w.done)
				return
			}
		}
		if ctx.Err() == nil {
			w.fault("the watch has ended")
			close(w.done)
		}
	}()
	return w
}

// close ends the watch, reports its faults, and returns the lives of the gangs, by the index of their jobs.
func (w *gangWatch) close(t *testing.T) []*gangLife {
	t.Helper()
	w.cancel()
	<-w.ended
	if len(w.faults) > 0 {
		t.Errorf("%d faults, the first: %s", len(w.faults), strings.Join(w.faults[:min(10, len(w.faults))], "; "))
	}
	if w.left > 0 {
		t.Errorf("%d pods have not ended", w.left)
	}
	return w.order
}

func (w *gangWatch) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// see processes a change.
func (w *gangWatch) see(change watch.EventType, pod *corev1.Pod, now time.Time) {
	w.events++
	gang, was := w.gangs[gangNamed(pod)], w.pods[pod.UID]
	if gang == nil {
		w.fault("pod %s is of no gang of the window", pod.Name)
		return
	}
	if was == nil {
		was = &podLife{phase: corev1.PodPending}
		w.pods[pod.UID] = was
		gang.made = now
	}
	if change == watch.Deleted || pod.Status.Phase == corev1.PodFailed {
		w.fault("pod %s is %s, in phase %s", pod.Name, change, pod.Status.Phase)
		return
	}
	w.seeNode(gang, was, pod, now)
	if pod.Status.Phase == was.phase {
		return
	}
	if was.phase == corev1.PodPending {
		gang.running = now
		if gang.ran = append(gang.ran, pod.Name); len(gang.ran) == gang.pods && w.whole != nil {
			w.whole(gangNamed(pod), gang.ran)
		}
	}
	if was.phase = pod.Status.Phase; was.phase == corev1.PodSucceeded {
		w.used[was.node] -= gpusOf(pod)
		gang.ended = now
		gang.left--
		w.left--
	}
}

// gangNamed returns the name of a pod's PodGroup or, if it has none, of its Job.
func gangNamed(pod *corev1.Pod) string {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return *group.PodGroupName
	}
	return pod.Labels[batchv1.JobNameLabel]
}

// seeNode processes the node of a pod.
func (w *gangWatch) seeNode(gang *gangLife, was *podLife, pod *corev1.Pod, now time.Time) {
	node := pod.Spec.NodeName
	if node == was.node {
		return
	}
	if was.node != "" {
		w.fault("pod %s was on %s and is on %q", pod.Name, was.node, node)
		return
	}
	was.node = node
	if gang.first.IsZero() {
		gang.first = now
	}
	gang.bound = now
	if w.used[node] += gpusOf(pod); w.used[node] > nodeGPUs {
		w.fault("node %s has %d GPUs and pod %s makes it %d", node, nodeGPUs, pod.Name, w.used[node])
	}
}

// TestGangWatchFindsFaults checks that gangWatch finds each kind of fault.
func TestGangWatchFindsFaults(t *testing.T) {
	const name = "job-000"
	pod := func(id, node string, phase corev1.PodPhase, gpus int) *corev1.Pod {
		pod, group := kubetest.Pod("default", id, gpus), name
		pod.UID, pod.Spec.NodeName, pod.Status.Phase = types.UID(id), node, phase
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
		return pod
	}
	const pending, running, succeeded = corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded
	for _, c := range []struct {
		name        string
		pods        []*corev1.Pod
		want, whole string
	}{
		{"two pods, one after the other", []*corev1.Pod{
			pod("a", "", pending, 8), pod("b", "", pending, 8), pod("a", "x", pending, 8), pod("a", "x", running, 8),
			pod("a", "x", succeeded, 8), pod("b", "x", running, 8), pod("b", "x", succeeded, 8),
		}, "", "job-000[a b]"},
		{"a pod on two nodes", []*corev1.Pod{pod("a", "x", pending, 1), pod("a", "y", pending, 1)}, "was on x and is on \"y\"", ""},
		{"a node with too many", []*corev1.Pod{pod("a", "x", pending, 5), pod("b", "x", pending, 4)}, "makes it 9", ""},
		{"a pod that fails", []*corev1.Pod{pod("a", "x", corev1.PodFailed, 1)}, "in phase Failed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := gangJob{pods: 2}
			job.Name = name
			w, whole := newGangWatch([]gangJob{job}), ""
			w.whole = func(gang string, pods []string) { whole += fmt.Sprint(gang, pods) }
			for _, p := range c.pods {
				w.see(watch.Modified, p, time.Unix(0, 0))
			}
			got := strings.Join(w.faults, "; ")
			if c.want == "" && (got != "" || w.left != 0 || w.used["x"] != 0) || !strings.Contains(got, c.want) {
				t.Errorf("faults %q, %d pods left, %d GPUs used, want %q", got, w.left, w.used["x"], c.want)
			}
			if whole != c.whole {
				t.Errorf("whole are %q, want %q", whole, c.whole)
			}
		})
	}
}
