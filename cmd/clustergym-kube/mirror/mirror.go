// Package mirror shows the objects of a Kubernetes cluster as the state that schedulers decide on. It holds no clients and
// reads no clock: equal objects, in whatever order, give equal views.
package mirror

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/env/cluster"
)

// Objects are what is known of a Kubernetes cluster at one instant. Build reads them only, and the View points into them.
type Objects struct {
	Nodes  []*corev1.Node
	Pods   []*corev1.Pod // all pods of the cluster, also those of other schedulers
	Quotas []*corev1.ResourceQuota
	Groups gang.Source
	Claim  func(namespace, name string) *corev1.PersistentVolumeClaim // nil if unknown
	Volume func(name string) *corev1.PersistentVolume                 // nil if unknown
	// Bound is the node by pod: bindings that the API server has accepted and the objects may not show yet.
	Bound     map[types.UID]string
	Offer     int32     // inference nodes that may be on loan
	ReclaimBy time.Time // when those beyond must be back
}

// Config is what the operator of the scheduler says.
type Config struct {
	Schedulers []string            // the scheduler names whose pods are jobs here
	GPU        corev1.ResourceName // what a GPU is called
	TypeLabel  string              // label of nodes with the type of their GPUs, "" for none
	RackLabel  string              // label of nodes with their rack, "" for none
	Estimate   time.Duration       // of jobs that do not state one; 0 for none
	Epoch      time.Time           // zero of the State's clock; best before all that runs, as the Unix epoch is
}

// View is what Build sees in the objects. Every pod of the configured schedulers that has not ended and is not being
// deleted is in exactly one of Jobs, Partial, Refused and Waiting. Each of them is in an order that the objects alone
// decide.
type View struct {
	// State holds the running jobs, restored with their progress. The pending ones are not submitted yet: their ids are
	// reserved, in the order of submission, for Submit. After those of Jobs it has one id for each partial gang and for each
	// pod that a running gang has in Free.
	State   *cluster.State
	Jobs    []Job        // by cluster.JobID
	Partial []Partial    // gangs with some pods bound, fewer than they need: not in State, what they hold counts as taken
	Refused []Refusal    // pods with what is not supported
	Waiting []Incomplete // gangs whose pods are not all there (or gated)
}

// Job is a gang that runs or could.
type Job struct {
	Group    gang.Group
	Spec     cluster.JobSpec
	Priority int32
	Running  bool
	Bound    []*corev1.Pod // that hold a node, by name
	Free     []*corev1.Pod // that wait for one, by name; of a running job: surplus, which may be bound where there is room
	PodGPUs  int32         // GPUs of each pod
	Whole    time.Time     // when the pod was made that made the gang whole
	// Never is why a gang that waits could not start if all its nodes were empty, "" if it could: see Build.
	Never string
}

// Partial is a gang with fewer pods bound than it needs, which is of no use to anyone.
type Partial struct {
	Job
	Lacks int32     // pods that it still needs, which Free need not hold
	Since time.Time // when the first of Bound was bound
	plan  plan
}

// Refusal is a pod that this scheduler will not place, with the reason as one CamelCase word and a sentence.
type Refusal struct {
	Pod             *corev1.Pod
	Reason, Message string
}

// Incomplete is a gang that lacks pods, or of which nothing can be known yet.
type Incomplete struct {
	Group      gang.Group
	Pods       []*corev1.Pod // by name
	Have, Want int32         // pods that could be bound, and how many must
	Why        string
}

// Labels of nodes, and the key and value of the taint of those on loan.
const (
	PoolLabel      = "clustergym.dev/pool"      // InferencePool for a node of the inference pool
	LoanedToLabel  = "clustergym.dev/loaned-to" // TrainingPool for one on loan; also the key of its taint
	ReturningLabel = "clustergym.dev/returning" // "true" for one that is being returned
	InferencePool  = "inference"
	TrainingPool   = "training"
)

// Annotations of the object of a group, or else of its pods.
const (
	minWorkersAnnotation = "clustergym.dev/min-workers" // the fewest pods that an elastic gang runs with
	MaxWorkersAnnotation = "clustergym.dev/max-workers" // the most pods that an elastic gang can use
	EstimateAnnotation   = "clustergym.dev/estimate"    // of the run time, as 90m or 36h
	modelAnnotation      = "clustergym.dev/model"       // the family of models that the job trains
)

// longest is the longest time that a snapshot can hold.
const longest = 100 * 365 * 24 * time.Hour

// Build shows the objects at the instant now. What users wrote never makes it fail: that ends in Refused or Waiting. It
// fails if now is not within a hundred years from the epoch, or if there are more nodes than a State can hold.
//
// The servers of the State are the nodes with GPUs, by name, but for nodes of the inference pool that it uses itself and
// has not lent. A node that takes nothing new (cordoned, not ready, being returned, being deleted or gone) has the GPUs
// that running gangs hold there and no more. A State without any such node has one server without GPUs, which is no node.
//
// A gang that waits could start if its nodes, those that take something new and that its selectors, affinity, tolerations and
// volumes allow, were empty but for the pods of DaemonSets and static pods, with as many nodes of the inference pool as may be on
// loan. An elastic gang asks for no more workers than would then have room.
//
// A gang runs from the instant by which as many of its pods had started as it needs. Of the GPU time that it has held
// since, what lies before the epoch or beyond 73 GPU-years is not counted.
func Build(o *Objects, c *Config, now time.Time) (*View, error) {
	if at := now.Sub(c.Epoch); at < 0 || at > longest {
		return nil, fmt.Errorf("build view: now is %v and the epoch %v, want now from 0 to 100 years after it", now, c.Epoch)
	}
	b := &builder{Objects: o, Config: c, now: now, view: &View{}, loads: map[string]*load{}, tenants: map[string]int64{}}
	for _, g := range b.podGangs() {
		b.classify(g)
	}
	b.order()
	b.addServers()
	b.restrict()
	if err := b.restore(); err != nil {
		return nil, fmt.Errorf("build view: %w", err)
	}
	b.judge()
	return b.view, nil
}

// builder is a View in the making.
type builder struct {
	*Objects
	*Config
	now     time.Time
	view    *View
	loads   map[string]*load // by node
	tenants map[string]int64 // by namespace: GPUs in use by pods other than those of running gangs
	allowed map[string]int64 // by namespace with a quota: GPUs that all its pods may hold
	plans   []plan           // what the View does not say of its Jobs, by cluster.JobID
	servers []server         // by cluster.ServerID
	ids     map[string]cluster.ServerID
	held    int64 // GPUs of all running gangs
}

// load is what the pods on a node hold.
type load struct {
	taken   amount // by pods other than those of running gangs
	fixed   amount // of that, by pods that stay as long as the node
	stay    int64  // number of these
	held    amount // by the pods of running gangs
	pods    int64
	foreign bool // pods of other schedulers hold GPUs
}

func (b *builder) load(node string) *load {
	l := b.loads[node]
	if l == nil {
		l = &load{}
		b.loads[node] = l
	}
	return l
}

// NodeOf returns the node that the pod holds, "" if none.
func (o *Objects) NodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	return o.Bound[pod.UID]
}

// Ended reports whether the pod has run, well or not, and holds nothing any more.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Ready reports whether the node says that it is.
func Ready(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// since places an instant on the State's clock, between its zero and now.
func (b *builder) since(t time.Time) time.Duration {
	return min(max(t.Sub(b.Epoch), 0), b.now.Sub(b.Epoch))
}

// rests counts what callers may want to place besides Jobs: the rest of every partial gang and every surplus pod.
func (v *View) rests() int {
	n := len(v.Partial)
	for i := range v.Jobs {
		if v.Jobs[i].Running {
			n += len(v.Jobs[i].Free)
		}
	}
	return n
}

// Submit submits a pending job to the State.
func (v *View) Submit(id cluster.JobID) { v.State.Submit(id, &v.Jobs[id].Spec) }
