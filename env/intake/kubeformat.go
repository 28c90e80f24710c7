package intake

import (
	"cmp"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// kubeObjects is the format of the objects of Kubernetes. Kinds that depend on what counts as a GPU, or on which labels are of
// interest, ask the cluster that is read.
var kubeObjects = strictjson.Format{
	Key: "kube", Partial: true, Most: "mostEntries",
	Limits: map[string]int64{
		"mostEntries": mostEntries, "mostMembers": mostMembers, "least32": math.MinInt32, "most32": math.MaxInt32,
	},
	Kinds: map[string]strictjson.Kind{
		"name":   strictjson.As(func(r *strictjson.Reader, to *string) { *to = name(r) }),
		"last":   strictjson.As(func(r *strictjson.Reader, to *string) { *to = cmp.Or(name(r), *to) }),
		"text":   strictjson.As(func(r *strictjson.Reader, to *string) { *to = text(r) }),
		"moment": strictjson.As(func(r *strictjson.Reader, to *time.Time) { *to = moment(r) }),
		"set":    strictjson.As(func(r *strictjson.Reader, to *bool) { *to = !moment(r).IsZero() }),
		"some":   strictjson.As(func(r *strictjson.Reader, to *bool) { *to = r.List(mostEntries, func(int) { r.Skip() }) > 0 || *to }),
		"there":  strictjson.As(func(r *strictjson.Reader, to *bool) { *to = true; r.Skip() }),
		"count":  strictjson.As(func(r *strictjson.Reader, to *int) { *to = r.List(mostEntries, func(int) { r.Skip() }) }),
		"stop": strictjson.As(func(r *strictjson.Reader, to *string) {
			if policy := name(r); policy != "" && policy != "None" {
				*to = "stopPolicy " + policy
			}
		}),
		"texts":   strictjson.As(func(r *strictjson.Reader, to *map[string]string) { *to = wanted(r, anyKey) }),
		"notes":   strictjson.As(func(r *strictjson.Reader, to *map[string]string) { *to = wanted(r, pods.Reads) }),
		"labels":  strictjson.As(func(r *strictjson.Reader, to *map[string]string) { *to = wanted(r, clusterOf(r).label) }),
		"owner":   strictjson.As(readOwner),
		"amounts": strictjson.As(func(r *strictjson.Reader, to *amounts) { *to = clusterOf(r).amounts(r) }),
		"quota":   strictjson.As(func(r *strictjson.Reader, to *int64) { *to, _ = quantity(r, 1, mostQuota) }),
		"usage":   strictjson.As(func(r *strictjson.Reader, to *usage) { *to = clusterOf(r).usage(r) }),
	},
}

func anyKey(string) bool { return true }

func clusterOf(r *strictjson.Reader) *kubeCluster { return r.Owner.(*kubeCluster) }

// meta is the metadata of an object.
type meta struct {
	Name      string            `kube:"name,name"`
	Namespace string            `kube:"namespace,name"`
	UID       string            `kube:"uid,name"`
	Labels    map[string]string `kube:"labels,labels"`
	Notes     map[string]string `kube:"annotations,notes"` // those that package pods reads
	Created   time.Time         `kube:"creationTimestamp,moment"`
	Deleting  bool              `kube:"deletionTimestamp,set"`
	Owner     owner             `kube:"ownerReferences,owner"`
}

// owner is the controller of a pod.
type owner struct {
	Kind string `kube:"kind,name"`
	Name string `kube:"name,name"`
	UID  string `kube:"uid,name"`
}

func readOwner(r *strictjson.Reader, to *owner) {
	r.List(mostEntries, func(int) {
		var o struct {
			owner
			Controls bool `kube:"controller"`
		}
		if r.Struct(&o); o.Controls {
			*to = o.owner
		}
	})
}

func (m *meta) title() string {
	if m.Namespace == "" {
		return m.Name
	}
	return m.Namespace + "/" + m.Name
}

// condition is one of an object's conditions.
type condition struct {
	Kind   string `kube:"type,name"`
	Status string `kube:"status,name"`
	Reason string `kube:"reason,name"`
}
