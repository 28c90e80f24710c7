package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

// rival is another scheduler that binds pods of the same gangs: to its own nodes, which are cordoned so that no one else binds to
// them, and to other nodes.
type rival struct {
	k    *checker
	own  []string // cordoned nodes
	draw *rand.Rand

	mu     sync.Mutex
	placed map[string]*corev1.Pod // its last binding to each of its own nodes
	won    int
	lost   int
}

// bind binds a pod to one of the nodes, if the node seems to have room, and reports whether the binding succeeded.
func (r *rival) bind(ctx context.Context, pod *corev1.Pod) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	node := r.own[r.draw.IntN(len(r.own))]
	if r.draw.IntN(3) == 0 {
		node = fmt.Sprintf("gpu-%03d", r.draw.IntN(6))
		r.k.excuse(node)
	} else if last := r.placed[node]; last != nil && len(r.k.list(func(p *corev1.Pod) bool { return p.UID == last.UID && bound(p) })) == 0 {
		return false // the watch does not show the last binding to this node yet
	}
	r.k.mu.Lock()
	free := r.k.room[node] - r.k.held(node)
	r.k.mu.Unlock()
	if free < gpusOf(pod) {
		return false
	}
	err := r.k.c.Client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if err != nil {
		r.lost++
		return false
	}
	r.k.excuse(node)
	r.won++
	r.placed[node] = pod
	return true
}

// TestFaultConflict runs a rival that binds pods of the same gangs at the same time, some of them just before the scheduler does.
func TestFaultConflict(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 6)
	own := c.AddNodes(3, func(_ int, node *corev1.Node) { node.Spec.Unschedulable = true })
	k := check(t, c)
	for _, node := range own {
		k.room[node.Name] = 8
	}
	foreign(t, c, "gpu-000", 2)
	p := newTap(t, c, "scheduler", c.Config)
	r := &rival{k: k, draw: rand.New(rand.NewPCG(5, 1)), placed: map[string]*corev1.Pod{}}
	for _, node := range own {
		r.own = append(r.own, node.Name)
	}
	stolen, draw := 0, rand.New(rand.NewPCG(5, 2))
	var mu sync.Mutex
	p.hook(func(kind, path string) { // the rival takes every fourth pod just before its binding
		mu.Lock()
		defer mu.Unlock()
		if kind != "bind" || draw.IntN(4) > 0 {
			return
		}
		name := strings.Split(path, "/")[6]
		for _, pod := range k.list(func(pod *corev1.Pod) bool { return pod.Name == name && !bound(pod) }) {
			if r.bind(t.Context(), pod) {
				stolen++
			}
		}
	}, nil)
	s := run(t, c, "scheduler", live("--kubeconfig="+p.kubeconfig)...)
	l := &load{k: k, open: 10, every: 50 * time.Millisecond, run: "1s", draw: rand.New(rand.NewPCG(5, 0))}
	l.start()
	ctx, cancel := context.WithCancel(t.Context())
	var random sync.WaitGroup
	random.Go(func() {
		draw := rand.New(rand.NewPCG(5, 3))
		for ctx.Err() == nil {
			if waiting := k.list(func(pod *corev1.Pod) bool { return !bound(pod) }); len(waiting) > 0 && draw.IntN(3) == 0 {
				r.bind(ctx, waiting[draw.IntN(len(waiting))])
			}
			pauseFor(ctx, 30*time.Millisecond)
		}
	})
	pauseFor(ctx, time.Duration(times(t, 10, 60))*time.Second)
	cancel()
	random.Wait()
	p.hook(nil, nil)
	gangs, pods := l.drain()
	took := torn(t, k, r.own[0])
	k.finish()
	said, gone := sayDeleted(t, k, "scheduler"), k.deleted()
	if strings.Join(said, " ") != strings.Join(gone, " ") {
		t.Errorf("the scheduler says that it deleted %v, and gone are %v", said, gone)
	}
	conflicts := p.refused("bind", 409)
	if conflicts == 0 || stolen == 0 {
		t.Errorf("%d conflicts, %d pods taken away: want some", conflicts, stolen)
	}
	x := tally{name: "another scheduler binds too"}
	x.row("pods that it was the first to bind", r.won)
	x.row("  of these just before they were bound", stolen)
	x.row("bindings of its own refused", r.lost)
	x.row("bindings that the server refused (409)", conflicts)
	x.row(`bind_errors_total{reason="elsewhere"}`, s.metric(t, `clustergym_kube_bind_errors_total{reason="elsewhere"}`))
	x.rows = append(x.rows, k.rows(gangs, pods)...)
	x.row("gangs given up", len(logged(t, c, "scheduler", "gang given up")))
	x.row("  the last of them after", took.Round(time.Millisecond))
	x.log(t)
}

// torn makes another scheduler bind one of two pods of a gang when there is no room for the other. It waits until the bound pod
// is deleted, and returns how long that took.
func torn(t testing.TB, k *checker, node string) time.Duration {
	t.Helper()
	wall := kubetest.Gang{API: kubetest.Labelled, Name: "wall", Pods: 5, GPUs: 8} // takes all nodes but one
	k.expect("default/wall", wall.Pods)
	k.c.GangPods(wall)
	k.c.AwaitPods("default", wall.Selector(), wall.Pods, "run", kubetest.Running)
	gang := kubetest.Gang{API: kubetest.Native, Name: "torn", Pods: 2, GPUs: 8}
	k.expect("default/torn", gang.Pods)
	pod := k.c.GangPods(gang)[0]
	err := k.c.Client.CoreV1().Pods("default").Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	k.c.Await("the bound pod to be gone", func(ctx context.Context) error {
		_, err := k.c.Client.CoreV1().Pods("default").Get(ctx, pod.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return cmp.Or(err, fmt.Errorf("it is not"))
	})
	return time.Since(began)
}
