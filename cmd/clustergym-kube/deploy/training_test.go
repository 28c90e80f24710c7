package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func init() {
	kinds["Job"] = func() metav1.Object { return &batchv1.Job{} }
	kinds["PersistentVolumeClaim"] = func() metav1.Object { return &corev1.PersistentVolumeClaim{} }
}

// trainingJobs reads the objects of a training strictly and returns its jobs by name.
func trainingJobs(t *testing.T) map[string]*batchv1.Job {
	t.Helper()
	jobs := map[string]*batchv1.Job{}
	for _, name := range []string{"namespace.yaml", "learner.yaml", "workers.yaml"} {
		text, err := os.ReadFile(filepath.Join("training", name))
		if err != nil {
			t.Fatal(err)
		}
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

// TestClustergymTakesItsArguments checks that the flags of the jobs are flags of the commands.
func TestClustergymTakesItsArguments(t *testing.T) {
	program := filepath.Join(t.TempDir(), "clustergym")
	build := exec.Command("go", "build", "-o", program, "./cmd/clustergym")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build clustergym: %v\n%s", err, out)
	}
	for name, job := range trainingJobs(t) {
		args := job.Spec.Template.Spec.Containers[0].Args
		help, err := exec.Command(program, args[0], "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, arg := range args[1:] {
			if flag, _, _ := strings.Cut(arg, "="); !strings.Contains(string(help), " "+flag+" ") {
				t.Errorf("%s: %s is no flag that --help tells of", name, flag)
			}
		}
	}
}
