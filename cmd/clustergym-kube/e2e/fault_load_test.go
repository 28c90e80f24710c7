package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/must"
)

var faults = flag.String("faults", "short", "how often programs are killed: short or long")

// times returns how often a test repeats its fault: short or long, as the flag -faults says.
func times(t testing.TB, short, long int) int {
	t.Helper()
	switch *faults {
	case "short":
		return short
	case "long":
		return long
	}
	t.Fatalf("-faults %q, want short or long", *faults)
	return 0
}

// load creates gangs continuously, and creates deleted pods again, as an owner of pods would.
type load struct {
	k     *checker
	open  int           // most gangs that have not ended
	every time.Duration // time between two new gangs
	run   string        // how long their pods run
	draw  *rand.Rand

	mu    sync.Mutex
	gangs []*madeGang
	stop  context.CancelFunc
	done  chan struct{}
}

// madeGang is a gang as load wants it to be.
type madeGang struct {
	name       string
	native     bool
	pods, gpus int
	run        string
	grouped    bool // the group's object exists
	over       bool // all pods have succeeded
}

// start starts to create gangs of 2 to 8 pods with 1 to 4 GPUs each, every third of them with the native API.
func (l *load) start() {
	ctx, cancel := context.WithCancel(l.k.t.Context())
	l.stop, l.done = cancel, make(chan struct{})
	go func() {
		defer close(l.done)
		last := time.Time{}
		for ctx.Err() == nil {
			if l.unfinished() < l.open && time.Since(last) >= l.every {
				l.add(fmt.Sprintf("g%03d", len(l.gangs)), 2+l.draw.IntN(7), 1+l.draw.IntN(4))
				last = time.Now()
			}
			l.tend(ctx)
			pauseFor(ctx, 50*time.Millisecond)
		}
	}()
	l.k.t.Cleanup(func() { cancel(); <-l.done })
}

func (l *load) add(name string, pods, gpus int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := &madeGang{name: name, native: len(l.gangs)%3 == 0, pods: pods, gpus: gpus, run: l.run}
	l.k.expect("default/"+name, g.pods)
	l.gangs = append(l.gangs, g)
}

// unfinished returns the number of gangs that have not ended.
func (l *load) unfinished() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.gangs {
		if !g.over {
			n++
		}
	}
	return n
}

// tend creates the missing pods. After an error it tries again the next time.
func (l *load) tend(ctx context.Context) {
	l.mu.Lock()
	open := slices.DeleteFunc(slices.Clone(l.gangs), func(g *madeGang) bool { return g.over })
	l.mu.Unlock()
	for _, g := range open {
		there, succeeded := map[string]bool{}, 0
		pods := l.k.list(func(pod *corev1.Pod) bool { return gangOf(pod) == "default/"+g.name })
		for _, pod := range pods {
			there[pod.Name] = true
			if pod.Status.Phase == corev1.PodSucceeded {
				succeeded++
			}
		}
		if succeeded == g.pods {
			l.mu.Lock()
			g.over = true
			l.mu.Unlock()
			continue
		}
		if g.native && !g.grouped {
			_, err := l.k.c.Client.SchedulingV1alpha2().PodGroups("default").Create(ctx, &schedulingv1alpha2.PodGroup{
				ObjectMeta: metav1.ObjectMeta{Name: g.name},
				Spec: schedulingv1alpha2.PodGroupSpec{SchedulingPolicy: schedulingv1alpha2.PodGroupSchedulingPolicy{
					Gang: &schedulingv1alpha2.GangSchedulingPolicy{MinCount: int32(g.pods)},
				}},
			}, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return
			}
			g.grouped = true
		}
		for i := range g.pods {
			pod := g.pod(i)
			if there[pod.Name] {
				continue
			}
			if _, err := l.k.c.Client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil &&
				!apierrors.IsAlreadyExists(err) {
				return
			}
		}
	}
}

func (g *madeGang) pod(i int) *corev1.Pod {
	pod := kubetest.Pod("default", fmt.Sprintf("%s-%d", g.name, i), g.gpus)
	pod.Labels = map[string]string{"kubetest/gang": g.name}
	pod.Annotations = map[string]string{"clustergym.dev/estimate": "1m"}
	if g.run != "" {
		pod.Annotations[kubetest.RunFor] = g.run
	}
	if g.native {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &g.name}
	} else {
		pod.Labels["scheduling.x-k8s.io/pod-group"] = g.name
		pod.Annotations["clustergym.dev/min-member"] = fmt.Sprint(g.pods)
	}
	return pod
}

// drain stops creating gangs and waits until all have ended. It returns the numbers of gangs and of their pods.
func (l *load) drain() (gangs, pods int) {
	l.k.t.Helper()
	l.mu.Lock()
	l.open = 0
	l.mu.Unlock()
	l.k.c.Await("all gangs to end", func(context.Context) error {
		if n := l.unfinished(); n > 0 {
			var names []string
			for _, g := range l.gangs {
				if !g.over {
					names = append(names, g.name)
				}
			}
			return fmt.Errorf("%d have not: %s", n, strings.Join(names, " "))
		}
		return nil
	})
	l.stop()
	<-l.done
	for _, g := range l.gangs {
		pods += g.pods
	}
	return len(l.gangs), pods
}

// withNodes starts a cluster with nodes for a fault test.
func withNodes(t testing.TB, nodes int) *kubetest.Cluster {
	t.Helper()
	c := kubetest.Start(t, kubetest.Options{NativeGroups: true})
	c.KWOK(nodes)
	return c
}

// live returns the program's flags for fault tests.
func live(flags ...string) []string {
	return append([]string{"--mode=live", "--policy=fjf", "--gang-deadline=" + gangDeadline.String(), "--verbose"}, flags...)
}

// repositoryPath returns the path of a file or folder in the module of clustergym-kube.
func repositoryPath(t testing.TB, parts ...string) string {
	t.Helper()
	path := must.Get(filepath.Abs(filepath.Join(append([]string{".."}, parts...)...)))(t)
	return path
}
