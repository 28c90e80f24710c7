package intake

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// workload is a Workload: a job that Kueue admits as a whole.
type workload struct {
	meta           `kube:"metadata"`
	workloadSpec   `kube:"spec"`
	workloadStatus `kube:"status"`
	ended          bool
}

type workloadSpec struct {
	Queue    string   `kube:"queueName,name"` // the LocalQueue
	Active   *bool    `kube:"active"`
	Priority int64    `kube:"priority,least32..most32"`
	Class    string   `kube:"priorityClassName,last"` // of its priority
	ClassRef classRef `kube:"priorityClassRef"`       // since v1beta2
	Sets     []podSet `kube:"podSets"`
}

type classRef struct {
	Name string `kube:"name,name"`
}

type workloadStatus struct {
	Admission struct {
		Queue string       `kube:"clusterQueue,name"` // that has reserved quota for it, "" if it waits
		Sets  []assignment `kube:"podSetAssignments"`
	} `kube:"admission"`
	Conditions  []condition  `kube:"conditions"`
	Reclaimable []assignment `kube:"reclaimablePods"` // those that have ended and need no quota any more
	Requeue     struct {
		At time.Time `kube:"requeueAt,moment"` // when Kueue puts it back into its queue after an eviction
	} `kube:"requeueState"`
}

// job is the name of the job that the Workload is for.
func (w *workload) job() string { return w.Namespace + "/" + cmp.Or(w.Owner.Name, w.Name) }

// podSet is a number of equal pods.
type podSet struct {
	pod      `kube:"template"`
	Title    string `kube:"name,name"`
	Count    int64  `kube:"count,0..mostMembers"`
	Partial  bool   `kube:"minCount,there"` // Kueue may admit it with fewer pods
	Topology struct {
		Required string `kube:"required,name"` // its pods must stand together in the topology
	} `kube:"topologyRequest"`
}

// Preset sets the number of pods where it is not stated.
func (s *podSet) Preset() { s.Count = 1 }

// asks reports whether the pods ask for GPUs.
func (s podSet) asks() bool { return s.gpus > 0 && s.Count > 0 }

// assignment is what Kueue has reserved for a pod set, or may take back: Usage is that of all its pods together.
type assignment struct {
	Set   string `kube:"name,name"`
	Count int64  `kube:"count,0..mostMembers"`
	Usage usage  `kube:"resourceUsage,usage"`
}

// of returns the last assignment of a pod set.
func of(all []assignment, set string) (a assignment) {
	for i := range all {
		if all[i].Set == set {
			a = all[i]
		}
	}
	return a
}

func (k *kubeCluster) readWorkload(r *strictjson.Reader) {
	w := &workload{}
	r.Struct(w)
	w.Class = cmp.Or(w.ClassRef.Name, w.Class)
	w.ended = slices.ContainsFunc(w.Conditions, func(c condition) bool { return c.Kind == "Finished" && c.Status == "True" })
	w.Conditions = nil
	for i := range w.Sets {
		w.Sets[i].settle()
	}
	k.kueue.workloads = append(k.kueue.workloads, w)
	if old := k.kueue.owners[w.Owner.UID]; w.Owner.UID != "" && (old == nil || old.ended) {
		k.kueue.owners[w.Owner.UID] = w
	}
}

// tolerate lets the pods of a Workload tolerate the taint that marks nodes with GPUs: the API server or a flavor of Kueue adds
// that to pods when they are made.
func (k *kubeCluster) tolerate(w *workload, first *pod) {
	c := &first.constraints
	for _, t := range k.marks {
		if !slices.ContainsFunc(c.Tolerations, func(o toleration) bool { return o.tolerates(t) }) {
			c.Tolerations = append(slices.Clone(c.Tolerations), toleration{Key: t.Key, Operator: "Exists"})
			k.told.add("Workloads that do not tolerate the taint "+t.Key+" of nodes with GPUs: their pods are taken to", w.job())
		}
	}
}
