package intake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// Kueue admits jobs by the quotas of its ClusterQueues. ClusterQueues of one cohort lend each other what they do not use. A
// snapshot has one quota for each tenant, so a cohort is a tenant, with the quotas of all its queues together, and so is a queue
// without a cohort. Jobs that Kueue has not admitted yet have no pods, or pods with scheduling gates: their Workloads tell what
// they ask for.

// kueue is the objects of Kueue in the input.
type kueue struct {
	queues    map[string]*clusterQueue
	cohorts   map[string]*clusterQueue // Cohorts with quotas of their own
	flavors   map[string]*flavor
	local     map[[2]string]string // namespace and name of a LocalQueue: the ClusterQueue
	stopped   map[[2]string]string // namespace and name of a LocalQueue: why it admits nothing
	workloads []*workload
	owners    map[string]*workload // by the uid of the owner
	named     map[workloadKey]*workload
}

// clusterQueue is a ClusterQueue.
type clusterQueue struct {
	meta
	cohort  string
	gpus    int64    // nominal, over all flavors; -1 if it does not cover GPUs
	flavors []string // with GPUs
	several int      // flavors with GPUs of its own
	limited bool     // it has a limit of what it borrows or lends
	checks  bool     // it has admission checks
	stop    string   // why it admits nothing
}

// tenant is the name of the tenant whose quota the queue has a part in.
func (q *clusterQueue) tenant() string {
	if q.cohort != "" {
		return "cohort/" + q.cohort
	}
	return "queue/" + q.Name
}

// mostQueues is the most ClusterQueues: a snapshot contains no more quotas.
const mostQueues = 1 << 16

// mostQuota bounds the GPUs of a queue: more than any cluster has.
const mostQuota = cluster.MaxServers * cluster.MaxGPUs

// drain is why a queue admits nothing that also evicts what it has admitted.
const drain = "stopPolicy HoldAndDrain"

// queueText is a ClusterQueue, or a Cohort, which may have quotas of its own and belong to another.
type queueText struct {
	meta `kube:"metadata"`
	Spec struct {
		Cohort string `kube:"cohort|cohortName|parent|parentName,last"`
		Stop   string `kube:"stopPolicy,stop"`
		Groups []struct {
			Flavors []flavorQuotas `kube:"flavors"`
		} `kube:"resourceGroups"`
		Checks   bool `kube:"admissionChecks,some"`
		Strategy struct {
			Checks bool `kube:"admissionChecks,some"`
		} `kube:"admissionChecksStrategy"`
	} `kube:"spec"`
	Status queueStatus `kube:"status"`
}

type queueStatus struct {
	Conditions []condition `kube:"conditions"`
}

// flavorQuotas are the quotas in one flavor.
type flavorQuotas struct {
	Name      string `kube:"name,name"`
	Resources []struct {
		Name    string `kube:"name,name"`
		Nominal int64  `kube:"nominalQuota,quota"`
		Limited bool   `kube:"borrowingLimit|lendingLimit,there"`
	} `kube:"resources"`
}

// inactive returns why a queue is not active, "" if it is.
func (s *queueStatus) inactive() (why string) {
	for _, c := range s.Conditions {
		if c.Kind == "Active" && c.Status == "False" {
			why = "not active: " + cmp.Or(c.Reason, "no reason given")
		}
	}
	return why
}

// readQueue reads a ClusterQueue or a Cohort into the map of those of its kind.
func (k *kubeCluster) readQueue(r *strictjson.Reader, kind string, into map[string]*clusterQueue) {
	var of queueText
	r.Struct(&of)
	spec := &of.Spec
	q := &clusterQueue{
		meta: of.meta, gpus: -1, cohort: spec.Cohort, checks: spec.Checks || spec.Strategy.Checks,
		stop: cmp.Or(spec.Stop, of.Status.inactive()),
	}
	for _, g := range spec.Groups {
		for i := range g.Flavors {
			k.addFlavor(&g.Flavors[i], q)
		}
	}
	if into[q.Name] != nil {
		r.Bad("metadata.name", q.Name, "each "+kind+" once")
	}
	if len(into) == mostQueues {
		r.Bad("metadata.name", q.Name, fmt.Sprintf("at most %d %ss", mostQueues, kind))
	}
	into[q.Name] = q
}

// addFlavor adds the quotas of GPUs in one flavor.
func (k *kubeCluster) addFlavor(f *flavorQuotas, q *clusterQueue) {
	gpus := false
	for _, of := range f.Resources {
		if of.Name == k.GPU {
			gpus, q.limited = true, q.limited || of.Limited
			q.gpus = min(max(q.gpus, 0)+of.Nominal, mostQuota)
			q.several += int(min(of.Nominal, 1))
		}
	}
	if gpus {
		q.flavors = append(q.flavors, f.Name)
	}
}

func (k *kubeCluster) readLocalQueue(r *strictjson.Reader) {
	var of struct {
		meta `kube:"metadata"`
		Spec struct {
			Queue string `kube:"clusterQueue,name"`
			Stop  string `kube:"stopPolicy,stop"`
		} `kube:"spec"`
		Status queueStatus `kube:"status"`
	}
	r.Struct(&of)
	key := [2]string{of.Namespace, of.Name}
	k.kueue.local[key], k.kueue.stopped[key] = of.Spec.Queue, cmp.Or(of.Spec.Stop, of.Status.inactive())
}

// queueOf returns the ClusterQueue of a pod or a Workload, nil if it has none in the input.
func (k *kubeCluster) queueOf(namespace, local, admitted string) *clusterQueue {
	return k.kueue.queues[cmp.Or(admitted, k.kueue.local[[2]string{namespace, local}])]
}

// stopOf returns why a Workload cannot be admitted by its queue, "" if it can.
func (k *kubeCluster) stopOf(w *workload) string {
	if q := k.queueOf(w.Namespace, w.Queue, ""); q != nil && q.stop != "" {
		return fmt.Sprintf("ClusterQueue %s: %s", q.Name, q.stop)
	}
	if stop := k.kueue.stopped[[2]string{w.Namespace, w.Queue}]; stop != "" {
		return fmt.Sprintf("LocalQueue %s: %s", w.Queue, stop)
	}
	return ""
}

// waiting returns the jobs of the Workloads that Kueue has not admitted.
func (k *kubeCluster) waiting(where *places) (jobs []job) {
	started := map[*workload]bool{}
	for _, p := range k.pods {
		if w := k.workloadOf(p); w != nil && p.Node == "" && !p.Gated && p.Phase != "Succeeded" {
			started[w] = true
		}
	}
	for _, w := range k.kueue.workloads {
		if w.ended || w.Admission.Queue != "" || started[w] {
			continue
		}
		asks, stop := slices.ContainsFunc(w.Sets, podSet.asks), k.stopOf(w)
		for i := range w.Sets {
			k.noteResources("Workloads", w.job(), &w.Sets[i].pod, asks)
		}
		switch {
		case !asks:
		case w.Active != nil && !*w.Active:
			k.told.add("Workloads that are not active, left out", w.title())
		case w.Requeue.At.After(k.Now):
			k.told.add("Workloads that have been evicted and return to their queue later, left out", w.job())
		case stop != "":
			k.told.add("Workloads of queues that admit nothing, left out", fmt.Sprintf("%s (%s)", w.job(), stop))
		default:
			jobs = append(jobs, k.workloadJob(w, where)...)
		}
	}
	return jobs
}

// workloadJob returns the job of a Workload that waits, none if it asks for no GPUs.
func (k *kubeCluster) workloadJob(w *workload, where *places) []job {
	var own []*pod
	workers, stated := int64(0), map[string]string{}
	for i := range w.Sets {
		s := &w.Sets[i]
		if !s.asks() {
			continue
		}
		own = append(own, &s.pod)
		workers += s.gpus * s.Count
		maps.Copy(stated, s.Notes)
	}
	if len(own) == 0 {
		return nil
	}
	maps.Copy(stated, w.Notes)
	g := &gang{Gang: &pods.Gang{Group: pods.Group{
		Key: pods.Key{API: "Workload", Namespace: w.Namespace, Name: cmp.Or(w.Owner.Name, w.Name)}, Least: 1, Annotations: stated,
	}}}
	title := pods.JobName(g.Title(), "")
	j, ok := k.draft(title, own, workers, k.termsOf(g, false), false)
	if !ok {
		return nil
	}
	j.api, j.submit = g.API, w.Created
	if q := k.queueOf(w.Namespace, w.Queue, ""); q != nil {
		j.Tenant = q.tenant()
		k.restrict(w, q, own[0])
	} else {
		j.Tenant = w.Namespace
		k.told.add("Workloads whose queue is not in the input: taken to have no quota", fmt.Sprintf("%s of queue %q", title, w.Queue))
	}
	for _, field := range own[0].constraints.others {
		k.told.add("pods whose required "+field+" a snapshot cannot represent", title)
	}
	k.noteWorkload(w, own[0])
	k.tolerate(w, own[0])
	j.Where = where.of(own[0], nil, &k.told)
	return []job{j}
}
