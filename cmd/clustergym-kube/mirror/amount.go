package mirror

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
)

// amount is what pods hold, or a node has.
type amount struct {
	gpus, cpuMilli, memBytes int64
}

func (a *amount) add(b amount) {
	a.gpus, a.cpuMilli, a.memBytes = sum(a.gpus, b.gpus), sum(a.cpuMilli, b.cpuMilli), sum(a.memBytes, b.memBytes)
}

// sum adds what is not negative, and stays at the largest number there is.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

const mib = 1 << 20

// Bounds of a quantity that means something.
const (
	mostCores = 1 << 40
	mostBytes = 1 << 60
	mostUnits = 1 << 40 // of what is counted
	mostMiB   = 1 << 25 // for each GPU: no sum over a node overflows then
)

// clamp returns the quantity, rounded up, within 0 and most.
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

// holding is what a pod on a node holds: what it asks for, or what it was given before that was lowered.
func (c *Config) holding(pod *corev1.Pod) amount {
	return c.amountOf(podresource.PodRequests(pod, podresource.PodResourcesOptions{UseStatusResources: true}))
}
