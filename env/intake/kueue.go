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
	return "queue/" + q.name
}

// mostQueues is the most ClusterQueues: a snapshot contains no more quotas.
const mostQueues = 1 << 16

// mostQuota bounds the GPUs of a queue: more than any cluster has.
const mostQuota = cluster.MaxServers * cluster.MaxGPUs

// drain is why a queue admits nothing that also evicts what it has admitted.
const drain = "stopPolicy HoldAndDrain"

func (k *kubeCluster) readClusterQueue(r *strictjson.Reader) {
	q := &clusterQueue{gpus: -1}
	object(r, []string{"metadata", "spec", "status"}, func(field string) {
		switch field {
		case "metadata":
			q.meta = readMeta(r, func(string) bool { return false })
		case "spec":
			k.readQuotas(r, q)
		default:
			q.stop = cmp.Or(q.stop, inactive(r))
		}
	})
	if k.kueue.queues[q.name] != nil {
		r.Bad("metadata.name", q.name, "each ClusterQueue once")
	}
	if len(k.kueue.queues) == mostQueues {
		r.Bad("metadata.name", q.name, fmt.Sprintf("at most %d ClusterQueues", mostQueues))
	}
	k.kueue.queues[q.name] = q
}

// readCohort reads a Cohort, which may have quotas of its own and belong to another.
func (k *kubeCluster) readCohort(r *strictjson.Reader) {
	q := &clusterQueue{gpus: -1}
	object(r, []string{"metadata", "spec"}, func(field string) {
		if field == "metadata" {
			q.meta = readMeta(r, func(string) bool { return false })
		} else {
			k.readQuotas(r, q)
		}
	})
	if k.kueue.cohorts[q.name] != nil {
		r.Bad("metadata.name", q.name, "each Cohort once")
	}
	if len(k.kueue.cohorts) == mostQueues {
		r.Bad("metadata.name", q.name, fmt.Sprintf("at most %d Cohorts", mostQueues))
	}
	k.kueue.cohorts[q.name] = q
}

var quotaFields = []string{
	"cohort", "cohortName", "parent", "parentName", "resourceGroups", "stopPolicy", "admissionChecks", "admissionChecksStrategy",
}

// readQuotas reads the specification of a ClusterQueue or a Cohort.
func (k *kubeCluster) readQuotas(r *strictjson.Reader, q *clusterQueue) {
	object(r, quotaFields, func(field string) {
		switch field {
		case "resourceGroups":
			list(r, func(int) {
				object(r, []string{"flavors"}, func(string) {
					list(r, func(int) { k.readFlavorQuotas(r, q) })
				})
			})
		case "stopPolicy":
			q.stop = cmp.Or(stopPolicy(r), q.stop)
		case "admissionChecks":
			list(r, func(int) { q.checks = true; r.Skip() })
		case "admissionChecksStrategy":
			object(r, []string{"admissionChecks"}, func(string) { list(r, func(int) { q.checks = true; r.Skip() }) })
		default:
			q.cohort = cmp.Or(name(r), q.cohort)
		}
	})
}

// stopPolicy reads why a queue is stopped, "" if it is not.
func stopPolicy(r *strictjson.Reader) string {
	if policy := name(r); policy != "" && policy != "None" {
		return "stopPolicy " + policy
	}
	return ""
}

// inactive reads from a queue's status why it is not active, "" if it is.
func inactive(r *strictjson.Reader) (why string) {
	object(r, []string{"conditions"}, func(string) {
		list(r, func(int) {
			if kind, status, reason := condition(r); kind == "Active" && status == "False" {
				why = "not active: " + cmp.Or(reason, "no reason given")
			}
		})
	})
	return why
}

// readFlavorQuotas adds the quotas in one flavor.
func (k *kubeCluster) readFlavorQuotas(r *strictjson.Reader, q *clusterQueue) {
	flavor, gpus := "", false
	object(r, []string{"name", "resources"}, func(field string) {
		if field == "name" {
			flavor = name(r)
		} else {
			list(r, func(int) { gpus = k.readResource(r, q) || gpus })
		}
	})
	if gpus {
		q.flavors = append(q.flavors, flavor)
	}
}

// readResource adds the quota of GPUs in one flavor. It reports whether it is one of GPUs.
func (k *kubeCluster) readResource(r *strictjson.Reader, q *clusterQueue) bool {
	var what string
	var nominal int64
	limited := false
	object(r, []string{"name", "nominalQuota", "borrowingLimit", "lendingLimit"}, func(field string) {
		switch {
		case field == "name":
			what = name(r)
		case r.Null():
		case field == "nominalQuota":
			nominal, _ = quantity(r, 1, mostQuota)
		default:
			limited = true
			r.Skip()
		}
	})
	if what == k.GPU {
		q.gpus, q.limited = min(max(q.gpus, 0)+nominal, mostQuota), q.limited || limited
		q.several += int(min(nominal, 1))
	}
	return what == k.GPU
}

func (k *kubeCluster) readLocalQueue(r *strictjson.Reader) {
	var m meta
	of, stop := "", ""
	object(r, []string{"metadata", "spec", "status"}, func(field string) {
		switch field {
		case "metadata":
			m = readMeta(r, func(string) bool { return false })
		case "spec":
			object(r, []string{"clusterQueue", "stopPolicy"}, func(field string) {
				if field == "clusterQueue" {
					of = name(r)
				} else {
					stop = cmp.Or(stopPolicy(r), stop)
				}
			})
		default:
			stop = cmp.Or(stop, inactive(r))
		}
	})
	key := [2]string{m.namespace, m.name}
	k.kueue.local[key], k.kueue.stopped[key] = of, stop
}

// queueOf returns the ClusterQueue of a pod or a Workload, nil if it has none in the input.
func (k *kubeCluster) queueOf(namespace, local, admitted string) *clusterQueue {
	return k.kueue.queues[cmp.Or(admitted, k.kueue.local[[2]string{namespace, local}])]
}

// stopOf returns why a Workload cannot be admitted by its queue, "" if it can.
func (k *kubeCluster) stopOf(w *workload) string {
	if q := k.queueOf(w.namespace, w.queue, ""); q != nil && q.stop != "" {
		return fmt.Sprintf("ClusterQueue %s: %s", q.name, q.stop)
	}
	if stop := k.kueue.stopped[[2]string{w.namespace, w.queue}]; stop != "" {
		return fmt.Sprintf("LocalQueue %s: %s", w.queue, stop)
	}
	return ""
}

// waiting returns the jobs of the Workloads that Kueue has not admitted.
func (k *kubeCluster) waiting(where *places) (jobs []job) {
	started := map[*workload]bool{}
	for _, p := range k.pods {
		if w := k.workloadOf(p); w != nil && p.node == "" && !p.gated && p.phase != "Succeeded" {
			started[w] = true
		}
	}
	for _, w := range k.kueue.workloads {
		if w.ended || w.admitted != "" || started[w] {
			continue
		}
		asks, stop := slices.ContainsFunc(w.sets, podSet.asks), k.stopOf(w)
		for i := range w.sets {
			k.noteResources("Workloads", w.job(), &w.sets[i].pod, asks)
		}
		switch {
		case !asks:
		case w.inactive:
			k.told.add("Workloads that are not active, left out", w.title())
		case w.again.After(k.Now):
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
	for i := range w.sets {
		s := &w.sets[i]
		if !s.asks() {
			continue
		}
		own = append(own, &s.pod)
		workers += s.gpus * s.count
		maps.Copy(stated, s.notes)
	}
	if len(own) == 0 {
		return nil
	}
	maps.Copy(stated, w.notes)
	g := &gang{Gang: &pods.Gang{Group: pods.Group{
		Key: pods.Key{API: "Workload", Namespace: w.namespace, Name: cmp.Or(w.owner.name, w.name)}, Least: 1, Annotations: stated,
	}}}
	title := pods.JobName(g.Title(), "")
	j, ok := k.draft(title, own, workers, k.termsOf(g, false), false)
	if !ok {
		return nil
	}
	j.api, j.submit = g.API, w.created
	if q := k.queueOf(w.namespace, w.queue, ""); q != nil {
		j.Tenant = q.tenant()
		k.restrict(w, q, own[0])
	} else {
		j.Tenant = w.namespace
		k.told.add("Workloads whose queue is not in the input: taken to have no quota", fmt.Sprintf("%s of queue %q", title, w.queue))
	}
	for _, field := range own[0].constraints.others {
		k.told.add("pods whose required "+field+" a snapshot cannot represent", title)
	}
	k.noteWorkload(w, own[0])
	k.tolerate(w, own[0])
	j.Where = where.of(own[0], nil, &k.told)
	return []job{j}
}
