package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/must"
)

// trainingSpace is the namespace of the training's manifests.
const trainingSpace = "clustergym-training"

// smallRecipe trains for long enough that pods can come and go meanwhile, also on an idle machine.
const smallRecipe = `scenario: embedded-small-v1
train:
  updates: 60
  expert: 60
  every: 20
  window: 6
  prior: srsf+menu+move
  validation: 1
  windows: 8
  choices: 60
  batch: 60
  label: 1
  size: {width: 8, heads: 2, hidden: 4, rank: 2, kappa: 2, inducing: 2}
`

// overlay changes the training as its comments say: two workers, an image and a recipe.
const overlay = `namespace: clustergym-training
resources: [%s]
images: [{name: clustergym, newName: registry.example/clustergym, newTag: test}]
configMapGenerator:
  - {name: training-recipe, behavior: replace, files: [recipe.yaml]}
generatorOptions: {disableNameSuffixHash: true}
patches:
  - target: {kind: Job, name: clustergym-workers}
    patch: |
      - {op: replace, path: /spec/completions, value: 2}
      - {op: replace, path: /spec/parallelism, value: 2}
`

// TestTraining runs a training by its manifests on a real control plane. The API server must accept the objects and, under the
// namespace's restricted policy, the pods that the job controller creates. The test stands in for the kubelets: it runs the pods'
// programs as processes. It deletes pods of workers and of the learner, kills a worker, and changes the number of workers; the
// run ends with the same bytes as one without workers.
func TestTraining(t *testing.T) {
	program := must.Get(clustergym())(t)
	c := kubetest.Start(t, kubetest.Options{})
	c.ControllerManager("job", "garbage-collector")
	k := newKubelets(t, c, program)
	k.apply(smallRecipe)

	var both []*runningPod
	k.until("a worker labels and the learner has labels", func() bool {
		both = k.running("worker")
		labels, _ := filepath.Glob(filepath.Join(k.volume("run"), "run", "labels", "*", "*.safetensors"))
		return len(labels) > 3 && len(both) == 2
	})
	first := both[0].name
	k.kubectl("delete", "pod", first, "--wait=false")
	both[1].Kill()
	k.kubectl("patch", "job", "clustergym-workers", "--type=merge", "-p", `{"spec": {"completions": 3, "parallelism": 3}}`)
	k.until("three workers run, and not the deleted one", func() bool {
		names := map[string]bool{}
		for _, p := range k.running("worker") {
			names[p.name] = true
		}
		return len(names) == 3 && !names[first]
	})
	k.kubectl("patch", "job", "clustergym-workers", "--type=merge", "-p", `{"spec": {"completions": 1, "parallelism": 1}}`)
	k.until("one worker runs", func() bool { return len(k.running("worker")) == 1 })
	learner := k.running("learner")[0].name
	k.kubectl("delete", "pod", learner, "--wait=false")
	k.until("another learner runs", func() bool {
		all := k.running("learner")
		return len(all) == 1 && all[0].name != learner
	})
	k.until("both jobs complete", func() bool { return k.complete("clustergym-learner") && k.complete("clustergym-workers") })

	alone := filepath.Join(t.TempDir(), "alone")
	recipe := filepath.Join(k.volume("recipe"), "recipe.yaml")
	if out, err := exec.Command(program, "train", "--config", recipe, "--dir", alone).CombinedOutput(); err != nil {
		t.Fatalf("train: %v\n%s", err, out)
	}
	got, want := trained(t, filepath.Join(k.volume("run"), "run")), trained(t, alone)
	if len(want) < 80 || !maps.Equal(got, want) {
		t.Errorf("the run on Kubernetes has %d files, and the one without workers %d others", len(got), len(want))
	}
}

// trained returns the files of a run that are equal for equal runs: the labels and the metrics.
func trained(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths := must.Get(filepath.Glob(filepath.Join(dir, "labels", "*", "*.safetensors")))(t)
	for _, path := range append(paths, filepath.Join(dir, "metrics.jsonl"), filepath.Join(dir, "run.yaml")) {
		text := must.Get(os.ReadFile(path))(t)
		all[strings.TrimPrefix(path, dir)] = string(text)
	}
	return all
}

// kubelets stand in for the kubelets of all nodes: each pod's container is a process on this machine. Volumes are folders.
type kubelets struct {
	t       *testing.T
	c       *kubetest.Cluster
	program string
	address string // of the learner instead of its Service
	pods    map[string]*runningPod
}

// runningPod is a pod whose process has been started.
type runningPod struct {
	*kubetest.Process
	name, component string
}

// over reports whether the process of a pod has ended.
func (p *runningPod) over() bool {
	select {
	case <-p.Ended():
		return true
	default:
		return false
	}
}

func newKubelets(t *testing.T, c *kubetest.Cluster, program string) *kubelets {
	return &kubelets{t: t, c: c, program: program, address: fmt.Sprintf("127.0.0.1:%d", c.FreePort()), pods: map[string]*runningPod{}}
}

// apply creates the secrets as the comments of the training say, and applies it with a recipe.
func (k *kubelets) apply(recipe string) {
	k.t.Helper()
	dir := filepath.Join(k.c.Dir, "overlay")
	training, err := filepath.Abs("../deploy/training")
	if err == nil {
		training, err = filepath.Rel(dir, training)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		k.t.Fatal(err)
	}
	for name, text := range map[string]string{"kustomization.yaml": fmt.Sprintf(overlay, training), "recipe.yaml": recipe} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	if _, err := k.c.Kubectl("create", "namespace", trainingSpace); err != nil {
		k.t.Fatal(err)
	}
	k.kubectl("create", "secret", "generic", "training-token", "--from-literal=token=0123456789abcdef01234567")
	k.kubectl("create", "secret", "generic", "training-tls", "--from-file=tls.crt=apiserver.crt", "--from-file=tls.key=apiserver.key",
		"--from-file=ca.crt=apiserver.crt") // a certificate for 127.0.0.1
	k.kubectl("apply", "--server-side", "--dry-run=server", "-k", "overlay")
	k.kubectl("apply", "--server-side", "-k", "overlay")
}

func (k *kubelets) kubectl(args ...string) {
	k.t.Helper()
	if _, err := k.c.Kubectl(append(args, "-n", trainingSpace)...); err != nil {
		k.t.Fatal(err)
	}
}

// volume returns the folder that stands for a volume.
func (k *kubelets) volume(name string) string { return filepath.Join(k.c.Dir, "volumes", name) }

// running returns the pods of a component whose processes run.
func (k *kubelets) running(component string) (all []*runningPod) {
	for _, p := range k.pods {
		if !p.over() && p.component == component {
			all = append(all, p)
		}
	}
	return all
}

func (k *kubelets) complete(job string) bool {
	k.t.Helper()
	j, err := k.c.Client.BatchV1().Jobs(trainingSpace).Get(k.t.Context(), job, metav1.GetOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, condition := range j.Status.Conditions {
		if condition.Type == batchv1.JobFailed && condition.Status == corev1.ConditionTrue {
			k.t.Fatalf("job %s failed: %s", job, condition.Message)
		}
		if condition.Type == batchv1.JobComplete && condition.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// until does what kubelets do until a state is reached.
func (k *kubelets) until(what string, reached func() bool) {
	k.t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		k.sync()
		if reached() {
			return
		}
		if time.Now().After(deadline) {
			out, _ := k.c.Kubectl("get", "jobs,pods,events", "-n", trainingSpace)
			k.t.Fatalf("not within 4 minutes: %s\n%s", what, out)
		}
	}
}

// sync starts the processes of new pods, says which have ended, and ends those of deleted pods.
func (k *kubelets) sync() {
	k.t.Helper()
	pods, err := k.c.Client.CoreV1().Pods(trainingSpace).List(k.t.Context(), metav1.ListOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	there := map[string]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		id := string(pod.UID)
		there[id] = true
		p := k.pods[id]
		switch {
		case pod.DeletionTimestamp != nil:
			if p != nil {
				_ = p.Signal(syscall.SIGTERM) // it may have ended
				<-p.Ended()
			}
			if pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded { // once: the job controller waits from then
				k.report(pod, p)
			}
			now := int64(0)
			_ = k.c.Client.CoreV1().Pods(trainingSpace).Delete(k.t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		case p == nil && pod.Status.Phase == corev1.PodPending:
			k.start(pod)
		case p != nil && pod.Status.Phase == corev1.PodRunning && p.over():
			k.report(pod, p)
		}
	}
	for id, p := range k.pods {
		if !there[id] {
			p.Kill()
		}
	}
}

// start binds a pod and starts its process.
func (k *kubelets) start(pod *corev1.Pod) {
	k.t.Helper()
	spec := &pod.Spec.Containers[0]
	mounts := map[string]string{}
	for _, m := range spec.VolumeMounts {
		mounts[m.MountPath] = k.mount(pod, m.Name)
	}
	var args []string
	for _, arg := range spec.Args {
		arg = strings.NewReplacer("clustergym-learner:4222", k.address, "0.0.0.0:4222", k.address).Replace(arg)
		for path, dir := range mounts {
			if flag, rest, ok := strings.Cut(arg, "="+path+"/"); ok {
				arg = flag + "=" + filepath.Join(dir, rest)
				break
			}
		}
		args = append(args, arg)
	}
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: "node"},
	}
	if err := k.c.Client.CoreV1().Pods(trainingSpace).Bind(k.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		k.t.Logf("bind %s: %v", pod.Name, err) // it has just been deleted
		return
	}
	p := &runningPod{k.c.Run(pod.Name, k.program, args...), pod.Name, pod.Labels["app.kubernetes.io/component"]}
	k.pods[string(pod.UID)] = p
	k.report(pod, p)
}

// mount makes the folder of a volume with what its Secret or ConfigMap contains.
func (k *kubelets) mount(pod *corev1.Pod, name string) string {
	k.t.Helper()
	dir, files := k.volume(name), map[string][]byte{}
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.Name != name:
		case v.Secret != nil:
			s, err := k.c.Client.CoreV1().Secrets(trainingSpace).Get(k.t.Context(), v.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				k.t.Fatal(err)
			}
			files = s.Data
		case v.ConfigMap != nil:
			m, err := k.c.Client.CoreV1().ConfigMaps(trainingSpace).Get(k.t.Context(), v.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				k.t.Fatal(err)
			}
			for name, text := range m.Data {
				files[name] = []byte(text)
			}
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		k.t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			k.t.Fatal(err)
		}
	}
	return dir
}

// report sets the status of a pod to what its process does, nil for one that was never started.
func (k *kubelets) report(pod *corev1.Pod, p *runningPod) {
	k.t.Helper()
	status := corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name, Image: "image", ImageID: "image", ContainerID: "test://" + pod.Name}
	if p != nil && !p.over() {
		pod.Status.Phase = corev1.PodRunning
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.Now()}
	} else {
		code := int32(137) // as after a kill
		if p != nil && p.ExitCode() >= 0 {
			code = int32(p.ExitCode())
		}
		pod.Status.Phase = corev1.PodFailed
		if code == 0 {
			pod.Status.Phase = corev1.PodSucceeded
		}
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Now()}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	defer cancel()
	pod.ResourceVersion = "" // the controller may have changed the pod meanwhile, but nobody else reports its status
	if _, err := k.c.Client.CoreV1().Pods(trainingSpace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		k.t.Logf("report on %s: %v", pod.Name, err) // it is gone, or reported by the next sync
	}
}
