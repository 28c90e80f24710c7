package mirror

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1alpha2"
	"k8s.io/client-go/tools/cache"
	podresource "k8s.io/component-helpers/resource"
	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/intake"
	"github.com/clustergym/clustergym/env/pods"
)

// drawn is a set of objects, as both readers get it.
type drawn struct {
	pods    []*corev1.Pod
	nodes   []*corev1.Node
	natives []*schedulingv1alpha2.PodGroup
	others  []*unstructured.Unstructured // PodGroups of other APIs
	owners  []*unstructured.Unstructured // which only snapshots read
	free    map[string]int64             // GPUs of nodes
}

// TestSnapshotsSeeTheSameWorkload draws objects and checks that the reader of what kubectl prints and the mirror of the scheduler see
// the same gangs in them: their names, sizes, asks, tenants, terms, and whether and where they run. It also checks that they count
// the same GPUs as free. More sets are drawn with -rapid.checks=10000.
func TestSnapshotsSeeTheSameWorkload(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := someWorkload(t)
		text := d.text(t)
		from := intake.Kubectl{GPU: gpu, MaxBytes: 1 << 24, Clock: intake.Clock{Now: now, Zero: epoch}}
		taken, err := from.Read(intake.File{Name: "drawn.json", Reader: bytes.NewReader(text)})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		view, err := Build(d.objects(t), config(), now)
		if err != nil {
			t.Fatal(err)
		}
		saw := d.mirrored(view)
		read := snapshot(taken.State, saw.skip)
		if want := strings.Join(saw.jobs, "\n"); read != want {
			t.Fatalf("snapshot:\n%s\nmirror:\n%s\nnotes %v\n%s", read, want, taken.Notes, tell(view))
		}
		sameNodes(t, d, taken.State, view)
		for i := range taken.State.Servers() {
			id := cluster.ServerID(i)
			if closed(d.nodes[i]) { // its free GPUs are no room
				continue
			}
			if a, b := taken.State.FreeGPUs(id), view.State.FreeGPUs(id); a != b {
				t.Fatalf("%s: %d GPUs are free in the snapshot, %d in the mirror\n%s\n%s", taken.State.Server(id).Name, a, b, read, tell(view))
			}
		}
	})
}

// sameNodes checks that the jobs that both see may use the same nodes of those that take new pods.
func sameNodes(t *rapid.T, d *drawn, s *cluster.State, v *View) {
	of := map[string]*cluster.ServerSet{}
	for i := range v.Jobs {
		of[v.Jobs[i].Spec.Name] = v.Jobs[i].Spec.Where
	}
	for _, id := range slices.Concat(s.Running(), s.Pending()) {
		where, known := of[s.Spec(id).Name]
		for i, n := range d.nodes {
			server := cluster.ServerID(i)
			if a, b := s.MayUse(id, server), where == nil || where.Has(server); known && !closed(n) && a != b && v.State.Server(server).GPUs > 0 {
				t.Fatalf("%s may use %s: %t in the snapshot, %t in the mirror", s.Spec(id).Name, n.Name, a, b)
			}
		}
	}
}

// text returns the objects as kubectl prints them.
func (d *drawn) text(t *rapid.T) []byte {
	var items []any
	for _, n := range d.nodes {
		n.Kind, n.APIVersion = "Node", "v1"
		items = append(items, n)
	}
	for _, p := range d.pods {
		p.Kind, p.APIVersion = "Pod", "v1"
		items = append(items, p)
	}
	for _, g := range d.natives {
		g.Kind, g.APIVersion = "PodGroup", pods.Native
		items = append(items, g)
	}
	for _, g := range slices.Concat(d.others, d.owners) {
		items = append(items, g)
	}
	items = rapid.Permutation(items).Draw(t, "order")
	text, err := json.Marshal(map[string]any{"kind": "List", "apiVersion": "v1", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// objects returns the objects as informers give them.
func (d *drawn) objects(t *rapid.T) *Objects {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, g := range d.natives {
		if err := indexer.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	defined := map[string]func(namespace, name string) *unstructured.Unstructured{}
	for _, version := range []string{pods.Plugins, pods.Volcano, pods.KAI} {
		defined[version] = func(namespace, name string) *unstructured.Unstructured {
			at := slices.IndexFunc(d.others, func(g *unstructured.Unstructured) bool {
				return g.GetAPIVersion() == version && g.GetNamespace() == namespace && g.GetName() == name
			})
			if at < 0 {
				return nil
			}
			return d.others[at]
		}
	}
	var accepted []*corev1.Pod
	for _, p := range d.pods {
		accepted = append(accepted, defaulted(p))
	}
	return &Objects{Nodes: d.nodes, Pods: accepted, Groups: gang.Groups{Native: schedulinglisters.NewPodGroupLister(indexer), Defined: defined}}
}

// defaulted returns the pod with the requests that are not stated set to the limits. The API server does so when it accepts a
// pod; a snapshot may be of pods that lack it.
func defaulted(pod *corev1.Pod) *corev1.Pod {
	lacks := func(r *corev1.ResourceRequirements) bool {
		for name := range r.Limits {
			if _, said := r.Requests[name]; !said {
				return true
			}
		}
		return false
	}
	of := func(p *corev1.Pod) (all []*corev1.ResourceRequirements) {
		for i := range p.Spec.Containers {
			all = append(all, &p.Spec.Containers[i].Resources)
		}
		for i := range p.Spec.InitContainers {
			all = append(all, &p.Spec.InitContainers[i].Resources)
		}
		return all
	}
	whole := pod.Spec.Resources
	if !slices.ContainsFunc(of(pod), lacks) && (whole == nil || !lacks(whole)) {
		return pod
	}
	pod = pod.DeepCopy()
	fill := func(r *corev1.ResourceRequirements, from corev1.ResourceList) {
		for name, q := range from {
			if _, said := r.Requests[name]; !said {
				if r.Requests == nil {
					r.Requests = corev1.ResourceList{}
				}
				r.Requests[name] = q
			}
		}
	}
	for _, r := range of(pod) {
		fill(r, r.Limits)
	}
	if whole = pod.Spec.Resources; whole != nil { // what containers request goes before limits of the pod
		fill(whole, podresource.PodRequests(pod, podresource.PodResourcesOptions{SkipPodLevelResources: true, ExcludeOverhead: true}))
		fill(whole, whole.Limits)
	}
	return pod
}

// seen is what the mirror sees: jobs as lines, and the names of those that the snapshot may see otherwise, because this scheduler
// refuses their pods, or they are no jobs for it.
type seen struct {
	jobs []string
	skip map[string]bool
}

// line describes a job; on is where it runs.
func line(s *cluster.JobSpec, runs bool, on map[string]int32) string {
	workers := fmt.Sprint(s.Workers)
	if s.Least() != s.Most() {
		workers = fmt.Sprintf("%d..%d", s.Least(), s.Most()) // the mirror asks for what fits
	}
	return fmt.Sprintf("%s: %s by %d of %dm %dMi, tenant %s, since %v, estimate %v, model %q, runs %t on %v", s.Name, workers, s.Together(),
		s.Request.CPUMilli, s.Request.MemMiB, s.Tenant, s.Submit, s.Estimate, s.Model, runs, on)
}

// snapshot describes the jobs of a snapshot.
func snapshot(s *cluster.State, skip map[string]bool) string {
	var lines []string
	for _, id := range slices.Concat(s.Running(), s.Pending()) {
		spec, on := s.Spec(id), map[string]int32{}
		for _, p := range s.Placement(id) {
			on[s.Server(p.Server).Name] += p.Workers
		}
		if !skip[spec.Name] {
			lines = append(lines, line(spec, len(on) > 0, on))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// mirrored describes what the mirror sees.
func (d *drawn) mirrored(v *View) *seen {
	s := &seen{skip: map[string]bool{}}
	known := map[string]bool{}
	for i := range v.Jobs {
		j := &v.Jobs[i]
		known[j.Spec.Name] = true
		s.job(j)
	}
	for i := range v.Partial {
		p := &v.Partial[i]
		known[p.Spec.Name] = p.Spec.Workers > 0
		s.partial(p)
	}
	for _, w := range v.Waiting {
		s.unknown(&w)
	}
	for _, r := range v.Refused { // a snapshot is also for schedulers that place what this one refuses
		g := d.objects(nil).Groups.Of(r.Pod)
		name := r.Pod.Namespace + "/" + r.Pod.Name
		if s.skip[name] = true; g.Name != "" && !known[g.Namespace+"/"+g.Name] {
			s.skip[g.Namespace+"/"+g.Name], s.skip[g.Namespace+"/"+g.Name+"/"+r.Pod.Name] = true, true
		}
	}
	for _, p := range d.pods {
		foreign := p.Spec.SchedulerName != config().Schedulers[0]
		if foreign { // they hold what they hold, but are no jobs of this scheduler
			g := d.objects(nil).Groups.Of(p)
			s.skip[g.Namespace+"/"+g.Name], s.skip[g.Namespace+"/"+g.Name+"/"+p.Name] = true, true
		}
		if foreign || p.DeletionTimestamp != nil {
			s.skip[p.Namespace+"/"+p.Name] = true
		}
	}
	slices.Sort(s.jobs)
	return s
}

func (s *seen) job(j *Job) {
	spec, on := j.Spec, map[string]int32{}
	for _, p := range j.Bound {
		on[p.Spec.NodeName] += j.PodGPUs
	}
	if j.Running || len(j.Bound) == 0 {
		s.jobs = append(s.jobs, line(&spec, j.Running, on))
	}
	if j.Running && (j.PodGPUs > 1 || j.Group.Open) {
		for _, p := range j.Free {
			s.rest(j, []*corev1.Pod{p})
		}
	}
}

// rest adds the job of pods by which a gang may grow, or that it lacks, as the scheduler names it.
func (s *seen) rest(j *Job, free []*corev1.Pod) {
	spec := j.Spec
	spec.Name += "/" + free[0].Name
	spec.Workers, spec.MinWorkers, spec.MaxWorkers = int32(len(free))*j.PodGPUs, 0, 0
	spec.Submit = since(free)
	s.jobs = append(s.jobs, line(&spec, false, map[string]int32{}))
}

// since returns when the last of some pods was created.
func since(own []*corev1.Pod) (at time.Duration) {
	for _, p := range own {
		at = max(at, p.CreationTimestamp.Sub(epoch))
	}
	return at
}

// partial adds the pods that hold GPUs of a gang that cannot run, and those that it lacks.
func (s *seen) partial(p *Partial) {
	if p.Spec.Workers == 0 { // it is refused
		s.skip[p.Spec.Name] = true
		return
	}
	spec, on, first := p.Spec, map[string]int32{}, p.Bound[0].CreationTimestamp.Time
	for _, b := range p.Bound {
		on[b.Spec.NodeName] += p.PodGPUs
		if b.CreationTimestamp.Time.Before(first) {
			first = b.CreationTimestamp.Time
		}
	}
	spec.Workers, spec.MinWorkers, spec.MaxWorkers, spec.Submit = int32(len(p.Bound))*p.PodGPUs, 0, 0, first.Sub(epoch)
	s.jobs = append(s.jobs, line(&spec, true, on))
	if int(p.Lacks) <= len(p.Free) {
		s.rest(&p.Job, p.Free[:p.Lacks])
	}
}

// unknown leaves out the gangs whose size nobody knows: the scheduler lets them wait, and the snapshot takes all their pods.
func (s *seen) unknown(w *Incomplete) {
	if !strings.Contains(w.Why, " want ") {
		return
	}
	name := w.Group.Namespace + "/" + w.Group.Name
	s.skip[name] = true
	for _, p := range w.Pods {
		s.skip[name+"/"+p.Name] = true
	}
}

// owner returns the object that controls pods.
func (d *drawn) owner(namespace, kind, name string) []metav1.OwnerReference {
	yes := true
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion("example.com/v1")
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetUID(pointer(namespace + kind + name))
	d.owners = append(d.owners, u)
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: u.GetUID(), Controller: &yes}}
}
