package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// fakeJobs plays what runs in the pods of a cluster: jobs that progress as fast as a model of physics says for what their pods hold,
// report their throughput, and end when their work is done. It also plays the kubelet's part of a resize: it gives running pods what
// they request.
type fakeJobs struct {
	c     *kubetest.Cluster
	model physics.Model
	every time.Duration // between two reports of a job
	nodes []*corev1.Node
	pods  corelisters.PodLister
	jobs  map[string]*fakeJob // by the name that the mirror gives them
	left  int
	done  chan struct{} // closed when all jobs have ended
	fault error         // the first one, see fail; read it after done
	mu    sync.Mutex    // of fault

	reports   []func() error
	reporting sync.WaitGroup // reports are written beside the steps, which they would delay
	busy      atomic.Bool
}

type fakeJob struct {
	gangJob
	progress time.Duration
	seen     time.Time // when the progress was computed last; zero if the job did not run
	reported time.Time
	started  time.Time
	ended    time.Time
}

// step is the time between two computations of progress.
const step = 50 * time.Millisecond

// playJobs plays jobs until all have ended or the test is over.
func playJobs(t *testing.T, c *kubetest.Cluster, nodes []*corev1.Node, every time.Duration, jobs []gangJob) *fakeJobs {
	t.Helper()
	model, err := physics.Parse(amountsPhysics)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeJobs{c: c, model: model, every: every, nodes: nodes, jobs: map[string]*fakeJob{}, left: len(jobs), done: make(chan struct{})}
	for i := range jobs {
		f.jobs["default/"+jobs[i].Name] = &fakeJob{gangJob: jobs[i]}
	}
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	f.pods = factory.Core().V1().Pods().Lister()
	informer := factory.Core().V1().Pods().Informer()
	factory.Start(t.Context().Done())
	c.Await("the pods of the fake jobs", func(context.Context) error {
		if !informer.HasSynced() {
			return fmt.Errorf("not read yet")
		}
		return nil
	})
	go func() {
		defer close(f.done)
		defer f.reporting.Wait()
		for f.left > 0 && f.failed() == nil {
			select {
			case <-t.Context().Done():
				return
			case <-time.After(step):
				f.step(t.Context())
			}
		}
	}()
	return f
}

func (f *fakeJobs) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// step plays what has happened since the last step.
func (f *fakeJobs) step(ctx context.Context) {
	pods, err := f.pods.List(labels.Everything())
	if err != nil {
		f.fail(err)
		return
	}
	now := time.Now()
	o := &mirror.Objects{Nodes: f.nodes, Pods: pods, Groups: &gang.Combined{}}
	v, err := mirror.Build(o, &mirror.Config{Schedulers: []string{"clustergym"}, GPU: kubetest.GPU, Epoch: time.Unix(0, 0)}, now)
	if err != nil {
		f.fail(err)
		return
	}
	var writes []func() error
	for i := range v.Jobs {
		j := f.jobs[v.Jobs[i].Spec.Name]
		if j == nil || !j.ended.IsZero() || !v.Jobs[i].Running {
			continue
		}
		writes = append(writes, f.run(ctx, v, cluster.JobID(i), j, now)...)
	}
	if len(f.reports) > 0 && f.busy.CompareAndSwap(false, true) {
		reports := f.reports
		f.reports = nil
		f.reporting.Go(func() {
			defer f.busy.Store(false)
			f.write(reports)
		})
	}
	f.write(writes)
}

// run plays a job that has been bound. It returns what is to be written.
func (f *fakeJobs) run(ctx context.Context, v *mirror.View, id cluster.JobID, j *fakeJob, now time.Time) (writes []func() error) {
	pods := v.Jobs[id].Bound
	runs := true
	if j.started.IsZero() {
		j.started = now
	}
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodRunning {
			runs = false
		} else if want := granted(pod); want != nil {
			writes = append(writes, func() error { return f.status(ctx, want) })
		}
	}
	v.Jobs[id].Spec.Model = j.Model // the State reads this specification
	if !j.seen.IsZero() {
		j.progress += cluster.Scale(now.Sub(j.seen), f.model.Speed(&v.State.View, id))
	}
	if j.seen = now; !runs {
		j.seen = time.Time{}
		return writes
	}
	if j.progress >= j.Work {
		j.ended = now
		f.left--
		for _, pod := range pods {
			over := pod.DeepCopy()
			over.Status.Phase = corev1.PodSucceeded
			for i := range over.Status.ContainerStatuses {
				over.Status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					Reason: "Completed", FinishedAt: metav1.NewTime(now),
				}}
			}
			writes = append(writes, func() error { return f.status(ctx, over) })
		}
		return writes
	}
	if now.Sub(j.reported) >= f.every {
		j.reported = now
		speed := physics.Throughput(f.model, &v.State.View, id)
		f.reports = append(f.reports, func() error { return f.report(ctx, pods[0], speed, now) })
	}
	return writes
}

// granted returns a running pod with the status of one whose containers have what they request, or nil if it has that status.
func granted(pod *corev1.Pod) *corev1.Pod {
	out := pod.DeepCopy()
	for i := range out.Status.ContainerStatuses {
		out.Status.ContainerStatuses[i].Resources = pod.Spec.Containers[i].Resources.DeepCopy()
	}
	if equality.Semantic.DeepEqual(out, pod) {
		return nil
	}
	return out
}

// status writes the status of a pod. If the pod has changed, a later step tries again, unless the pod ends.
func (f *fakeJobs) status(ctx context.Context, pod *corev1.Pod) error {
	metadata := map[string]any{"uid": pod.UID}
	if pod.Status.Phase == corev1.PodRunning {
		metadata["resourceVersion"] = pod.ResourceVersion
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "status": map[string]any{
		"phase": pod.Status.Phase, "containerStatuses": pod.Status.ContainerStatuses,
	}})
	if err != nil {
		return err
	}
	_, err = f.c.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsConflict(err) && pod.Status.Phase == corev1.PodRunning {
		return nil
	}
	return err
}

// report reports the throughput of a job as its helper does.
func (f *fakeJobs) report(ctx context.Context, pod *corev1.Pod, speed float64, at time.Time) error {
	value := fmt.Sprintf("%.6g@%s", speed, at.UTC().Format(time.RFC3339Nano))
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{measure.Annotation: value}}})
	if err != nil {
		return err
	}
	_, err = f.c.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// fail notes that what the fakes do has failed.
func (f *fakeJobs) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = cmp.Or(f.fault, err)
}

// write makes all writes, a few at a time, and waits for them.
func (f *fakeJobs) write(writes []func() error) {
	room := make(chan struct{}, 16)
	var all sync.WaitGroup
	for _, w := range writes {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			if err := w(); err != nil {
				f.fail(err)
			}
		})
	}
	all.Wait()
}
