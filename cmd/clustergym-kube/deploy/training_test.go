package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigyaml "sigs.k8s.io/yaml"

	"github.com/clustergym/clustergym/internal/must"
)

func init() {
	kinds["Job"] = func() metav1.Object { return &batchv1.Job{} }
	kinds["PersistentVolumeClaim"] = func() metav1.Object { return &corev1.PersistentVolumeClaim{} }
}

// trainingJobs reads the objects of a training strictly and returns its jobs by name.
func trainingJobs(t *testing.T) map[string]*batchv1.Job {
	t.Helper()
	jobs := map[string]*batchv1.Job{}
	for _, name := range []string{"learner.yaml", "workers.yaml"} {
		text := must.Get(os.ReadFile(filepath.Join("training", "chart", "files", name)))(t)
		for _, o := range decode(t, text) {
			if job, ok := o.(*batchv1.Job); ok {
				jobs[job.Name] = job
			}
		}
	}
	return jobs
}

// TestTrainingJobs checks what a training on Kubernetes relies on: workers that are replaced one by one, one learner at a time,
// and pods without rights.
func TestTrainingJobs(t *testing.T) {
	jobs := trainingJobs(t)
	learner, workers := jobs["clustergym-learner"], jobs["clustergym-workers"]
	if learner == nil || workers == nil {
		t.Fatalf("got jobs %v", jobs)
	}
	w := workers.Spec
	if *w.CompletionMode != batchv1.IndexedCompletion || *w.Completions != *w.Parallelism || *w.BackoffLimitPerIndex < 100 ||
		w.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("workers: %+v", w)
	}
	if w.SuccessPolicy == nil || len(w.SuccessPolicy.Rules) != 1 || *w.SuccessPolicy.Rules[0].SucceededCount != 1 {
		t.Errorf("workers that start after the end: %+v", w.SuccessPolicy)
	}
	if rules := w.PodFailurePolicy.Rules; len(rules) != 1 || rules[0].Action != batchv1.PodFailurePolicyActionFailJob ||
		!slices.Equal(rules[0].OnExitCodes.Values, []int32{11}) {
		t.Errorf("workers that the learner refuses: %+v", w.PodFailurePolicy)
	}
	if *learner.Spec.PodReplacementPolicy != batchv1.Failed || *learner.Spec.BackoffLimit < 100 {
		t.Errorf("learner: %+v", learner.Spec)
	}
	for name, job := range jobs {
		pod := job.Spec.Template.Spec
		c := pod.Containers[0]
		if *pod.AutomountServiceAccountToken || !*pod.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem ||
			*c.SecurityContext.AllowPrivilegeEscalation || !slices.Equal(c.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s: the pod has rights: %+v", name, pod.SecurityContext)
		}
	}
}

// TestTrainingKustomization checks that kubectl renders the same objects.
func TestTrainingKustomization(t *testing.T) {
	objects := kustomize(t, "training")
	for _, key := range []string{
		"Namespace /clustergym-training", "Service clustergym-training/clustergym-learner", "Job clustergym-training/clustergym-learner",
		"Job clustergym-training/clustergym-workers", "PersistentVolumeClaim clustergym-training/training-run",
		"ConfigMap clustergym-training/training-recipe",
	} {
		if objects[key] == nil {
			t.Errorf("no %s", key)
		}
	}
}

// trainingChart renders the chart of the training with values and an image.
func trainingChart(t *testing.T, values string) (map[string]metav1.Object, error) {
	t.Helper()
	return render(t, filepath.Join("training", "chart"), "clustergym-training", "image: {repository: clustergym}", values)
}

// TestTrainingChartAgrees checks that the chart renders the objects of the kustomization, besides labels.
func TestTrainingChartAgrees(t *testing.T) {
	helm := must.Get(trainingChart(t, ""))(t)
	kust := kustomize(t, "training")
	delete(kust, "Namespace /clustergym-training")
	if got, want := slices.Sorted(maps.Keys(helm)), slices.Sorted(maps.Keys(kust)); !slices.Equal(got, want) {
		t.Fatalf("chart has\n%q\nkustomize\n%q", got, want)
	}
	for key, o := range helm {
		without(o.GetLabels())
		delete(o.GetLabels(), "app.kubernetes.io/instance")
		if volume, ok := o.(*corev1.PersistentVolumeClaim); ok {
			if volume.Annotations["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%s does not outlast the release", key)
			}
			volume.Annotations = nil
		}
		if job, ok := o.(*batchv1.Job); ok {
			job.Spec.Template.Spec.Containers[0].ImagePullPolicy = ""
		}
		if recipe, ok := o.(*corev1.ConfigMap); ok {
			recipe.Data["recipe.yaml"] = strings.TrimSpace(recipe.Data["recipe.yaml"]) + "\n"
		}
		if !reflect.DeepEqual(o, kust[key]) {
			h, _ := sigyaml.Marshal(o)
			k, _ := sigyaml.Marshal(kust[key])
			t.Errorf("%s of the chart:\n%s\nof kustomize:\n%s", key, h, k)
		}
	}
}

// TestTrainingChartPassesValuesOn checks that every value arrives where it belongs, and that wrong ones are refused.
func TestTrainingChartPassesValuesOn(t *testing.T) {
	objects, err := trainingChart(t, `
image: {tag: "7", pullPolicy: Always}
imagePullSecrets: [{name: pull}]
workers: 3
recipe: {scenario: mine, train: {updates: 7}}
secrets: {token: a, tls: b}
storage: {size: 5Gi, className: fast}
learner: {resources: {requests: {cpu: "7"}}, nodeSelector: {disk: large}}
worker: {tolerations: [{key: spot, operator: Exists}]}
`)
	must.Do(t, err)
	text := must.Get(sigyaml.Marshal(objects))(t)
	for _, want := range []string{
		"image: clustergym:7", "imagePullPolicy: Always", "name: pull", "completions: 3", "parallelism: 3", "scenario: mine", "updates: 7",
		"secretName: a", "secretName: b", "storage: 5Gi", "storageClassName: fast", `cpu: "7"`, "disk: large", "key: spot",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q", want)
		}
	}
	for values, want := range map[string]string{
		"workers: 0": "workers", "image: {repository: ''}": "no image is published", "more: 1": "more", "recipe: {jobs: 1}": "jobs",
	} {
		if _, err := trainingChart(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", values, err, want)
		}
	}
}
