package e2e

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

// jobLife contains when a Job reached each state, as a watch of it shows it.
type jobLife struct {
	made     time.Time // when it was created
	admitted time.Time // when it was first not suspended: at once, unless Kueue admits it
	complete time.Time // when the job controller had seen all of its pods succeed
}

// jobWatch sees every change of every Job of a namespace.
type jobWatch struct {
	done   chan struct{} // closed when all Jobs are complete or the watch ends
	cancel context.CancelFunc
	jobs   map[string]*jobLife
	order  []*jobLife
	left   int
}

// watchJobs starts a watch, before the Jobs are created.
func watchJobs(t *testing.T, c *kubetest.Cluster, namespace string, jobs []gangJob) *jobWatch {
	t.Helper()
	w := &jobWatch{done: make(chan struct{}), jobs: map[string]*jobLife{}, left: len(jobs)}
	for i := range jobs {
		life := &jobLife{}
		w.order, w.jobs[jobs[i].Name] = append(w.order, life), life
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	long := int64(3600)
	stream, err := c.Client.BatchV1().Jobs(namespace).Watch(ctx, metav1.ListOptions{TimeoutSeconds: &long})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.done)
		defer stream.Stop()
		for change := range stream.ResultChan() {
			if job, ok := change.Object.(*batchv1.Job); ok && w.see(job, time.Now()) == 0 {
				return
			}
		}
	}()
	return w
}

// see processes the present state of a Job, and returns how many Jobs are not complete.
func (w *jobWatch) see(job *batchv1.Job, now time.Time) (left int) {
	life := w.jobs[job.Name]
	if life == nil {
		return w.left
	}
	first := func(at *time.Time, reached bool) bool {
		if !reached || !at.IsZero() {
			return false
		}
		*at = now
		return true
	}
	first(&life.made, true)
	first(&life.admitted, job.Spec.Suspend == nil || !*job.Spec.Suspend)
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete && first(&life.complete, c.Status == corev1.ConditionTrue) {
			w.left--
		}
	}
	return w.left
}

// close ends the watch and returns the lives of the Jobs, by the index of their jobs.
func (w *jobWatch) close(t *testing.T) []*jobLife {
	t.Helper()
	w.cancel()
	<-w.done
	if w.left > 0 {
		t.Errorf("%d Jobs are not complete", w.left)
	}
	return w.order
}
