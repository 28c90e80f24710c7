package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/internal/must"
)

const (
	gangDeadline = 5 * time.Second  // the flag --gang-deadline of the programs under test
	gangSlack    = 10 * time.Second // extra time for a busy machine
)

// checker watches the pods of a cluster and checks the invariants that must hold after every change.
type checker struct {
	t testing.TB
	c *kubetest.Cluster

	mu      sync.Mutex
	pods    map[types.UID]*corev1.Pod // existing pods
	node    map[types.UID]string      // the node to which each pod was ever bound
	room    map[string]int64          // GPUs of each node
	need    map[string]int            // pods that must run together, by gang: namespace/name
	half    map[string]time.Time      // since when a gang is partly bound, on the checker's clock
	mine    map[types.UID]bool        // pods that the test has deleted
	gone    map[types.UID]string      // names of pods that others have deleted or are deleting
	lives   map[string]*life          // when gangs came as far as that
	worst   time.Duration             // longest time for which a gang was partly bound
	stopped time.Duration             // total time for which the clock was frozen before
	since   time.Time                 // since when the clock is frozen; zero if it runs
	faults  []string

	stop context.CancelFunc
	done chan struct{}
}

// check starts a checker. The test must call its finish.
func check(t testing.TB, c *kubetest.Cluster) *checker {
	t.Helper()
	k := &checker{
		t: t, c: c, pods: map[types.UID]*corev1.Pod{}, node: map[types.UID]string{}, room: map[string]int64{},
		need: map[string]int{}, half: map[string]time.Time{}, mine: map[types.UID]bool{},
		gone: map[types.UID]string{}, lives: map[string]*life{}, done: make(chan struct{}),
	}
	for _, name := range []string{"scheduler", "leader", "reader", "admin"} { // logs of an earlier run, if artefacts are kept
		old := must.Get(filepath.Glob(filepath.Join(c.Logs, name+"*.log")))(t)
		for _, path := range old {
			must.Do(t, os.Remove(path))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	k.stop = cancel
	t.Cleanup(func() { cancel(); <-k.done })
	nodes := must.Get(c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{}))(t)
	for i := range nodes.Items {
		room := nodes.Items[i].Status.Allocatable[kubetest.GPU]
		k.room[nodes.Items[i].Name] = room.Value()
	}
	go func() {
		defer close(k.done)
		for ctx.Err() == nil {
			k.follow(ctx)
			pauseFor(ctx, 20*time.Millisecond)
		}
	}()
	return k
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// follow lists the pods and watches them until the watch ends.
func (k *checker) follow(ctx context.Context) {
	list, err := k.c.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	k.relist(list.Items)
	w, err := k.c.Client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return
		}
		k.see(pod, event.Type == watch.Deleted)
	}
}

// relist processes a list of all pods: first the pods that are missing in it, then those in it.
func (k *checker) relist(pods []corev1.Pod) {
	there := map[types.UID]bool{}
	for i := range pods {
		there[pods[i].UID] = true
	}
	k.mu.Lock()
	var missed []*corev1.Pod
	for uid, pod := range k.pods {
		if !there[uid] {
			missed = append(missed, pod)
		}
	}
	k.mu.Unlock()
	for _, pod := range missed {
		k.see(pod, true)
	}
	for i := range pods {
		k.see(&pods[i], false)
	}
}

// see processes one event.
func (k *checker) see(pod *corev1.Pod, deleted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := pod.Namespace + "/" + pod.Name
	if node := pod.Spec.NodeName; node != "" {
		if was := k.node[pod.UID]; was != "" && was != node {
			k.fault("pod %s is bound to %s and to %s", name, was, node)
		}
		k.node[pod.UID] = node
	}
	k.live(k.pods[pod.UID], pod)
	if (deleted || pod.DeletionTimestamp != nil) && !k.mine[pod.UID] {
		k.gone[pod.UID] = name
	}
	if deleted {
		delete(k.pods, pod.UID)
	} else {
		k.pods[pod.UID] = pod
	}
	if node := pod.Spec.NodeName; node != "" {
		if held := k.held(node); held > k.room[node] {
			k.fault("node %s holds %d GPUs of %d with pod %s", node, held, k.room[node], name)
		}
	}
	k.whole(gangOf(pod))
}

// life is when the last pod of a gang was created, bound and had succeeded.
type life struct{ made, bound, ended time.Time }

// live notes how far a gang has come with the new state of a pod; was is nil for a new pod.
func (k *checker) live(was, pod *corev1.Pod) {
	now, name := time.Now(), gangOf(pod)
	x := k.lives[name]
	if x == nil {
		x = &life{}
		k.lives[name] = x
	}
	if was == nil {
		was, x.made = &corev1.Pod{}, now
	}
	if pod.Spec.NodeName != "" && was.Spec.NodeName == "" {
		x.bound = now
	}
	if kubetest.Succeeded(pod) && !kubetest.Succeeded(was) {
		x.ended = now
	}
}

func (k *checker) fault(format string, args ...any) {
	k.faults = append(k.faults, fmt.Sprintf(format, args...))
}

// held returns the number of GPUs that the pods on a node use.
func (k *checker) held(node string) (gpus int64) {
	for _, pod := range k.pods {
		if pod.Spec.NodeName == node && !mirror.Ended(pod) {
			gpus += gpusOf(pod)
		}
	}
	return gpus
}

func gpusOf(pod *corev1.Pod) int64 {
	n := pod.Spec.Containers[0].Resources.Requests[kubetest.GPU]
	return n.Value()
}

// gangOf returns the gang of a pod that a test created, as namespace/name.
func gangOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Labels["kubetest/gang"] }

// whole notes in the checker's map since at which instant a gang became partly bound: some of its pods are bound, others are
// missing. A pod that has succeeded does not count as missing.
func (k *checker) whole(gang string) {
	bound, need := k.members(gang)
	if k.need[gang] == 0 {
		return
	}
	since, was := k.half[gang]
	switch half := bound > 0 && bound < need; {
	case half && !was:
		k.half[gang] = time.Now().Add(-k.still())
	case !half && was:
		k.over(gang, since)
		delete(k.half, gang)
	}
}

// members returns how many pods of a gang are bound, and how many have to be.
func (k *checker) members(gang string) (bound, need int) {
	need = k.need[gang]
	for _, pod := range k.pods {
		switch {
		case gangOf(pod) != gang || pod.DeletionTimestamp != nil:
		case mirror.Ended(pod):
			need--
		case pod.Spec.NodeName != "":
			bound++
		}
	}
	return bound, need
}

// still returns for how long the checker's clock was frozen in total.
func (k *checker) still() time.Duration {
	if k.since.IsZero() {
		return k.stopped
	}
	return k.stopped + time.Since(k.since)
}

// freeze stops the checker's clock while no program can complete a partly bound gang. thaw starts the clock again.
func (k *checker) freeze() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.since = time.Now()
}

func (k *checker) thaw() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped, k.since = k.still(), time.Time{}
}

// over records how long a gang was partly bound.
func (k *checker) over(gang string, since time.Time) {
	took := time.Now().Add(-k.still()).Sub(since)
	k.worst = max(k.worst, took)
	if took > gangDeadline+gangSlack {
		k.fault("gang %s was bound in part for %v, want at most %v and some", gang, took.Round(time.Millisecond), gangDeadline)
	}
}

// expect sets how many pods of a gang must run together.
func (k *checker) expect(gang string, need int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.need[gang] = need
}

// delete deletes a pod and notes that the test did so.
func (k *checker) delete(pod *corev1.Pod) {
	k.t.Helper()
	k.mu.Lock()
	k.mine[pod.UID] = true
	k.mu.Unlock()
	if err := k.c.Client.CoreV1().Pods(pod.Namespace).Delete(k.t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		k.t.Fatal(err)
	}
}

// list returns the pods for which hold returns true, sorted by name.
func (k *checker) list(hold func(*corev1.Pod) bool) (pods []*corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pod := range k.pods {
		if hold(pod) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
	return pods
}

// partial reports whether a gang is partly bound now.
func (k *checker) partial() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.half) > 0
}

// deleted returns the names of the pods that others than the test have deleted, sorted; a name occurs as often as it was deleted.
func (k *checker) deleted() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Values(k.gone))
}

// finish waits until the watch has caught up, and fails the test if an invariant was violated.
func (k *checker) finish() {
	k.t.Helper()
	k.c.Await("the end of the watch", func(ctx context.Context) error {
		list, err := k.c.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		for i := range list.Items {
			if p := k.pods[list.Items[i].UID]; p == nil || p.ResourceVersion != list.Items[i].ResourceVersion {
				return fmt.Errorf("pod %s is not seen as it is", list.Items[i].Name)
			}
		}
		return nil
	})
	k.stop()
	<-k.done
	k.mu.Lock()
	defer k.mu.Unlock()
	for gang, since := range k.half {
		k.over(gang, since)
	}
	for _, fault := range k.faults[:min(len(k.faults), 10)] {
		k.t.Error(fault)
	}
}
