package kubetest

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/pods"
)

// GPU is the resource name of GPUs on the pods and nodes of this package.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// AddNodes adds n nodes named gpu-000, gpu-001, ... with 8 GPUs, 96 CPUs, 768 GiB and room for 110 pods each. A further call
// continues the numbering. If edit is not nil, AddNodes calls it with each node before it creates the node. If KWOK runs,
// AddNodes waits until the nodes are ready. It returns the nodes in their last state.
func (c *Cluster) AddNodes(n int, edit func(i int, node *corev1.Node)) []*corev1.Node {
	c.tb.Helper()
	nodes := make([]*corev1.Node, n)
	for i := range nodes {
		name := fmt.Sprintf("gpu-%03d", c.nodes)
		has := corev1.ResourceList{
			GPU:                   resource.MustParse("8"),
			corev1.ResourceCPU:    resource.MustParse("96"),
			corev1.ResourceMemory: resource.MustParse("768Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
			Status:     corev1.NodeStatus{Capacity: has, Allocatable: has.DeepCopy()},
		}
		if edit != nil {
			edit(i, node)
		}
		made, err := c.Client.CoreV1().Nodes().Create(c.tb.Context(), node, metav1.CreateOptions{})
		if err != nil {
			c.tb.Fatalf("kubetest: add node %s: %v", node.Name, err)
		}
		nodes[i] = made
		c.nodes++
	}
	if c.kwok {
		for i, node := range nodes {
			c.Await("node "+node.Name, func(ctx context.Context) (err error) {
				if nodes[i], err = c.Client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{}); err == nil && !mirror.Ready(nodes[i]) {
					err = fmt.Errorf("it is not ready")
				}
				return err
			})
		}
	}
	return nodes
}

// Pod returns a pod for the scheduler clustergym that requests the given number of GPUs, with one CPU and one GiB for each. The
// caller may change the pod and then creates it.
func Pod(namespace, name string, gpus int) *corev1.Pod {
	wants := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(max(gpus, 1)), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(max(gpus, 1))<<30, resource.BinarySI),
	}
	if gpus > 0 {
		wants[GPU] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			SchedulerName: "clustergym",
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "train", Image: "train", Resources: corev1.ResourceRequirements{Requests: wants, Limits: wants.DeepCopy()},
			}},
		},
	}
}

// API is the Kubernetes API that defines a gang.
type API int

// A Native gang has a PodGroup of scheduling.k8s.io/v1alpha2 and needs Options.NativeGroups. A Coscheduling gang has a PodGroup
// of scheduling.x-k8s.io/v1alpha1 and needs ApplyCRD. A Labelled gang has no object, only a label and an annotation.
const (
	Native API = iota
	Coscheduling
	Labelled
)

// gangLabel is on all pods of a Gang.
const gangLabel = "kubetest/gang"

// Gang describes a group of pods that GangPods creates.
type Gang struct {
	API         API
	Namespace   string // "default" if empty
	Name        string // of the group; its pods are named NAME-0, NAME-1, ...
	Pods        int
	GPUs        int                          // of each pod
	MinCount    int                          // how many pods must run together; all if 0
	Scheduler   string                       // "clustergym" if empty
	Annotations map[string]string            // of the group and its pods
	Edit        func(i int, pod *corev1.Pod) // may change each pod before it is created; may be nil
}

// Selector selects the gang's pods.
func (g Gang) Selector() string { return gangLabel + "=" + g.Name }

// GangPods creates the gang's group and then its pods one after the other. It returns the pods as created.
func (c *Cluster) GangPods(g Gang) []*corev1.Pod {
	c.tb.Helper()
	if g.Namespace == "" {
		g.Namespace = metav1.NamespaceDefault
	}
	if g.MinCount == 0 {
		g.MinCount = g.Pods
	}
	if err := c.makeGroup(g); err != nil {
		c.tb.Fatalf("kubetest: make group %s/%s: %v", g.Namespace, g.Name, err)
	}
	made := make([]*corev1.Pod, g.Pods)
	for i := range made {
		pod := Pod(g.Namespace, fmt.Sprintf("%s-%d", g.Name, i), g.GPUs)
		pod.Labels = map[string]string{gangLabel: g.Name}
		pod.Annotations = maps.Clone(g.Annotations)
		switch g.API {
		case Native:
			pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &g.Name}
		case Labelled:
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, pods.MinMemberNote, fmt.Sprint(g.MinCount))
			fallthrough
		case Coscheduling:
			pod.Labels[pods.GroupLabel] = g.Name
		}
		if g.Scheduler != "" {
			pod.Spec.SchedulerName = g.Scheduler
		}
		if g.Edit != nil {
			g.Edit(i, pod)
		}
		var err error
		if made[i], err = c.Client.CoreV1().Pods(g.Namespace).Create(c.tb.Context(), pod, metav1.CreateOptions{}); err != nil {
			c.tb.Fatalf("kubetest: make pod %s/%s: %v", g.Namespace, pod.Name, err)
		}
	}
	return made
}

func (c *Cluster) makeGroup(g Gang) error {
	ctx, meta := c.tb.Context(), metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name, Annotations: g.Annotations}
	switch g.API {
	case Native:
		_, err := c.Client.SchedulingV1alpha2().PodGroups(g.Namespace).Create(ctx, &schedulingv1alpha2.PodGroup{
			ObjectMeta: meta,
			Spec: schedulingv1alpha2.PodGroupSpec{SchedulingPolicy: schedulingv1alpha2.PodGroupSchedulingPolicy{
				Gang: &schedulingv1alpha2.GangSchedulingPolicy{MinCount: int32(g.MinCount)},
			}},
		}, metav1.CreateOptions{})
		return err
	case Coscheduling:
		client, err := dynamic.NewForConfig(c.Config)
		if err != nil {
			return err
		}
		group := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "scheduling.x-k8s.io/v1alpha1",
			"kind":       "PodGroup",
			"metadata":   map[string]any{"name": g.Name},
			"spec":       map[string]any{"minMember": int64(g.MinCount)},
		}}
		group.SetAnnotations(g.Annotations)
		groups := schema.GroupVersionResource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "podgroups"}
		_, err = client.Resource(groups).Namespace(g.Namespace).Create(ctx, group, metav1.CreateOptions{})
		return err
	}
	return nil
}

// AwaitPods waits until the function hold returns true for exactly n of the pods that a label selector selects in a namespace. It
// returns all selected pods, sorted by name. The parameter what describes the awaited state in the message of a failure.
func (c *Cluster) AwaitPods(namespace, selector string, n int, what string, hold func(*corev1.Pod) bool) []corev1.Pod {
	c.tb.Helper()
	var pods []corev1.Pod
	c.Await(fmt.Sprintf("%d pods of %s %s", n, selector, what), func(ctx context.Context) error {
		list, err := c.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		pods = list.Items
		have := 0
		for i := range pods {
			if hold(&pods[i]) {
				have++
			}
		}
		if have != n {
			return fmt.Errorf("%d of %d pods are", have, len(pods))
		}
		return nil
	})
	return pods
}

// Running reports whether a pod is running. It is for AwaitPods.
func Running(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }

// Succeeded reports whether a pod has succeeded. It is for AwaitPods.
func Succeeded(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded }
