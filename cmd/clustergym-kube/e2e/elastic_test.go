package e2e

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

// template returns the template of the pods of a gang that an owner creates.
func template(gang string, need, gpus int, annotations map[string]string) corev1.PodTemplateSpec {
	pod := kubetest.Pod("default", "", gpus)
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	labels := map[string]string{"kubetest/gang": gang, "scheduling.x-k8s.io/pod-group": gang}
	all := map[string]string{"clustergym.dev/min-member": fmt.Sprint(need)}
	maps.Copy(all, annotations)
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: all}, Spec: pod.Spec}
}

// deployment creates a Deployment whose pods are a gang.
func deployment(t testing.TB, k *checker, gang string, pods, need, gpus int, annotations map[string]string) {
	t.Helper()
	n := int32(pods)
	k.expect("default/"+gang, need)
	_, err := k.c.Client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: gang},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubetest/gang": gang}},
			Template: template(gang, need, gpus, annotations),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// running waits until exactly the given number of pods of a gang run.
func running(c *kubetest.Cluster, gang string, pods int) {
	c.AwaitPods("default", kubetest.Gang{Name: gang}.Selector(), pods, "run", func(pod *corev1.Pod) bool {
		return kubetest.Running(pod) && pod.DeletionTimestamp == nil
	})
}

var fromTo = regexp.MustCompile(`"from":(\d+),"to":(\d+)`)

// shed returns by how many pods gangs have shrunk and grown in total, according to a program's log.
func shed(t testing.TB, c *kubetest.Cluster, prefix string) (less, more int) {
	t.Helper()
	for _, line := range logged(t, c, prefix, "scaled") {
		m := fromTo.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("no numbers in %s", line)
		}
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(m[2])
		less, more = less+max(from-to, 0), more+max(to-from, 0)
	}
	return less, more
}

// TestElastic checks that an elastic gang grows into free GPUs and shrinks when another gang arrives, through the scale of its
// owner.
func TestElastic(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{}) // the scale of a Job with a native group cannot change
	c.KWOK(2)
	c.ControllerManager()
	k := check(t, c)
	s := run(t, c, "scheduler", "--mode=live", "--policy=lyra", "--estimate=1h", "--gang-deadline="+gangDeadline.String(), "--verbose",
		"--period=2s")
	bounds := map[string]string{"clustergym.dev/min-workers": "2", "clustergym.dev/max-workers": "12"}
	deployment(t, k, "deployed", 4, 2, 1, bounds)
	running(c, "deployed", 12)
	// Room for four pods is left: the gang of eight needs four pods of the elastic gang to end.
	c.GangPods(kubetest.Gang{API: kubetest.Labelled, Name: "rigid", Pods: 8, GPUs: 1, Annotations: map[string]string{kubetest.RunFor: "1h"}})
	k.expect("default/rigid", 8)
	running(c, "rigid", 8)
	running(c, "deployed", 8)
	less, more := shed(t, c, "scheduler")
	if gone := len(k.deleted()); gone != less || less != 4 {
		t.Errorf("%d pods are gone, and the program says that it made do with %d less, want 4", gone, less)
	}
	for _, pod := range k.list(func(pod *corev1.Pod) bool { return pod.Labels["kubetest/gang"] == "rigid" }) {
		k.delete(pod)
	}
	running(c, "deployed", 12)
	// An Indexed Job is resized by its parallelism and its completions.
	zero := int64(0)
	if err := c.Client.AppsV1().Deployments("default").Delete(t.Context(), "deployed", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	for uid := range k.pods {
		k.mine[uid] = true
	}
	k.mu.Unlock()
	running(c, "deployed", 0)
	n, indexed := int32(4), batchv1.IndexedCompletion
	k.expect("default/indexed", 4)
	pods := template("indexed", 4, 1, map[string]string{"clustergym.dev/min-workers": "4", "clustergym.dev/max-workers": "10"})
	pods.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := c.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "indexed"},
		Spec:       batchv1.JobSpec{Parallelism: &n, Completions: &n, CompletionMode: &indexed, Template: pods},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	running(c, "indexed", 10)
	k.finish()
	x := tally{name: "elastic gangs"}
	x.row("of a Deployment", "4 -> 12 -> 8 (a gang of 8 came) -> 12 (it left)")
	x.row("of an Indexed Job", "4 -> 10")
	x.row("pods that the program asked for", more)
	x.row("pods that it made do without", less)
	x.row(`scaled_total{result="ok"}`, s.metric(t, `clustergym_kube_scaled_total{result="ok"}`))
	x.row(`scaled_total{result="error"}`, s.metric(t, `clustergym_kube_scaled_total{result="error"}`))
	x.row("evicted or deleted by the program", len(sayDeleted(t, k, "scheduler")))
	x.rows = append(x.rows, k.rows(3, 24)...)
	x.log(t)
}

// TestElasticPreemption checks that a policy that preempts stops at most the allowed number of gangs in an hour, even if the
// program dies in between, and no gang that a disruption budget keeps from stopping.
func TestElasticPreemption(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 5)
	c.ControllerManager()
	k := check(t, c)
	foreign(t, c, "gpu-004", 8)
	p := newTap(t, c, "scheduler", c.Config)
	flags := func(stops int) []string {
		return []string{"--kubeconfig=" + p.kubeconfig, "--mode=live", "--policy=srtf", fmt.Sprint("--preemptions-per-hour=", stops),
			"--gang-deadline=" + gangDeadline.String(), "--verbose", "--period=1s"}
	}
	long := map[string]string{"clustergym.dev/estimate": "10h"}
	short := map[string]string{"clustergym.dev/estimate": "10m"}
	s := run(t, c, "scheduler-0", flags(2)...)
	for i := range 4 {
		deployment(t, k, fmt.Sprint("long", i), 4, 4, 2, long)
	}
	for i := range 4 {
		running(c, fmt.Sprint("long", i), 4)
	}
	// A gang that loses a pod after running for a while gets a new pod and keeps its other pods.
	time.Sleep(gangDeadline)
	k.delete(k.list(func(pod *corev1.Pod) bool { return pod.Labels["kubetest/gang"] == "long0" })[0])
	running(c, "long0", 4)
	if gone := k.deleted(); len(gone) > 0 {
		t.Errorf("pods %v were deleted when their gang lost one", gone)
	}
	deployment(t, k, "short0", 4, 4, 2, short)
	running(c, "short0", 4)
	s.Kill()
	s = run(t, c, "scheduler-1", flags(2)...)
	for i := range 3 {
		deployment(t, k, fmt.Sprint("short", i+1), 4, 4, 2, short)
	}
	c.AwaitPods("default", "", 16, "wait", func(pod *corev1.Pod) bool { return !bound(pod) && pod.DeletionTimestamp == nil })
	c.Await("a proposal to be held", func(context.Context) error {
		if n := s.number(t, `clustergym_kube_held_total{reason="stops"}`); n == 0 {
			return fmt.Errorf("%d were", n)
		}
		return nil
	})
	c.Await("a second gang to be stopped", func(context.Context) error {
		if n := p.count("evict"); n < 2*4 {
			return fmt.Errorf("%d pods were evicted", n)
		}
		return nil
	})
	c.AwaitPods("default", "", 17, "run", kubetest.Running) // 16 of gangs and 1 of the other scheduler
	evicted, stopsHeld := p.count("evict"), s.metric(t, `clustergym_kube_held_total{reason="stops"}`)
	if evicted != 2*4 {
		t.Errorf("%d pods were evicted, want those of 2 gangs", evicted)
	}
	ledger, err := c.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "clustergym-ledger", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// From here on a disruption budget keeps all long gangs from stopping.
	c.Apply(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: keep, namespace: default},
spec: {maxUnavailable: 0, selector: {matchExpressions: [{key: kubetest/gang, operator: In, values: [long0, long1, long2, long3]}]}}}`)
	c.Await("the budget to be counted", func(ctx context.Context) error {
		b, err := c.Client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "keep", metav1.GetOptions{})
		if err == nil && b.Status.ObservedGeneration == 0 {
			err = fmt.Errorf("it is not")
		}
		return err
	})
	s.Kill()
	s = run(t, c, "scheduler-2", flags(10)...)
	c.Await("the budget to refuse", func(context.Context) error {
		if n := s.number(t, `clustergym_kube_stopped_total{why="budget"}`); n == 0 {
			return fmt.Errorf("%d gangs were", n)
		}
		return nil
	})
	held := s.number(t, `clustergym_kube_held_total{reason="protected"}`)
	c.Await("the policy to be held back from gangs that a budget keeps", func(context.Context) error {
		if n := s.number(t, `clustergym_kube_held_total{reason="protected"}`); n <= held {
			return fmt.Errorf("%d proposals were", n)
		}
		return nil
	})
	if n := p.count("evict"); n != evicted {
		t.Errorf("%d pods were evicted against a disruption budget", n-evicted)
	}
	k.finish()
	said, gone := sayDeleted(t, k, "scheduler"), k.deleted()
	if strings.Join(said, " ") != strings.Join(gone, " ") {
		t.Errorf("the scheduler says that it deleted %v, and gone are %v", said, gone)
	}
	x := tally{name: "preemption, at most 2 gangs an hour"}
	x.row("stops before SIGKILL", len(logged(t, c, "scheduler-0", "stopped")))
	x.row("stops after SIGKILL", len(logged(t, c, "scheduler-1", "stopped")))
	x.row("proposals held for the limit", stopsHeld)
	x.row("ledger", ledger.Data["stops"])
	x.row("evictions that succeeded", evicted)
	x.row("evictions that a budget refused (429)", p.refused("evict", 429))
	x.row(`stopped_total{why="budget"}`, s.metric(t, `clustergym_kube_stopped_total{why="budget"}`))
	x.rows = append(x.rows, k.rows(8, 32)...)
	x.log(t)
}
