package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/must"
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
	must.Do(t, err)
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
	run(t, c, "scheduler", "--mode=live", "--policy=lyra", "--estimate=1h", "--gang-deadline="+gangDeadline.String(), "--verbose",
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
	must.Do(t, c.Client.AppsV1().Deployments("default").Delete(t.Context(), "deployed", metav1.DeleteOptions{GracePeriodSeconds: &zero}))
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
	must.Do(t, err)
	running(c, "indexed", 10)
	k.finish()
	if n := sayDeleted(t, k, "scheduler"); len(n) > 0 {
		t.Errorf("the program ended %v, want only owners to end pods", n)
	}
	t.Logf("%d pods more, %d less", more, less)
}
