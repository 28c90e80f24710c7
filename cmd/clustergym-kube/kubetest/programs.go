package kubetest

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// RunFor is the annotation with the time for which KWOK runs a pod, a Go duration such as "2s", counted from the pod's last
// change. Then the pod succeeds. A pod without it runs until it is deleted.
const RunFor = "clustergym.dev/run-for"

//go:embed stages/run-for.yaml
var runForStage []byte

//go:embed crd/podgroup.yaml
var podGroupCRD string

// KWOK starts the kubelets of all nodes, including nodes added later, and adds the given number of nodes with AddNodes. A bound
// pod is soon Running, and a deleted pod is soon gone. The annotation RunFor sets when a pod succeeds.
func (c *Cluster) KWOK(nodes int) *Process {
	c.tb.Helper()
	runFor := filepath.Join(c.Dir, "run-for.yaml")
	if err := os.WriteFile(runFor, runForStage, 0o600); err != nil {
		c.tb.Fatalf("kubetest: %v", err)
	}
	args := []string{
		"--kubeconfig=" + c.Kubeconfig, "--manage-all-nodes=true", "--node-lease-duration-seconds=40", "--v=WARN",
		"--config=" + runFor,
	}
	// This leaves out KWOK's own stage pod-complete, which ends the pods of Jobs at once.
	for _, stage := range []string{"node-initialize", "node-heartbeat-with-lease", "pod-ready", "pod-delete"} {
		args = append(args, "--config="+filepath.Join(c.assets, "stages", stage+".yaml"))
	}
	p := c.Run("kwok", filepath.Join(c.assets, "kwok"), args...)
	c.kwok = true
	c.AddNodes(nodes, nil)
	return p
}

// ControllerManager starts kube-controller-manager with the named controllers alone. Without names it starts those that these
// tests use: job, deployment, replicaset, statefulset, garbage-collector and disruption.
func (c *Cluster) ControllerManager(controllers ...string) *Process {
	c.tb.Helper()
	if len(controllers) == 0 {
		controllers = []string{"job", "deployment", "replicaset", "statefulset", "garbage-collector", "disruption"}
	}
	names := make([]string, len(controllers))
	for i, name := range controllers {
		names[i] = strings.TrimSuffix(name, "-controller") + "-controller"
	}
	args := []string{
		"--kubeconfig=" + c.Kubeconfig, "--controllers=" + strings.Join(names, ","), "--leader-elect=false", "--secure-port=0",
		"--kube-api-qps=1000", "--kube-api-burst=1000",
	}
	if c.options.NativeGroups {
		args = append(args, "--feature-gates="+nativeGates+",WorkloadWithJob=true")
	}
	return c.Run("kube-controller-manager", filepath.Join(c.assets, "kube-controller-manager"), args...)
}

// Scheduler starts the stock kube-scheduler. It schedules the pods whose schedulerName is default-scheduler, unless the
// configuration changes that. Each argument is a line of YAML at the top level of a KubeSchedulerConfiguration, for example
// "profiles: [{schedulerName: other}]".
func (c *Cluster) Scheduler(config ...string) *Process {
	c.tb.Helper()
	lines := append([]string{
		"apiVersion: kubescheduler.config.k8s.io/v1",
		"kind: KubeSchedulerConfiguration",
		"leaderElection: {leaderElect: false}",
		fmt.Sprintf("clientConnection: {kubeconfig: %q, qps: 1000, burst: 1000}", c.Kubeconfig),
	}, config...)
	path := filepath.Join(c.Dir, "kube-scheduler.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		c.tb.Fatalf("kubetest: %v", err)
	}
	args := []string{"--config=" + path, "--secure-port=0"}
	if c.options.NativeGroups {
		args = append(args, "--feature-gates="+nativeGates)
	}
	return c.Run("kube-scheduler", filepath.Join(c.assets, "kube-scheduler"), args...)
}

// Kubectl runs kubectl and returns its output. It runs as the administrator, or as another user if --kubeconfig is among the
// arguments. The error contains kubectl's error output.
func (c *Cluster) Kubectl(args ...string) (string, error) { return c.kubectl("", args...) }

// Apply applies YAML manifests with kubectl.
func (c *Cluster) Apply(manifests string) {
	c.tb.Helper()
	if _, err := c.kubectl(manifests, "apply", "--server-side", "-f", "-"); err != nil {
		c.tb.Fatalf("kubetest: %v", err)
	}
}

func (c *Cluster) kubectl(input string, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(c.tb.Context(), filepath.Join(c.assets, "kubectl"), args...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "HOME="+c.Dir) // it keeps a cache in HOME
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &complaint
	cmd.SysProcAttr = diesWithParent()
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("run kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out.String(), nil
}

// ApplyCRD adds the API of the coscheduling plugin's PodGroups, scheduling.x-k8s.io/v1alpha1, to the cluster.
func (c *Cluster) ApplyCRD() {
	c.tb.Helper()
	c.Apply(podGroupCRD)
	_, err := c.Kubectl("wait", "--for=condition=Established", "crd/podgroups.scheduling.x-k8s.io", "--timeout=30s")
	if err != nil {
		c.tb.Fatalf("kubetest: %v", err)
	}
}
