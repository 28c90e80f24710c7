package control

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// memory is an API server in memory, with pods, nodes and ConfigMaps. It never changes an object: it replaces it. Its changes are
// a list for each kind, so that a watch can show them late, in order.
type memory struct {
	pods    map[string]*corev1.Pod // by namespace/name
	nodes   map[string]*corev1.Node
	maps    map[string]*corev1.ConfigMap // by namespace/name
	changes map[string][]change          // by resource: pods, nodes, configmaps
	refuse  map[string]bool              // gangs whose pods disruption budgets protect
	uids    int
	version int

	armed *trouble // what shall happen to one of the next requests; nil for nothing
	hit   func(*trouble)
	dead  bool // the program was killed: it gets no more answers, and its requests do nothing
	hurt  bool // a request of this round got no proper answer
	// heard is called for each write of a program that is carried out, before it takes effect; asked for each binding that arrives.
	asked func(pod *corev1.Pod, node string)
	heard func(verb string, pod *corev1.Pod, node string)
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
		changes: map[string][]change{}, refuse: map[string]bool{},
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

// putPod creates or replaces a pod.
func (a *memory) putPod(pod *corev1.Pod) {
	a.version++
	pod.ResourceVersion = fmt.Sprint(a.version)
	if pod.UID == "" {
		a.uids++
		pod.UID = types.UID(fmt.Sprint("uid-", a.uids))
	}
	a.pods[key(pod)] = pod
	a.wrote("pods", key(pod), pod)
}

// editPod replaces a pod by a copy with a change.
func (a *memory) editPod(pod *corev1.Pod, edit func(*corev1.Pod)) {
	pod = a.pods[key(pod)].DeepCopy()
	edit(pod)
	a.putPod(pod)
}

func (a *memory) dropPod(pod *corev1.Pod) {
	delete(a.pods, key(pod))
	a.wrote("pods", key(pod), nil)
}

func (a *memory) putNode(node *corev1.Node) {
	a.nodes[node.Name] = node
	a.wrote("nodes", node.Name, node)
}

func (a *memory) editNode(name string, edit func(*corev1.Node)) {
	node := a.nodes[name].DeepCopy()
	edit(node)
	a.putNode(node)
}

func (a *memory) dropNode(name string) {
	delete(a.nodes, name)
	a.wrote("nodes", name, nil)
}

func (a *memory) putMap(m *corev1.ConfigMap) {
	a.version++
	m.ResourceVersion = fmt.Sprint(a.version)
	a.maps[key(m)] = m
	a.wrote("configmaps", key(m), m)
}

func (a *memory) dropMap(key string) {
	delete(a.maps, key)
	a.wrote("configmaps", key, nil)
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

// client returns a client of the server, through which a program writes. It answers one request at a time.
func (a *memory) client() *fake.Clientset {
	c := &fake.Clientset{}
	c.AddReactor("*", "*", func(action ktesting.Action) (bool, runtime.Object, error) {
		object, err := a.answer(action)
		return true, object, err
	})
	return c
}

// The faults that a request can meet.
const (
	killedBefore = "program killed before a request"
	killedAfter  = "program killed after a request was carried out"
	unavailable  = "request refused: unavailable (503)"
	tooMany      = "request refused: too many (429)"
	conflict     = "request refused: conflict (409)"
	forbidden    = "request refused: forbidden (403)"
	lostBefore   = "request lost"
	lostAfter    = "answer lost"
	slow         = "answer slow"
	slowLost     = "answer slow, and lost"
	firstRival   = "another scheduler binds the pod first"
	fillRival    = "another scheduler takes GPUs of the node first"
)

var (
	errDead = errors.New("the program has ended")
	errLost = apierrors.NewTimeoutError("lost", 0)
)

func (a *memory) answer(action ktesting.Action) (runtime.Object, error) {
	if a.dead {
		return nil, errDead
	}
	kind := ""
	if t := a.armed; t != nil {
		binds := action.GetVerb() == "create" && action.GetSubresource() == "binding"
		switch {
		case t.do != nil && !binds:
		case t.after > 0:
			t.after--
		default:
			kind = t.kind
			if t.times--; t.times == 0 {
				a.armed = nil
			}
			a.hurt = true
			a.hit(t)
			if b, ok := bindingOf(action); ok && t.do != nil {
				t.do(a.pods[b.Namespace+"/"+b.Name], b.Target.Name)
			}
			time.Sleep(t.wait)
		}
	}
	status := func(code int, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: kind}}
	}
	switch kind {
	case killedBefore:
		a.dead = true
		return nil, errDead
	case unavailable:
		return nil, status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	case tooMany:
		return nil, status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	case conflict:
		return nil, status(http.StatusConflict, metav1.StatusReasonConflict)
	case forbidden:
		return nil, status(http.StatusForbidden, metav1.StatusReasonForbidden)
	case lostBefore:
		return nil, errLost
	}
	object, err := a.do(action)
	switch kind {
	case killedAfter:
		a.dead = true
		return nil, errDead
	case lostAfter, slowLost:
		return nil, errLost
	}
	return object, err
}

func bindingOf(action ktesting.Action) (*corev1.Binding, bool) {
	c, ok := action.(ktesting.CreateAction)
	if !ok {
		return nil, false
	}
	b, ok := c.GetObject().(*corev1.Binding)
	return b, ok
}

// do carries out a request.
func (a *memory) do(action ktesting.Action) (runtime.Object, error) {
	resource, space := action.GetResource().Resource, action.GetNamespace()
	group := schema.GroupResource{Resource: resource}
	if resource == "configmaps" {
		return a.doMap(action, group)
	}
	if resource != "pods" {
		return nil, apierrors.NewMethodNotSupported(group, action.GetVerb())
	}
	find := func(name string, uid *types.UID) (*corev1.Pod, error) {
		pod := a.pods[space+"/"+name]
		switch {
		case pod == nil:
			return nil, apierrors.NewNotFound(group, name)
		case uid != nil && *uid != "" && pod.UID != *uid:
			return nil, apierrors.NewConflict(group, name, fmt.Errorf("UID is %s, not %s", pod.UID, *uid))
		}
		return pod, nil
	}
	switch x := action.(type) {
	case ktesting.CreateActionImpl:
		switch o := x.GetObject().(type) {
		case *corev1.Binding:
			return nil, a.bind(o, find)
		case *policyv1.Eviction:
			pod, err := find(o.Name, o.DeleteOptions.Preconditions.UID)
			if err != nil {
				return nil, err
			}
			if a.refuse[gangName(pod)] {
				err := apierrors.NewTooManyRequests("budget", 0)
				err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
				a.heard("refuse", pod, pod.Spec.NodeName)
				return nil, err
			}
			a.heard("evict", pod, pod.Spec.NodeName)
			a.end(pod)
			return nil, nil
		}
	case ktesting.DeleteActionImpl:
		pod, err := find(x.GetName(), x.DeleteOptions.Preconditions.UID)
		if err != nil {
			return nil, err
		}
		a.heard("delete", pod, pod.Spec.NodeName)
		a.end(pod)
		return nil, nil
	case ktesting.GetActionImpl:
		pod, err := find(x.GetName(), nil)
		return pod, err
	case ktesting.PatchActionImpl:
		pod, err := find(x.GetName(), nil)
		if err == nil {
			a.heard("patch", pod, "")
		}
		return pod, err
	}
	return nil, apierrors.NewMethodNotSupported(group, action.GetVerb())
}

// bind binds a pod that has no node yet, as the real server does.
func (a *memory) bind(b *corev1.Binding, find func(string, *types.UID) (*corev1.Pod, error)) error {
	group := schema.GroupResource{Resource: "pods"}
	pod, err := find(b.Name, &b.UID)
	if err != nil {
		return err
	}
	a.asked(pod, b.Target.Name)
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
		return apierrors.NewConflict(group, b.Name, fmt.Errorf("pod is on %q, or is being deleted", pod.Spec.NodeName))
	}
	a.heard("bind", pod, b.Target.Name)
	a.assign(pod, b.Target.Name)
	return nil
}

// assign binds a pod to a node, whoever asks for it.
func (a *memory) assign(pod *corev1.Pod, node string) {
	a.editPod(pod, func(p *corev1.Pod) {
		p.Spec.NodeName = node
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now()),
		}}
	})
}

// end begins to delete a pod. A pod without a node is gone at once.
func (a *memory) end(pod *corev1.Pod) {
	switch {
	case pod.Spec.NodeName == "":
		a.dropPod(pod)
	case pod.DeletionTimestamp == nil:
		a.editPod(pod, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
	}
}

func (a *memory) doMap(action ktesting.Action, group schema.GroupResource) (runtime.Object, error) {
	switch x := action.(type) {
	case ktesting.GetActionImpl:
		if m := a.maps[x.GetNamespace()+"/"+x.GetName()]; m != nil {
			return m, nil
		}
		return nil, apierrors.NewNotFound(group, x.GetName())
	case ktesting.CreateActionImpl:
		m := x.GetObject().(*corev1.ConfigMap).DeepCopy()
		if a.maps[key(m)] != nil {
			return nil, apierrors.NewAlreadyExists(group, m.Name)
		}
		a.putMap(m)
		return m, nil
	case ktesting.UpdateActionImpl:
		m := x.GetObject().(*corev1.ConfigMap).DeepCopy()
		switch old := a.maps[key(m)]; {
		case old == nil:
			return nil, apierrors.NewNotFound(group, m.Name)
		case m.ResourceVersion != "" && m.ResourceVersion != old.ResourceVersion:
			return nil, apierrors.NewConflict(group, m.Name, fmt.Errorf("version is %s, not %s", old.ResourceVersion, m.ResourceVersion))
		}
		a.putMap(m)
		return m, nil
	}
	return nil, apierrors.NewMethodNotSupported(group, action.GetVerb())
}
