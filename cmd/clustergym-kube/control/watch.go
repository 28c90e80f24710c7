package control

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/pods"
)

// watch contains the API server's objects as far as the informers have received them.
type watch struct {
	nodes   corelisters.NodeLister
	pods    corelisters.PodLister
	quotas  corelisters.ResourceQuotaLister
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	control corelisters.ConfigMapNamespaceLister
	groups  gang.Groups
	changed chan struct{} // has capacity 1
	synced  []cache.InformerSynced
	start   func(stop <-chan struct{})
}

// newWatch prepares informers for everything that a round reads. It asks the server once which APIs for pod groups it has.
func newWatch(c *Config) (*watch, error) {
	apis, err := gang.Discover(c.Client.Discovery())
	if err != nil {
		return nil, err
	}
	all := informers.NewSharedInformerFactoryWithOptions(c.Client, 0, informers.WithTransform(bare))
	own := informers.NewSharedInformerFactoryWithOptions(c.Client, 0, informers.WithNamespace(c.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", ControlName).String()
		}))
	core, maps := all.Core().V1(), own.Core().V1().ConfigMaps()
	w := &watch{
		nodes: core.Nodes().Lister(), pods: core.Pods().Lister(), quotas: core.ResourceQuotas().Lister(),
		claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		control: maps.Lister().ConfigMaps(c.Namespace), changed: make(chan struct{}, 1),
	}
	watched := []cache.SharedIndexInformer{
		core.Nodes().Informer(), core.Pods().Informer(), core.ResourceQuotas().Informer(), core.PersistentVolumeClaims().Informer(),
		core.PersistentVolumes().Informer(), maps.Informer(),
	}
	if slices.Contains(apis, pods.Native) {
		groups := all.Scheduling().V1alpha2().PodGroups()
		watched, w.groups.Native = append(watched, groups.Informer()), groups.Lister()
	}
	w.start = func(stop <-chan struct{}) { all.Start(stop); own.Start(stop) }
	w.groups.Defined = map[string]func(namespace, name string) *unstructured.Unstructured{}
	for _, version := range apis {
		if version != pods.Native {
			watched = append(watched, w.watchGroups(c.Dynamic, version))
		}
	}
	for _, informer := range watched {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { w.poke() }, UpdateFunc: w.update, DeleteFunc: func(any) { w.poke() },
		}); err != nil {
			return nil, fmt.Errorf("watch: %w", err)
		}
		w.synced = append(w.synced, informer.HasSynced)
	}
	c.Log.Info("watching", "group_apis", apis)
	return w, nil
}

// watchGroups prepares the informer for the PodGroups of a version that a CustomResourceDefinition defines.
func (w *watch) watchGroups(client dynamic.Interface, version string) cache.SharedIndexInformer {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	of, _ := schema.ParseGroupVersion(version) // a constant
	groups := factory.ForResource(of.WithResource("podgroups"))
	w.groups.Defined[version] = func(namespace, name string) *unstructured.Unstructured {
		object, err := groups.Lister().ByNamespace(namespace).Get(name)
		if err != nil {
			return nil // the lister's only error: there is no such group
		}
		return object.(*unstructured.Unstructured)
	}
	informer, before := groups.Informer(), w.start
	w.start = func(stop <-chan struct{}) { before(stop); factory.Start(stop) }
	return informer
}

// bare removes the managed fields, which are a large part of an object and which nobody reads.
func bare(object any) (any, error) {
	if m, err := meta.Accessor(object); err == nil {
		m.SetManagedFields(nil)
	}
	return object, nil
}

// sync starts the informers and returns when they have read everything once.
func (w *watch) sync(ctx context.Context) error {
	w.start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), w.synced...) {
		return fmt.Errorf("read the cluster: %w", context.Cause(ctx))
	}
	return nil
}

func (w *watch) poke() {
	select {
	case w.changed <- struct{}{}:
	default: // a round is due already
	}
}

// update requests a round, unless only a node's heartbeat or the throughput that a pod reports has changed. The next round reads
// such a report.
func (w *watch) update(was, is any) {
	switch a := was.(type) {
	case *corev1.Node:
		if b, ok := is.(*corev1.Node); ok && sameNode(a, b) {
			return
		}
	case *corev1.Pod:
		if b, ok := is.(*corev1.Pod); ok && onlyReports(a, b) {
			return
		}
	}
	w.poke()
}

// onlyReports reports whether two states of a pod differ in the throughput that it reports, and in nothing else that a round
// reads.
func onlyReports(a, b *corev1.Pod) bool {
	if a.Annotations[measure.Annotation] == b.Annotations[measure.Annotation] {
		return false
	}
	x, y := maps.Clone(a.Annotations), maps.Clone(b.Annotations)
	delete(x, measure.Annotation)
	delete(y, measure.Annotation)
	return maps.Equal(x, y) && a.UID == b.UID && maps.Equal(a.Labels, b.Labels) &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		equality.Semantic.DeepEqual(a.Spec, b.Spec) && equality.Semantic.DeepEqual(a.Status, b.Status)
}

// sameNode reports whether two states of a node differ in their heartbeats alone.
func sameNode(a, b *corev1.Node) bool {
	return maps.Equal(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Spec, b.Spec) && mirror.Ready(a) == mirror.Ready(b) &&
		equality.Semantic.DeepEqual(a.Status.Allocatable, b.Status.Allocatable) &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}

// objects returns what a round reads. Claim and Volume return nil after a lister's error, whose only meaning is that there is no
// such object.
func (w *watch) objects() (*mirror.Objects, error) {
	o := &mirror.Objects{
		Groups: w.groups,
		Claim: func(namespace, name string) *corev1.PersistentVolumeClaim {
			claim, _ := w.claims.PersistentVolumeClaims(namespace).Get(name)
			return claim
		},
		Volume: func(name string) *corev1.PersistentVolume {
			volume, _ := w.volumes.Get(name)
			return volume
		},
	}
	var err error
	if o.Nodes, err = w.nodes.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	if o.Pods, err = w.pods.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	if o.Quotas, err = w.quotas.List(labels.Everything()); err != nil {
		return nil, fmt.Errorf("list quotas: %w", err)
	}
	return o, nil
}
