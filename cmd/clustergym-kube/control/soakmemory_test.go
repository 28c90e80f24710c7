package control

import (
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// memory is an API server in memory, with pods, nodes and ConfigMaps. It never changes an object: it replaces it. Its changes are
// a list for each kind, so that a watch can show them late, in order.
type memory struct {
	pods    map[string]*corev1.Pod // by namespace/name
	nodes   map[string]*corev1.Node
	maps    map[string]*corev1.ConfigMap // by namespace/name
	jobs    map[string]*batchv1.Job      // owners of elastic gangs, by namespace/name
	changes map[string][]change          // by resource: pods, nodes, configmaps
	refuse  map[string]bool              // gangs whose pods disruption budgets protect
	first   map[types.UID]*corev1.Pod    // pods as they were created
	uids    int
	version int
	now     func() time.Time
	sleep   func(time.Duration)
	real    *realServer // which carries out all changes, too; nil for none
	model   bool        // a request is carried out in memory alone, to compare the answer with that of the real server

	armed *trouble // what shall happen to one of the next requests; nil for nothing
	hit   func(*trouble)
	dead  bool // the program was killed: it gets no more answers, and its requests do nothing
	hurt  bool // a request of this round got no proper answer
	lost  bool // the answer to the request will be lost
	// heard is called for each write of a program that is carried out, before it takes effect; asked for each binding that arrives.
	asked func(pod *corev1.Pod, node string)
	heard func(verb string, pod *corev1.Pod, node string)
	// marked and scaled are called for each change of a node and of a Job by a program, before it takes effect.
	marked func(was, is *corev1.Node)
	scaled func(is *batchv1.Job)
	// differs is called for each request that the real server does not answer like the one in memory.
	differs func(request string, want, got error)
	// resized is called for each pod whose CPU and memory a program changes, before it takes effect.
	resized func(was, is *corev1.Pod)
}

// change is an object that was written, or deleted.
type change struct {
	key    string
	object runtime.Object // nil if deleted
}

// trouble is a fault of the API server: what happens to the request after so many others, and to some that follow.
type trouble struct {
	kind  string
	after int
	times int
	wait  time.Duration // of a slow answer
	do    func(pod *corev1.Pod, node string)
}

func newMemory() *memory {
	return &memory{
		pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{}, maps: map[string]*corev1.ConfigMap{},
		jobs:    map[string]*batchv1.Job{},
		changes: map[string][]change{}, refuse: map[string]bool{}, first: map[types.UID]*corev1.Pod{}, now: time.Now, sleep: time.Sleep,
	}
}

func key(m metav1.Object) string {
	if m.GetNamespace() == "" {
		return m.GetName()
	}
	return m.GetNamespace() + "/" + m.GetName()
}

func (a *memory) wrote(resource, key string, object runtime.Object) {
	a.changes[resource] = append(a.changes[resource], change{key, object})
}

// stamp gives an object of this server the next version. Those of a real server have theirs.
func (a *memory) stamp(object metav1.Object) {
	if a.real == nil || a.model {
		a.version++
		object.SetResourceVersion(fmt.Sprint(a.version))
	}
}

// through reports whether a change goes through to a real server.
func (a *memory) through() bool { return a.real != nil && !a.model }

// putPod creates or replaces a pod. It reports whether the server accepts the pod.
func (a *memory) putPod(pod *corev1.Pod) bool {
	fresh := pod.UID == ""
	if a.through() {
		if pod = a.real.putPod(a.pods[key(pod)], pod); pod == nil {
			return false
		}
	} else if fresh {
		a.uids++
		pod.UID = types.UID(fmt.Sprint("uid-", a.uids))
	}
	if fresh {
		a.first[pod.UID] = pod
	}
	a.stamp(pod)
	a.pods[key(pod)] = pod
	a.wrote("pods", key(pod), pod)
	return true
}

// editPod replaces a pod by a copy with a change.
func (a *memory) editPod(pod *corev1.Pod, edit func(*corev1.Pod)) {
	is := a.pods[key(pod)].DeepCopy()
	edit(is)
	if !a.putPod(is) { // the change has ended it
		a.forgetPod(pod)
	}
}

func (a *memory) dropPod(pod *corev1.Pod) {
	if a.through() {
		a.real.dropPod(pod)
	}
	a.forgetPod(pod)
}

func (a *memory) forgetPod(pod *corev1.Pod) {
	delete(a.pods, key(pod))
	a.wrote("pods", key(pod), nil)
}

func (a *memory) putNode(node *corev1.Node) bool {
	if a.through() {
		if node = a.real.putNode(a.nodes[node.Name], node); node == nil {
			return false
		}
	}
	a.stamp(node)
	a.nodes[node.Name] = node
	a.wrote("nodes", node.Name, node)
	return true
}

func (a *memory) editNode(name string, edit func(*corev1.Node)) {
	node := a.nodes[name].DeepCopy()
	edit(node)
	a.putNode(node)
}

func (a *memory) dropNode(name string) {
	if a.through() {
		a.real.dropNode(name)
	}
	delete(a.nodes, name)
	a.wrote("nodes", name, nil)
}

func (a *memory) putMap(m *corev1.ConfigMap) {
	if a.through() {
		m = a.real.putMap(m)
	}
	a.stamp(m)
	a.maps[key(m)] = m
	a.wrote("configmaps", key(m), m)
}

func (a *memory) dropMap(key string) {
	if a.through() {
		a.real.dropMap(key)
	}
	delete(a.maps, key)
	a.wrote("configmaps", key, nil)
}

func (a *memory) putJob(j *batchv1.Job) {
	if a.through() {
		j = a.real.putJob(j)
	}
	a.stamp(j)
	a.jobs[key(j)] = j
}

func (a *memory) dropJob(key string) {
	if j := a.jobs[key]; j != nil && a.through() {
		a.real.dropJob(j)
	}
	delete(a.jobs, key)
}

// guard lets a disruption budget refuse all evictions of a gang's pods, or no longer.
func (a *memory) guard(gang string, is bool) {
	if a.through() {
		a.real.guard(gang, is)
	}
	if delete(a.refuse, gang); is {
		a.refuse[gang] = true
	}
}

// podList returns the pods in the order of their names.
func (a *memory) podList() (all []*corev1.Pod) {
	for _, key := range slices.Sorted(maps.Keys(a.pods)) {
		all = append(all, a.pods[key])
	}
	return all
}

// store is what a program has seen of one kind of objects.
type store struct {
	cache.Indexer
	resource string
	seen     int // changes
}

// newStore returns a store that has seen everything.
func newStore(a *memory, resource string) *store {
	s := &store{cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), resource, len(a.changes[resource])}
	switch resource {
	case "pods":
		addAll(s, a.pods)
	case "nodes":
		addAll(s, a.nodes)
	case "configmaps":
		addAll(s, a.maps)
	}
	return s
}

func addAll[T runtime.Object](s *store, objects map[string]T) {
	for _, object := range objects {
		_ = s.Add(object) // fails for objects without a name
	}
}

// show shows the next n changes, or as many as there are.
func (s *store) show(a *memory, n int) {
	all := a.changes[s.resource]
	for _, c := range all[s.seen:min(s.seen+n, len(all))] {
		if c.object == nil {
			if old, there, _ := s.GetByKey(c.key); there {
				_ = s.Delete(old)
			}
		} else {
			_ = s.Add(c.object)
		}
		s.seen++
	}
}

// List returns the objects in the order of their names, so that a seed gives the same rounds.
func (s *store) List() (all []any) {
	for _, key := range slices.Sorted(slices.Values(s.ListKeys())) {
		if object, there, _ := s.GetByKey(key); there {
			all = append(all, object)
		}
	}
	return all
}

func (s *store) current(a *memory) bool { return s.seen == len(a.changes[s.resource]) }
