package intake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	local     map[[2]string]string // namespace and name of a LocalQueue: the ClusterQueue
	workloads []*workload
	owners    map[string]*workload // by the uid of the owner
}

// clusterQueue is a ClusterQueue.
type clusterQueue struct {
	meta
	cohort  string
	gpus    int64 // nominal, over all flavors; -1 if it does not cover GPUs
	limited bool  // it has a limit of what it borrows or lends
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

func (k *kubeCluster) readClusterQueue(r *strictjson.Reader) {
	q := &clusterQueue{gpus: -1}
	object(r, []string{"metadata", "spec"}, func(field string) {
		if field == "metadata" {
			q.meta = readMeta(r, func(string) bool { return false })
			return
		}
		object(r, []string{"cohort", "cohortName", "resourceGroups"}, func(field string) {
			if field != "resourceGroups" {
				q.cohort = cmp.Or(name(r), q.cohort)
				return
			}
			list(r, func(int) {
				object(r, []string{"flavors"}, func(string) {
					list(r, func(int) {
						object(r, []string{"resources"}, func(string) { list(r, func(int) { k.readResource(r, q) }) })
					})
				})
			})
		})
	})
	if k.kueue.queues[q.name] != nil {
		r.Bad("metadata.name", q.name, "each ClusterQueue once")
	}
	if len(k.kueue.queues) == mostQueues {
		r.Bad("metadata.name", q.name, fmt.Sprintf("at most %d ClusterQueues", mostQueues))
	}
	k.kueue.queues[q.name] = q
}

// readResource adds the quota of GPUs in one flavor.
func (k *kubeCluster) readResource(r *strictjson.Reader, q *clusterQueue) {
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
	}
}

func (k *kubeCluster) readLocalQueue(r *strictjson.Reader) {
	var m meta
	of := ""
	object(r, []string{"metadata", "spec"}, func(field string) {
		if field == "metadata" {
			m = readMeta(r, func(string) bool { return false })
			return
		}
		object(r, []string{"clusterQueue"}, func(string) { of = name(r) })
	})
	k.kueue.local[[2]string{m.namespace, m.name}] = of
}

// workload is a Workload: a job that Kueue admits as a whole.
type workload struct {
	meta
	queue, admitted string // the LocalQueue; the ClusterQueue that has admitted it, "" if it waits
	inactive, ended bool
	sets            []podSet
}

// podSet is a number of equal pods.
type podSet struct {
	pod
	count int64
}

func (k *kubeCluster) readWorkload(r *strictjson.Reader) {
	w := &workload{}
	object(r, []string{"metadata", "spec", "status"}, func(field string) {
		switch field {
		case "metadata":
			w.meta = readMeta(r, func(string) bool { return false })
		case "spec":
			object(r, []string{"queueName", "active", "podSets"}, func(field string) {
				switch {
				case r.Null():
				case field == "queueName":
					w.queue = name(r)
				case field == "active":
					w.inactive = !r.Flag()
				default:
					list(r, func(int) { w.sets = append(w.sets, k.readPodSet(r)) })
				}
			})
		case "status":
			object(r, []string{"admission", "conditions"}, func(field string) {
				if field == "admission" {
					object(r, []string{"clusterQueue"}, func(string) { w.admitted = name(r) })
					return
				}
				list(r, func(int) {
					kind, status := "", ""
					object(r, []string{"type", "status"}, func(field string) {
						if field == "type" {
							kind = name(r)
						} else {
							status = name(r)
						}
					})
					w.ended = w.ended || kind == "Finished" && status == "True"
				})
			})
		}
	})
	k.kueue.workloads = append(k.kueue.workloads, w)
	if w.owner.uid != "" {
		k.kueue.owners[w.owner.uid] = w
	}
}

func (k *kubeCluster) readPodSet(r *strictjson.Reader) (s podSet) {
	s.count = 1
	object(r, []string{"count", "template"}, func(field string) {
		switch {
		case r.Null():
		case field == "count":
			s.count = r.Number(0, mostMembers)
		default:
			object(r, []string{"metadata", "spec"}, func(field string) {
				if field == "metadata" {
					s.meta = readMeta(r, func(string) bool { return false })
				} else {
					k.readPodSpec(r, &s.pod)
				}
			})
		}
	})
	return s
}

// queueOf returns the ClusterQueue of a pod or a Workload, nil if it has none in the input.
func (k *kubeCluster) queueOf(namespace, local, admitted string) *clusterQueue {
	return k.kueue.queues[cmp.Or(admitted, k.kueue.local[[2]string{namespace, local}])]
}

// quotas returns the quota of each tenant that has one.
func (k *kubeCluster) quotas(jobs []job) []cluster.Quota {
	gpus, covers := map[string]int64{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(k.kueue.queues)) {
		q := k.kueue.queues[name]
		if q.limited && q.cohort != "" {
			k.told.add("ClusterQueues with limits of what they borrow or lend: all of a cohort count as one quota", q.name)
		}
		gpus[q.tenant()] += max(q.gpus, 0)
		covers[q.tenant()] = covers[q.tenant()] || q.gpus >= 0
	}
	held := map[string]int64{}
	for i := range jobs {
		for _, p := range jobs[i].pieces {
			held[jobs[i].Tenant] += int64(p.Workers)
		}
	}
	var all []cluster.Quota
	for _, tenant := range slices.Sorted(maps.Keys(gpus)) {
		if !covers[tenant] {
			k.told.add("queues and cohorts without a quota of "+k.GPU+": taken to be unlimited", tenant)
			continue
		}
		if held[tenant] > gpus[tenant] {
			k.told.add("queues and cohorts that hold more GPUs than their quota: it is taken to be as large", tenant)
		}
		all = append(all, cluster.Quota{Tenant: tenant, GPUs: int32(min(max(gpus[tenant], held[tenant]), mostQuota))})
	}
	return all
}

// waiting returns the jobs of the Workloads that Kueue has not admitted.
func (k *kubeCluster) waiting(where *places) (jobs []job) {
	slices.SortFunc(k.kueue.workloads, func(a, b *workload) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	for _, w := range k.kueue.workloads {
		switch {
		case w.ended || w.admitted != "":
		case w.inactive:
			k.told.add("Workloads that are not active, left out", w.title())
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
		if s.gpus == 0 || s.count == 0 {
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
	} else {
		j.Tenant = w.namespace
		k.told.add("Workloads whose queue is not in the input: taken to have no quota", fmt.Sprintf("%s of queue %q", title, w.queue))
	}
	for _, field := range own[0].constraints.others {
		k.told.add("pods whose required "+field+" a snapshot cannot represent", title)
	}
	j.Where = where.of(own[0], nil, &k.told)
	return []job{j}
}

// isKueue reports whether an API version is one of Kueue.
func isKueue(version string) bool { return strings.HasPrefix(version, "kueue.x-k8s.io/") }
