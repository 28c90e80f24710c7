package intake

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// workload is a Workload: a job that Kueue admits as a whole.
type workload struct {
	meta
	queue, admitted string // the LocalQueue; the ClusterQueue that has reserved quota for it, "" if it waits
	inactive, ended bool
	priority        int64
	class           string    // of its priority
	again           time.Time // when Kueue puts it back into its queue after an eviction
	sets            []podSet
	assigned        map[string]assignment // by pod set
	reclaimable     map[string]int64      // by pod set: pods that have ended and need no quota any more
}

// job is the name of the job that the Workload is for.
func (w *workload) job() string { return w.namespace + "/" + cmp.Or(w.owner.name, w.name) }

// podSet is a number of equal pods.
type podSet struct {
	pod
	title   string
	count   int64
	partial bool // Kueue may admit it with fewer pods
	racks   bool // its pods must stand together in the topology
}

// asks reports whether the pods ask for GPUs.
func (s podSet) asks() bool { return s.gpus > 0 && s.count > 0 }

// assignment is what Kueue has reserved for a pod set: gpus are those of all its pods together, if known.
type assignment struct {
	count, gpus int64
	known       bool
}

func (k *kubeCluster) readWorkload(r *strictjson.Reader) {
	w := &workload{assigned: map[string]assignment{}, reclaimable: map[string]int64{}}
	object(r, []string{"metadata", "spec", "status"}, func(field string) {
		switch field {
		case "metadata":
			w.meta = readMeta(r, func(string) bool { return false })
		case "spec":
			k.readWorkloadSpec(r, w)
		case "status":
			k.readWorkloadStatus(r, w)
		}
	})
	k.kueue.workloads = append(k.kueue.workloads, w)
	if old := k.kueue.owners[w.owner.uid]; w.owner.uid != "" && (old == nil || old.ended) {
		k.kueue.owners[w.owner.uid] = w
	}
}

func (k *kubeCluster) readWorkloadSpec(r *strictjson.Reader, w *workload) {
	object(r, []string{"queueName", "active", "priority", "priorityClassName", "priorityClassRef", "podSets"}, func(field string) {
		switch field {
		case "queueName":
			w.queue = name(r)
		case "active":
			w.inactive = !r.Null() && !r.Flag()
		case "priority":
			w.priority = readPriority(r)
		case "priorityClassName":
			w.class = cmp.Or(name(r), w.class)
		case "priorityClassRef": // since v1beta2
			object(r, []string{"name"}, func(string) { w.class = cmp.Or(name(r), w.class) })
		default:
			list(r, func(int) { w.sets = append(w.sets, k.readPodSet(r)) })
		}
	})
}

func (k *kubeCluster) readPodSet(r *strictjson.Reader) (s podSet) {
	s.count = 1
	object(r, []string{"name", "count", "minCount", "topologyRequest", "template"}, func(field string) {
		switch field {
		case "name":
			s.title = name(r)
		case "count":
			if !r.Null() {
				s.count = r.Number(0, mostMembers)
			}
		case "minCount":
			s.partial = !r.Null()
			if s.partial {
				r.Skip()
			}
		case "topologyRequest":
			object(r, []string{"required"}, func(string) { s.racks = name(r) != "" })
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

func (k *kubeCluster) readWorkloadStatus(r *strictjson.Reader, w *workload) {
	object(r, []string{"admission", "conditions", "reclaimablePods", "requeueState"}, func(field string) {
		switch field {
		case "admission":
			object(r, []string{"clusterQueue", "podSetAssignments"}, func(field string) {
				if field == "clusterQueue" {
					w.admitted = name(r)
				} else {
					list(r, func(int) { k.readAssignment(r, w) })
				}
			})
		case "conditions":
			list(r, func(int) {
				kind, status, _ := condition(r)
				w.ended = w.ended || kind == "Finished" && status == "True"
			})
		case "reclaimablePods":
			list(r, func(int) {
				set, n := "", int64(0)
				object(r, []string{"name", "count"}, func(field string) {
					if field == "name" {
						set = name(r)
					} else if !r.Null() {
						n = r.Number(0, mostMembers)
					}
				})
				w.reclaimable[set] = n
			})
		default:
			object(r, []string{"requeueAt"}, func(string) { w.again = moment(r) })
		}
	})
}

func (k *kubeCluster) readAssignment(r *strictjson.Reader, w *workload) {
	set, a := "", assignment{}
	object(r, []string{"name", "count", "resourceUsage"}, func(field string) {
		switch {
		case r.Null():
		case field == "name":
			set = name(r)
		case field == "count":
			a.count = r.Number(0, mostMembers)
		default:
			r.Map(mostEntries, func(resource string) {
				a.known = true
				if resource == k.GPU {
					a.gpus, _ = quantity(r, 1, mostQuota)
				} else {
					r.Skip()
				}
			})
		}
	})
	w.assigned[set] = a
}

// tolerate lets the pods of a Workload tolerate the taint that marks nodes with GPUs: the API server or a flavor of Kueue adds
// that to pods when they are made.
func (k *kubeCluster) tolerate(w *workload, first *pod) {
	c := &first.constraints
	for _, t := range k.marks {
		if !slices.ContainsFunc(c.tolerations, func(o toleration) bool { return o.tolerates(t) }) {
			c.tolerations = append(slices.Clone(c.tolerations), toleration{key: t.key, operator: "Exists"})
			k.told.add("Workloads that do not tolerate the taint "+t.key+" of nodes with GPUs: their pods are taken to", w.job())
		}
	}
}

// condition reads one of an object's conditions.
func condition(r *strictjson.Reader) (kind, status, reason string) {
	object(r, []string{"type", "status", "reason"}, func(field string) {
		switch v := name(r); field {
		case "type":
			kind = v
		case "status":
			status = v
		default:
			reason = v
		}
	})
	return kind, status, reason
}
