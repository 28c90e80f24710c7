package mirror

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
)

// RequestedAnnotation is the annotation of a pod with the CPU and memory that it requested before this program changed them, as a
// JSON object of the pod's totals, such as {"cpu":"8","memory":"64Gi"}. It also has the limits of the container with the GPUs, as
// limits.cpu and limits.memory, where they were above the container's requests.
const RequestedAnnotation = "clustergym.dev/requested"

// Requested returns the value of RequestedAnnotation for a pod that has not been resized yet.
func (c *Config) Requested(pod *corev1.Pod) string {
	list, said := requests(pod), map[corev1.ResourceName]string{}
	for _, name := range changing {
		said[name] = quantity(list, name)
		if at := c.gpuContainer(pod); at >= 0 {
			of := &pod.Spec.Containers[at].Resources
			if limit, limited := of.Limits[name]; limited && limit.Cmp(of.Requests[name]) > 0 {
				said[limitOf(name)] = limit.String()
			}
		}
	}
	text, err := json.Marshal(said)
	if err != nil { // cannot happen: a map of texts
		panic("mirror: " + err.Error())
	}
	return string(text)
}

// changing are the resources that a resize can change.
var changing = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// limitOf returns the key of a resource's limit, as quotas name it.
func limitOf(name corev1.ResourceName) corev1.ResourceName { return "limits." + name }

func quantity(list corev1.ResourceList, name corev1.ResourceName) string {
	q := list[name]
	return q.String()
}

// noted returns what the annotation of a pod says, or nil.
func noted(pod *corev1.Pod) (said map[corev1.ResourceName]string) {
	text := pod.Annotations[RequestedAnnotation]
	if len(text) > names.Longest || json.Unmarshal([]byte(text), &said) != nil {
		return nil
	}
	return said
}

// original returns the requests of a pod before this program changed them. Whoever may write pods can write the annotation, so
// it counts only if the pod can be given what it says: otherwise the pod would be placed as smaller than it is. An annotation
// that is not valid counts as none.
func (c *Config) original(pod *corev1.Pod, list corev1.ResourceList) corev1.ResourceList {
	said := noted(pod)
	if said == nil || !c.resizable(pod) {
		return list
	}
	out := list.DeepCopy()
	for _, name := range changing {
		q, err := resource.ParseQuantity(said[name])
		if err != nil || q.Sign() < 0 {
			return list
		}
		others, changes := c.others(pod, list, name)
		switch {
		case changes && q.Cmp(others) <= 0:
			return list
		case changes:
			out[name] = q
		}
	}
	return out
}

// others returns how much of a resource the containers of a resizable pod request that have no GPUs; list is what the whole pod
// requests. The bool changes reports whether a resize can change the resource: the container with the GPUs requests some.
func (c *Config) others(pod *corev1.Pod, list corev1.ResourceList, name corev1.ResourceName) (q resource.Quantity, changes bool) {
	own := pod.Spec.Containers[c.gpuContainer(pod)].Resources.Requests[name]
	q = list[name].DeepCopy()
	q.Sub(own)
	return q, own.Sign() > 0
}

// least returns the least CPU and memory for each GPU that a pod which requests an amount first can be given: what its other
// containers request stays.
func (c *Config) least(pod *corev1.Pod, first cluster.Amount) cluster.Amount {
	if !c.resizable(pod) {
		return first
	}
	list := requests(pod)
	gpus := max(c.amountOf(list).gpus, 1)
	if q, changes := c.others(pod, list, corev1.ResourceCPU); changes {
		first.CPUMilli = min(first.CPUMilli, int32(min(clampMilli(q, mostCores)/gpus+1, mostMilli)))
	}
	if q, changes := c.others(pod, list, corev1.ResourceMemory); changes {
		first.MemMiB = min(first.MemMiB, int32(min(clamp(q, mostBytes)/(gpus*mib)+1, mostMiB)))
	}
	return first
}

// Held returns what a pod requests now for each of its GPUs.
func (c *Config) Held(pod *corev1.Pod) cluster.Amount {
	return c.perGPU(c.amountOf(requests(pod)))
}

// perGPU returns the part of each GPU in an amount, rounded up and limited to what a State can contain.
func (c *Config) perGPU(a amount) cluster.Amount {
	n := max(a.gpus, 1)
	return cluster.Amount{
		GPUMilli: cluster.WholeGPU, CPUMilli: int32(min(up(a.cpuMilli, n), mostMilli)),
		MemMiB: int32(min(up(a.memBytes, n*mib), mostMiB)),
	}
}

// resizable reports whether the CPU and memory of a pod can change in place. One container must have all its GPUs, and nothing
// but its containers may add to its requests; a container that a change restarts would lose its work.
func (c *Config) resizable(pod *corev1.Pod) bool {
	at, spec := c.gpuContainer(pod), &pod.Spec
	return at >= 0 && len(spec.InitContainers) == 0 && len(spec.Overhead) == 0 && spec.Resources == nil &&
		(spec.OS == nil || spec.OS.Name != corev1.Windows) &&
		!slices.ContainsFunc(spec.Containers[at].ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
			return p.RestartPolicy == corev1.RestartContainer
		})
}

// gpuContainer returns the index of the container of a pod that has its GPUs, or -1 if there is not exactly one.
func (c *Config) gpuContainer(pod *corev1.Pod) int {
	found := -1
	for i := range pod.Spec.Containers {
		if q := pod.Spec.Containers[i].Resources.Requests[c.GPU]; !q.IsZero() {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// resizing reports whether the kubelet has not yet given a pod the CPU and memory that it requests now.
func resizing(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.Resources == nil || s.State.Running == nil {
			continue
		}
		for j := range pod.Spec.Containers {
			c := &pod.Spec.Containers[j]
			if c.Name != s.Name {
				continue
			}
			for _, name := range changing {
				want, wants := c.Resources.Requests[name]
				if has, said := s.Resources.Requests[name]; wants && said && want.Cmp(has) != 0 {
					return true
				}
			}
		}
	}
	return false
}

// deferredLong is how long a kubelet may wait for room before a resize counts as one that it cannot carry out.
const deferredLong = 5 * time.Minute

// stuck reports whether this program has resized a pod and its kubelet cannot carry that out: its node never can, or has had
// no room for the time deferredLong.
func (b *builder) stuck(pod *corev1.Pod) bool {
	return noted(pod) != nil && resizing(pod) && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending && c.Status == corev1.ConditionTrue && (c.Reason == corev1.PodReasonInfeasible ||
			c.Reason == corev1.PodReasonDeferred && b.now.Sub(c.LastTransitionTime.Time) >= deferredLong)
	})
}

// Granted returns what the kubelet has given to a pod for each of its GPUs, which may differ from what the pod requests now.
func (c *Config) Granted(pod *corev1.Pod) cluster.Amount {
	pod = pod.DeepCopy()
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		for j := range pod.Spec.Containers {
			if of := &pod.Spec.Containers[j]; of.Name == s.Name && s.Resources != nil {
				for _, name := range changing {
					_, wants := of.Resources.Requests[name]
					if has, said := s.Resources.Requests[name]; wants && said {
						of.Resources.Requests[name] = has
					}
				}
			}
		}
	}
	return c.Held(pod)
}

// Resized returns the container of a pod that has its GPUs, and the requests and limits of CPU and memory with which the pod
// holds an amount for each of its GPUs; ok is false if it holds that already, or cannot be resized. What other containers
// request stays. See resizedLimit for the limits.
func (c *Config) Resized(pod *corev1.Pod, want cluster.Amount) (container string, r corev1.ResourceRequirements, ok bool) {
	has := requests(pod)
	all := c.amountOf(has)
	held := c.perGPU(all)
	if held.CPUMilli == want.CPUMilli && held.MemMiB == want.MemMiB || !c.resizable(pod) {
		return "", r, false
	}
	asked := c.original(pod, has)
	first, gpus := c.perGPU(c.amountOf(asked)), all.gpus
	of := &pod.Spec.Containers[c.gpuContainer(pod)]
	r = corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	set := func(name corev1.ResourceName, total resource.Quantity) {
		old := of.Resources.Requests[name]
		others, changes := c.others(pod, has, name)
		q := total.DeepCopy()
		if q.Sub(others); !changes || q.Sign() <= 0 {
			return // other containers alone have as much
		}
		r.Requests[name] = q
		if limit, limited := of.Resources.Limits[name]; limited {
			r.Limits[name] = resizedLimit(pod, name, old, limit, q)
		}
	}
	cpu, mem := asked[corev1.ResourceCPU], asked[corev1.ResourceMemory]
	if want.CPUMilli != first.CPUMilli {
		cpu = *resource.NewMilliQuantity(int64(want.CPUMilli)*gpus, resource.DecimalSI)
	}
	if want.MemMiB != first.MemMiB {
		mem = *resource.NewQuantity(int64(want.MemMiB)*gpus*mib, resource.BinarySI)
	}
	set(corev1.ResourceCPU, cpu)
	set(corev1.ResourceMemory, mem)
	return of.Name, r, len(r.Requests) > 0
}

// resizedLimit returns the limit of a resource for a container that requests q after a resize, and requested old with a limit
// before. A limit that the pod's owner has set above the request stays, or is just above q if q reaches it, and one that
// equals the request keeps doing so. So the pod's quality-of-service class, which cannot change, stays the same.
func resizedLimit(pod *corev1.Pod, name corev1.ResourceName, old, limit, q resource.Quantity) resource.Quantity {
	if own, err := resource.ParseQuantity(noted(pod)[limitOf(name)]); err == nil {
		limit = own
	} else if limit.Cmp(old) == 0 {
		return q
	}
	if limit.Cmp(q) > 0 {
		return limit
	}
	step := resource.MustParse("1m")
	if name == corev1.ResourceMemory {
		step = resource.MustParse("1Mi")
	}
	q = q.DeepCopy()
	q.Add(step)
	return q
}
