package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// contender decides when and where the jobs of a window run, on nodes of its own. It is clustergym-kube, or Kueue with
// kube-scheduler if it has a queueing strategy.
type contender struct {
	name     string // of its namespace and nodes
	strategy string // of its ClusterQueues
	policy   string // of clustergym-kube and of the simulator
	teams    bool   // each team has a ClusterQueue and a quota; otherwise there is one of each for all
	cohort   bool   // the ClusterQueues are in one cohort, so that they lend each other what they do not use
}

// shareOfTeam is the part of the GPUs that is the quota of each team.
var shareOfTeam = map[string]float64{"large": 0.8, "small": 0.2}

// teamOf returns the team of a job: jobs on more than one node belong to one team, and the others to another.
func teamOf(j *gangJob) string {
	if j.Workers > nodeGPUs {
		return "large"
	}
	return "small"
}

// quotas returns the quota of each queue of Kueue, in GPUs.
func (who *contender) quotas(nodes int) map[string]int32 {
	all := int32(nodes * nodeGPUs)
	switch {
	case who.strategy == "":
		return nil
	case !who.teams:
		return map[string]int32{"all": all}
	}
	quotas := map[string]int32{}
	for team, share := range shareOfTeam {
		quotas[team] = int32(share * float64(all))
	}
	return quotas
}

const poolLabel = "clustergym.dev/contender"

// packing makes kube-scheduler fill nodes before it uses others, as clusters with GPUs need it. By default it spreads pods over all
// nodes, and then no node has enough free GPUs for a large pod.
const packing = `profiles: [{schedulerName: default-scheduler, pluginConfig: [{name: NodeResourcesFit,
  args: {scoringStrategy: {type: MostAllocated, resources: [{name: ` + string(kubetest.GPU) + `, weight: 1}]}}}]}]`

// sideBySide runs the same jobs at the same time with several contenders, each on as many nodes as the window says. It returns
// what happened to the jobs of each contender.
func sideBySide(t *testing.T, w replayWindow, jobs []gangJob, contenders []contender) []*replayed {
	t.Helper()
	c := kubetest.Start(t, kubetest.Options{})
	c.KWOK(0)
	for _, who := range contenders {
		c.AddNodes(w.nodes, func(_ int, node *corev1.Node) { node.Labels[poolLabel] = who.name })
		who.prepare(t, c)
	}
	c.ControllerManager("job")
	if queues := queuesOf(w.nodes, contenders); queues != "" {
		c.Scheduler(packing)
		c.Kueue()
		c.Apply(queues)
		if _, err := c.Kubectl("wait", "--for=condition=Active", "clusterqueues", "--all", "--timeout=60s"); err != nil {
			t.Fatal(err)
		}
	}
	all := make([]*replayed, len(contenders))
	watches := make([]*gangWatch, len(contenders))
	admissions := make([]*jobWatch, len(contenders))
	for k, who := range contenders {
		all[k] = &replayed{window: w, jobs: jobs, predicted: who.predict(t, &w, jobs)}
		watches[k], admissions[k] = watchGangs(t, c, who.name, jobs, meet(t, c, who.name, jobs)), watchJobs(t, c, who.name, jobs)
	}
	t.Logf("it will take %v", all[0].predicted.makespan().Round(time.Second))
	began := time.Now()
	for i := range jobs {
		time.Sleep(time.Until(began.Add(jobs[i].Submit)))
		for _, who := range contenders {
			if _, err := c.Client.BatchV1().Jobs(who.name).Create(t.Context(), who.job(&jobs[i]), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for k, who := range contenders {
		limit, cancel := context.WithDeadline(t.Context(), began.Add(2*all[k].predicted.makespan()+2*time.Minute))
		for _, done := range []<-chan struct{}{watches[k].done, admissions[k].done} {
			select {
			case <-done:
			case <-limit.Done():
				t.Errorf("%s: it takes far longer than it should", who.name)
			}
		}
		cancel()
		all[k].began, all[k].lives, all[k].admitted = began, watches[k].close(t), admissions[k].close(t)
		for i, job := range all[k].admitted {
			all[k].lives[i].made = job.made // the time until the job controller has made pods is waiting, too
		}
	}
	return all
}

// prepare creates the contender's namespace, and starts clustergym-kube if it schedules.
func (who *contender) prepare(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: who.name}}
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if who.strategy == "" {
		run(t, c, who.name, "--mode=live", "--policy="+who.policy, "--schedulers="+who.name)
	}
}

// meet returns a function that lets the pods of a gang begin their work. The processes of a training job wait for each other: if
// the work began pod by pod, the first pods of a gang that was bound in part would end while others still wait.
func meet(t *testing.T, c *kubetest.Cluster, namespace string, jobs []gangJob) func(gang string, pods []string) {
	patches := map[string][]byte{}
	for i := range jobs {
		patches[jobs[i].Name] = fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, kubetest.RunFor, jobs[i].Work)
	}
	ctx := t.Context()
	return func(gang string, pods []string) {
		for _, pod := range pods {
			go func() {
				_, err := c.Client.CoreV1().Pods(namespace).Patch(ctx, pod, types.MergePatchType, patches[gang], metav1.PatchOptions{})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}()
		}
	}
}

// job returns a job of the window as a Job. Its pods run until they meet and then for as long as the job; then they succeed.
func (who *contender) job(j *gangJob) *batchv1.Job {
	made := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: j.Name},
		Spec: batchv1.JobSpec{
			Parallelism: &j.pods, Completions: &j.pods,
			Template: template(j.Name, int(j.pods), int(j.gpus), map[string]string{mirror.EstimateAnnotation: j.Estimate.String()}),
		},
	}
	pod := &made.Spec.Template.Spec
	pod.RestartPolicy, pod.SchedulerName = corev1.RestartPolicyNever, who.name
	if who.strategy == "" {
		pod.NodeSelector = map[string]string{poolLabel: who.name}
		return made
	}
	suspend := true
	queue := "all"
	if who.teams {
		queue = teamOf(j)
	}
	made.Labels = map[string]string{"kueue.x-k8s.io/queue-name": queue}
	made.Spec.Suspend, pod.SchedulerName = &suspend, corev1.DefaultSchedulerName
	return made
}

// queuesOf returns the queues of Kueue of all contenders. Kueue adds the labels of a flavor to the node selectors of the pods that it
// admits. CPU and memory have quotas because Kueue admits no job that requests what has none.
func queuesOf(nodes int, contenders []contender) string {
	var b strings.Builder
	for _, who := range contenders {
		quotas, cohort := who.quotas(nodes), ""
		if who.cohort {
			cohort = "cohortName: " + who.name
		}
		if quotas != nil {
			fmt.Fprintf(&b, flavor, who.name, poolLabel)
		}
		for _, queue := range slices.Sorted(maps.Keys(quotas)) {
			fmt.Fprintf(&b, clusterQueue, who.name, queue, who.strategy, cohort, kubetest.GPU, nodes*96, nodes*768, quotas[queue])
		}
	}
	return b.String()
}

const (
	flavor = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: %[1]s}
spec: {nodeLabels: {%[2]s: %[1]s}}
---`
	clusterQueue = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %[1]s-%[2]s}
spec:
  namespaceSelector: {}
  queueingStrategy: %[3]s
  %[4]s
  resourceGroups:
    - coveredResources: [cpu, memory, %[5]s]
      flavors:
        - name: %[1]s
          resources:
            - {name: cpu, nominalQuota: %[6]d}
            - {name: memory, nominalQuota: %[7]dGi}
            - {name: %[5]s, nominalQuota: %[8]d}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: %[2]s, namespace: %[1]s}
spec: {clusterQueue: %[1]s-%[2]s}
---`
)

// started returns when each job was started: admitted by Kueue, or its first pod bound by clustergym-kube.
func (who *contender) started(r *replayed) []time.Duration {
	all := make([]time.Duration, len(r.jobs))
	for i := range all {
		if all[i] = r.lives[i].first.Sub(r.began); who.strategy != "" {
			all[i] = r.admitted[i].admitted.Sub(r.began)
		}
	}
	return all
}

// predict simulates the jobs on the contender's nodes.
func (who *contender) predict(t *testing.T, w *replayWindow, jobs []gangJob) *prediction {
	t.Helper()
	return who.simulate(t, cluster.Uniform(w.nodes, nodeGPUs), w.nodes, jobs, simulated(jobs))
}

// again simulates the jobs as they were in the cluster. Kueue counts quota for the cluster as a whole, as if it were one node, and
// each job holds its quota from when it was admitted until its Job was complete.
func (who *contender) again(t *testing.T, r *replayed) *prediction {
	t.Helper()
	nodes := r.window.nodes
	if who.strategy == "" {
		return who.simulate(t, cluster.Uniform(nodes, nodeGPUs), nodes, r.jobs, r.asMeasured())
	}
	all := simulated(r.jobs)
	for i, job := range r.admitted {
		all[i].Submit, all[i].Work = max(job.made.Sub(r.began), 0), max(job.complete.Sub(job.admitted), time.Millisecond)
	}
	return who.simulate(t, cluster.Uniform(1, nodes*nodeGPUs), nodes, r.jobs, all)
}

// simulate simulates jobs with the contender's policy, and with its quotas. Teams in one cohort have one quota.
func (who *contender) simulate(t *testing.T, on cluster.Spec, nodes int, gangs []gangJob, jobs []trace.Job) *prediction {
	t.Helper()
	if who.teams && !who.cohort {
		quotas := who.quotas(nodes)
		for _, team := range slices.Sorted(maps.Keys(quotas)) {
			on.Quotas = append(on.Quotas, cluster.Quota{Tenant: team, GPUs: quotas[team]})
		}
		for i := range jobs {
			jobs[i].Tenant = teamOf(&gangs[i])
		}
	}
	return predictOn(t, who.policy, on, jobs)
}
