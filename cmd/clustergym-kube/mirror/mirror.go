// Package mirror converts the objects of a Kubernetes cluster into the state that schedulers decide on. It has no clients and
// reads no clock: equal objects give equal views, whatever their order.
package mirror

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/env/cluster"
)

// Objects are the objects of a Kubernetes cluster at one instant. Build only reads them, and the View points into them.
type Objects struct {
	Nodes     []*corev1.Node
	Pods      []*corev1.Pod // all pods of the cluster, including those of other schedulers
	Quotas    []*corev1.ResourceQuota
	Groups    gang.Groups
	Claim     func(namespace, name string) *corev1.PersistentVolumeClaim // returns nil if unknown
	Volume    func(name string) *corev1.PersistentVolume                 // returns nil if unknown
	Offer     int32                                                      // how many inference nodes may be on loan
	ReclaimBy time.Time                                                  // when nodes on loan beyond Offer must be back
}

// Config contains the mirror's settings, which the person who runs the scheduler chooses.
type Config struct {
	Schedulers []string            // the scheduler names whose pods are jobs here
	GPU        corev1.ResourceName // the resource name of GPUs
	TypeLabel  string              // node label with the GPU type, "" for none
	RackLabel  string              // node label with the rack, "" for none
	Estimate   time.Duration       // estimate for jobs without one; 0 for none
	Epoch      time.Time           // zero of the State's clock; should be before the start of all that runs, like the Unix epoch
}

// View is the cluster as Build reads it from the objects. Every pod of the configured schedulers that has not ended and is not
// being deleted is in exactly one of Jobs, Partial, Refused and Waiting. The order of each list depends on the objects alone.
type View struct {
	// State contains the running jobs with their progress. Pending jobs are not submitted yet: Submit submits them, under ids that
	// are reserved in the order of submission. After the ids of Jobs, State reserves one id for each partly bound gang and one for
	// each Free pod of a running gang.
	State   *cluster.State
	Jobs    []Job        // by cluster.JobID
	Partial []Partial    // gangs with fewer pods bound than they need: not in State, where their GPUs count as taken
	Refused []Refusal    // pods that need something that is not supported
	Waiting []Incomplete // gangs that lack pods, or whose pods are gated
	// Ended contains the names of the gangs of which pods have succeeded and no others are left. Gangs of which no pod is left at
	// all may have ended, or wait to be created again.
	Ended map[string]bool
}

// Job is a gang that runs or could run.
type Job struct {
	Group    gang.Group
	Spec     cluster.JobSpec
	Priority int32
	Running  bool
	Bound    []*corev1.Pod // pods that have a node, sorted by name
	Free     []*corev1.Pod // pods without a node, sorted by name; surplus if the job runs: bound only if there is room
	PodGPUs  int32         // GPUs of each pod
	// Fixed reports whether the CPU and memory of the pods cannot change in place, and Resizing whether the kubelet has still to
	// change them.
	Fixed    bool
	Resizing bool
	// Stuck is a pod that this program has resized and whose kubelet cannot carry that out, or nil: see stuck.
	Stuck *corev1.Pod
	// Least is the least that each GPU of the pods can be given: the requests of containers without GPUs do not change.
	Least cluster.Amount
	// Loose is what the pods of Free hold for each of their GPUs: of the pods that hold most. It differs from the request after a
	// resize whose binding failed.
	Loose cluster.Amount
	Whole time.Time // when the last pod was created that the gang needed to be complete
	// Never says why a waiting gang could not start even if all its nodes were empty, or is "" if it could: see Build.
	Never string
}

// Partial is a gang with fewer pods bound than it needs. It holds GPUs but cannot run.
type Partial struct {
	Job
	Lacks int32     // how many more pods it needs; Free may have fewer
	Since time.Time // when the first of Bound was bound
	plan  plan
}

// Refusal is a pod that this scheduler will not place. Reason is one CamelCase word, Message a sentence.
type Refusal struct {
	Pod             *corev1.Pod
	Reason, Message string
}

// Incomplete is a gang that lacks pods, or whose group is not known yet.
type Incomplete struct {
	Group      gang.Group
	Pods       []*corev1.Pod // by name
	Have, Want int32         // the number of pods that could be bound, and the number that must be
	Why        string
}

// The labels of nodes. LoanedToLabel and TrainingPool are also the key and the value of the taint of a node on loan.
const (
	PoolLabel      = "clustergym.dev/pool"      // value InferencePool: a node of the inference pool
	LoanedToLabel  = "clustergym.dev/loaned-to" // value TrainingPool: a node on loan
	ReturningLabel = "clustergym.dev/returning" // value "true": a node that is being returned
	InferencePool  = "inference"
	TrainingPool   = "training"
)

// longest is the longest time that a snapshot can contain.
const longest = 100 * 365 * 24 * time.Hour

// Build returns the View of the objects at the time now. Invalid input of users never makes it fail: their pods end in Refused or
// Waiting. Build returns an error if now is not within a hundred years after the epoch, or if there are more nodes than a State
// can contain.
//
// The servers of the State are the nodes with GPUs, sorted by name. They do not include the nodes that the inference pool uses
// itself and does not lend. A node that takes no new pods (cordoned, not ready, being returned, being deleted or gone) counts
// only the GPUs that running gangs use on it. If no node qualifies, the State has one server without GPUs, which stands for no
// node.
//
// Job.Never is "" if a waiting gang could start in the following case. Only the nodes count that take new pods and that the
// gang's selectors, affinity, tolerations and volumes allow, with as many nodes of the inference pool as may be on loan. These
// nodes are empty except for DaemonSet and static pods, and no other pod uses the quota of the gang's namespace. Build lowers the
// number of workers that an elastic gang asks for to the number that fits in that case.
//
// A gang runs from the time by which as many of its pods had started as it needs. Build does not count GPU time that the gang
// used before the epoch, or beyond 73 GPU-years.
func Build(o *Objects, c *Config, now time.Time) (*View, error) {
	if at := now.Sub(c.Epoch); at < 0 || at > longest {
		return nil, fmt.Errorf("build view: now is %v and the epoch %v, want now from 0 to 100 years after it", now, c.Epoch)
	}
	b := &builder{
		Objects: o, Config: c, now: now, view: &View{Ended: map[string]bool{}}, loads: map[string]*load{}, tenants: map[string]int64{},
	}
	// Each step needs what those before have found.
	for _, g := range b.podGangs() { // what pods of others use of each node
		b.classify(g) // the lists of the view, and what partly bound and refused gangs use of each node
	}
	b.order()                         // the ids of jobs, and what running gangs use of each node
	b.servers, b.ids = b.addServers() // the room that all these leave
	b.restrict()                      // the servers of each job
	quotas, allowed := b.quotas()
	if err := b.restore(quotas); err != nil { // the State
		return nil, fmt.Errorf("build view: %w", err)
	}
	b.judge(allowed) // the jobs that can never start
	return b.view, nil
}

// builder builds a View.
type builder struct {
	*Objects
	*Config
	now     time.Time
	view    *View
	loads   map[string]*load // by node
	tenants map[string]int64 // by namespace: GPUs used by pods other than those of running gangs
	plans   []plan           // more about the View's Jobs, by cluster.JobID
	servers []server         // by cluster.ServerID
	ids     map[string]cluster.ServerID
	held    int64 // GPUs of all running gangs
}

// load is what the pods on a node use.
type load struct {
	taken   amount // by pods other than those of running gangs
	fixed   amount // the part of taken that pods use which stay as long as the node
	stay    int64  // number of those pods
	held    amount // by the pods of running gangs
	pods    int64
	foreign bool // pods of other schedulers use GPUs
}

func (b *builder) load(node string) *load {
	l := b.loads[node]
	if l == nil {
		l = &load{}
		b.loads[node] = l
	}
	return l
}

// Ended reports whether the pod has succeeded or failed and so uses no resources any more.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Ready reports whether the node's condition Ready is true.
func Ready(node *corev1.Node) bool {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// since converts a time to the State's clock, limited to the range from zero to now.
func (b *builder) since(t time.Time) time.Duration {
	return min(max(t.Sub(b.Epoch), 0), b.now.Sub(b.Epoch))
}

// rests returns the number of jobs that callers may want to submit besides Jobs: one for each partly bound gang and one for each
// surplus pod.
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
