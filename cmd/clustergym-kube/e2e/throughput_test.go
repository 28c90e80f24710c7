package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/must"
)

// BenchmarkThroughput binds 100 gangs of 8 pods with one GPU each on 100 nodes, with clustergym-kube and with the kube-scheduler
// of the same Kubernetes version with gang scheduling turned on. The two take turns on one API server. Each is stopped (SIGSTOP)
// until all pods exist, and then timed until the last pod is bound. The benchmark reports the gangs bound per second, as the
// median of five turns.
func BenchmarkThroughput(b *testing.B) {
	const nodes, gangs, pods, turns = 100, 100, 8, 5
	c := kubetest.Start(b, kubetest.Options{NativeGroups: true})
	c.KWOK(nodes)
	ours := run(b, c, "clustergym-kube", "--mode=live", "--policy=sjfskip", "--estimate=1h", "--parallel=32")
	rivals := []struct {
		name      string
		scheduler string
		process   *kubetest.Process
		rates     []float64
	}{
		{name: "clustergym", scheduler: "clustergym", process: ours.Process},
		{name: "kube-scheduler", scheduler: corev1.DefaultSchedulerName, process: c.Scheduler("parallelism: 32")},
	}
	for b.Loop() {
		for turn := range turns {
			for i := range rivals {
				r := &rivals[(i+turn)%len(rivals)]
				took := bindAll(b, c, r.process, r.scheduler, fmt.Sprintf("%s-%d", r.name, turn), gangs, pods)
				r.rates = append(r.rates, gangs/took.Seconds())
			}
		}
	}
	for _, r := range rivals {
		slices.Sort(r.rates)
		b.ReportMetric(r.rates[len(r.rates)/2], r.name+"-gangs/s")
	}
	b.ReportMetric(0, "ns/op")
}

// bindAll creates gangs, whose names begin with the prefix, while their scheduler is stopped. Then it continues the scheduler and
// returns how long the scheduler takes to bind all gangs.
func bindAll(b *testing.B, c *kubetest.Cluster, p *kubetest.Process, scheduler, prefix string, gangs, pods int) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	hold(b, p, syscall.SIGSTOP)
	var all sync.WaitGroup
	room := make(chan struct{}, 8)
	for i := range gangs {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			c.GangPods(kubetest.Gang{API: kubetest.Native, Name: fmt.Sprintf("%s-%03d", prefix, i), Pods: pods, GPUs: 1, Scheduler: scheduler})
		})
	}
	all.Wait()
	var mu sync.Mutex
	seen, done := map[string]bool{}, make(chan time.Time, 1)
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	pool := factory.Core().V1().Pods().Informer()
	_, err := pool.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, is any) {
		mu.Lock()
		defer mu.Unlock()
		if pod := is.(*corev1.Pod); bound(pod) && !seen[pod.Name] {
			if seen[pod.Name] = true; len(seen) == gangs*pods {
				done <- time.Now()
			}
		}
	}})
	must.Do(b, err)
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), pool.HasSynced)
	began := time.Now()
	hold(b, p, syscall.SIGCONT)
	var took time.Duration
	select {
	case at := <-done:
		took = at.Sub(began)
	case <-ctx.Done():
		b.Fatalf("%s: %d of %d pods bound", scheduler, len(seen), gangs*pods)
	}
	now := int64(0)
	if err := c.Client.CoreV1().Pods("default").DeleteCollection(
		ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{},
	); err != nil {
		b.Fatal(err)
	}
	c.AwaitPods("default", "", 0, "are left", func(*corev1.Pod) bool { return true })
	return took
}

func hold(b *testing.B, p *kubetest.Process, signal syscall.Signal) {
	b.Helper()
	must.Do(b, p.Signal(signal))
}
