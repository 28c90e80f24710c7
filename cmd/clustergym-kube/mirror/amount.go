package mirror

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
)

// amount is an amount of GPUs, CPU and memory that pods use or a node has.
type amount struct {
	gpus, cpuMilli, memBytes int64
}

func (a *amount) add(b amount) {
	a.gpus, a.cpuMilli, a.memBytes = sum(a.gpus, b.gpus), sum(a.cpuMilli, b.cpuMilli), sum(a.memBytes, b.memBytes)
}

// sum returns a + b for numbers from 0, or the largest int64 if the sum overflows.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

const mib = 1 << 20

// Upper limits of quantities; clamp cuts larger ones.
const (
	mostCores = 1 << 40
	mostBytes = 1 << 60
	mostUnits = 1 << 40 // of resources counted in units, such as GPUs
	mostMiB   = 1 << 25 // for each GPU, so that no sum over a node overflows
	mostMilli = math.MaxInt32
)

// clamp returns the quantity, rounded up, limited to the range from 0 to most.
func clamp(q resource.Quantity, most int64) int64 {
	switch {
	case q.Sign() <= 0:
		return 0
	case q.CmpInt64(most) >= 0:
		return most
	}
	return q.Value()
}

func clampMilli(q resource.Quantity, most int64) int64 {
	switch {
	case q.Sign() <= 0:
		return 0
	case q.CmpInt64(most) >= 0:
		return most * 1000
	}
	return q.MilliValue()
}

func (c *Config) amountOf(list corev1.ResourceList) amount {
	return amount{
		gpus:     clamp(list[c.GPU], mostUnits),
		cpuMilli: clampMilli(list[corev1.ResourceCPU], mostCores),
		memBytes: clamp(list[corev1.ResourceMemory], mostBytes),
	}
}

// requests returns what a pod requests. The API server sets requests that are not stated to the limits.
func requests(pod *corev1.Pod) corev1.ResourceList {
	return podresource.PodRequests(pod, podresource.PodResourcesOptions{})
}

// holding returns the resources that a pod on a node uses: those it requests, or those it was granted before its request was
// lowered.
func (c *Config) holding(pod *corev1.Pod) amount {
	return c.amountOf(podresource.PodRequests(pod, podresource.PodResourcesOptions{UseStatusResources: true}))
}
