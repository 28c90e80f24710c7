package mirror

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
)

// Reasons of a Refusal.
const (
	reasonNoGPU          = "NoGPU"
	reasonRequest        = "InvalidRequest"
	reasonResource       = "UnsupportedResource"
	reasonPodAffinity    = "UnsupportedPodAffinity"
	reasonTopologySpread = "UnsupportedTopologySpread"
	reasonResourceClaims = "UnsupportedResourceClaims"
	reasonHostPort       = "UnsupportedHostPort"
	reasonVolume         = "UnsupportedVolume"
	reasonTooLong        = "TooLong"
	reasonClaim          = "ClaimNotBound"
	reasonPodsDiffer     = "PodsDiffer"
	reasonAnnotation     = "InvalidAnnotation"
	reasonJob            = "InvalidJob"
	reasonOvercommitted  = "Overcommitted"
)

// fault is the reason why a pod is refused.
type fault struct{ reason, message string }

func faultf(reason, format string, args ...any) *fault {
	return &fault{reason, fmt.Sprintf(format, args...)}
}

// ask is what all pods of a gang must have in common.
type ask struct {
	gpus     int32
	request  cluster.Amount // per GPU
	priority int32
	nodes    string // the node constraints as text: equal texts allow the same nodes
}

// askOf reads the pod's requests and constraints. It returns a fault if the pod needs something that is not supported.
func (c *Config) askOf(pod *corev1.Pod) (ask, *fault) {
	if f := unsupported(pod); f != nil {
		return ask{}, f
	}
	list := c.original(pod, requests(pod))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		switch {
		case q.Sign() < 0:
			return ask{}, faultf(reasonRequest, "request of %s is %s, want 0 or more", name, q.String())
		case name != c.GPU && name != corev1.ResourceCPU && name != corev1.ResourceMemory && !q.IsZero():
			return ask{}, faultf(reasonResource, "request of %s is %s, want none: only cpu, memory and %s are supported",
				name, q.String(), c.GPU)
		}
	}
	gpus := list[c.GPU]
	_, part := pods.FractionOf(gang.Neutral(pod))
	switch {
	case gpus.IsZero() && part:
		return ask{}, faultf(reasonResource, "annotations of KAI Scheduler ask for a part of a GPU, want whole GPUs: a request of %s",
			c.GPU)
	case gpus.IsZero():
		return ask{}, faultf(reasonNoGPU, "request of %s is 0, want at least 1", c.GPU)
	case gpus.CmpInt64(cluster.MaxGPUs) > 0 || gpus.MilliValue()%1000 != 0:
		return ask{}, faultf(reasonRequest, "request of %s is %s, want a whole number from 1 to %d",
			c.GPU, gpus.String(), cluster.MaxGPUs)
	}
	all := c.amountOf(list)
	cpu, mem := up(all.cpuMilli, all.gpus), up(all.memBytes, all.gpus*mib)
	if cpu > mostMilli || mem > mostMiB {
		return ask{}, faultf(reasonRequest,
			"requests for each GPU are %d thousandths of a core and %d MiB, want at most %d and %d", cpu, mem, mostMilli, mostMiB)
	}
	return ask{
		gpus:     int32(all.gpus),
		request:  cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: int32(cpu), MemMiB: int32(mem)},
		priority: schedulinghelpers.PodPriority(pod),
		nodes:    constraint(pod),
	}, nil
}

// up returns a/b, rounded up.
func up(a, b int64) int64 { return a/b + min(a%b, 1) }

// unsupported returns a fault if the pod has a scheduling constraint that this scheduler does not support.
func unsupported(pod *corev1.Pod) *fault {
	if a := pod.Spec.Affinity; a != nil {
		if p := a.PodAffinity; p != nil && len(p.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			return faultf(reasonPodAffinity,
				"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution has %d terms, want none",
				len(p.RequiredDuringSchedulingIgnoredDuringExecution))
		}
		if p := a.PodAntiAffinity; p != nil && len(p.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			return faultf(reasonPodAffinity,
				"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution has %d terms, want none",
				len(p.RequiredDuringSchedulingIgnoredDuringExecution))
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		if t := &pod.Spec.TopologySpreadConstraints[i]; t.WhenUnsatisfiable != corev1.ScheduleAnyway {
			return faultf(reasonTopologySpread, "spec.topologySpreadConstraints[%d].whenUnsatisfiable is %s, want %s",
				i, t.WhenUnsatisfiable, corev1.ScheduleAnyway)
		}
	}
	if f := tooLong(pod); f != nil {
		return f
	}
	if n := len(pod.Spec.ResourceClaims); n > 0 {
		return faultf(reasonResourceClaims, "spec.resourceClaims has %d entries, want none", n)
	}
	if f := hostPorts("containers", pod.Spec.Containers); f != nil {
		return f
	}
	return hostPorts("initContainers", pod.Spec.InitContainers)
}

// mostConstraints is the limit for each list of a pod that has to be checked against every node. Real pods are far below it, and
// it keeps the time to read a thousand such pods to seconds.
const mostConstraints = 64

// tooLong returns a fault if a list of the pod has more than mostConstraints entries.
func tooLong(pod *corev1.Pod) *fault {
	if n := len(pod.Spec.Tolerations); n > mostConstraints {
		return faultf(reasonTooLong, "spec.tolerations has %d entries, want at most %d", n, mostConstraints)
	}
	if n := len(pod.Spec.NodeSelector); n > mostConstraints {
		return faultf(reasonTooLong, "spec.nodeSelector has %d entries, want at most %d", n, mostConstraints)
	}
	n := 0
	if required := requiredAffinity(pod); required != nil {
		for i := range required.NodeSelectorTerms {
			term := &required.NodeSelectorTerms[i]
			n += max(len(term.MatchExpressions)+len(term.MatchFields), 1) // an empty term counts as one
		}
	}
	if n > mostConstraints {
		return faultf(reasonTooLong,
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution has %d expressions, want at most %d",
			n, mostConstraints)
	}
	return nil
}

func hostPorts(field string, containers []corev1.Container) *fault {
	for i := range containers {
		for j := range containers[i].Ports {
			if p := containers[i].Ports[j].HostPort; p != 0 {
				return faultf(reasonHostPort, "spec.%s[%d].ports[%d].hostPort is %d, want none", field, i, j, p)
			}
		}
	}
	return nil
}

// constraint returns as text what decides, apart from volumes, which nodes the pod may use.
func constraint(pod *corev1.Pod) string {
	spec := struct {
		Selector    map[string]string    `json:",omitempty"`
		Affinity    *corev1.NodeSelector `json:",omitempty"`
		Tolerations []corev1.Toleration  `json:",omitempty"`
	}{pod.Spec.NodeSelector, requiredAffinity(pod), pod.Spec.Tolerations}
	if len(spec.Selector) == 0 && spec.Affinity == nil && len(spec.Tolerations) == 0 {
		return ""
	}
	text, err := json.Marshal(&spec)
	if err != nil { // cannot happen: the value contains only strings and whole numbers
		panic("mirror: " + err.Error())
	}
	return string(text)
}

func requiredAffinity(pod *corev1.Pod) *corev1.NodeSelector {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// differs returns the fields in which two pods of a gang differ, or "" if they do not.
func (a *ask) differs(b *ask) string {
	var fields []string
	add := func(differ bool, format string, args ...any) {
		if differ {
			fields = append(fields, fmt.Sprintf(format, args...))
		}
	}
	add(a.gpus != b.gpus, "GPUs (%d and %d)", a.gpus, b.gpus)
	add(a.request.CPUMilli != b.request.CPUMilli, "CPU for each GPU (%dm and %dm)", a.request.CPUMilli, b.request.CPUMilli)
	add(a.request.MemMiB != b.request.MemMiB, "memory for each GPU (%dMi and %dMi)", a.request.MemMiB, b.request.MemMiB)
	add(a.priority != b.priority, "spec.priority (%d and %d)", a.priority, b.priority)
	add(a.nodes != b.nodes, "spec.nodeSelector, required node affinity or spec.tolerations")
	return strings.Join(fields, ", ")
}

// volumes returns the names of the pod's volumes that only some nodes can reach, or a fault if a volume is not supported.
func (o *Objects) volumes(pod *corev1.Pod) (names []string, f *fault) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Ephemeral != nil {
			return nil, faultf(reasonVolume, "spec.volumes[%d] (%s) is an ephemeral volume, want none", i, v.Name)
		}
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim := v.PersistentVolumeClaim.ClaimName
		volume, why := o.volume(pod.Namespace, claim)
		switch {
		case why != "":
			return nil, faultf(reasonClaim, "spec.volumes[%d].persistentVolumeClaim.claimName is %q, %s, want one bound to a volume",
				i, claim, why)
		case volume.Spec.NodeAffinity != nil && volume.Spec.NodeAffinity.Required != nil:
			names = append(names, volume.Name)
		}
	}
	return names, nil
}

// volume returns the volume to which a claim is bound, or a text that says what is wrong with the claim.
func (o *Objects) volume(namespace, name string) (*corev1.PersistentVolume, string) {
	if o.Claim == nil || o.Volume == nil {
		return nil, "which is not known"
	}
	claim := o.Claim(namespace, name)
	switch {
	case claim == nil:
		return nil, "which is not known"
	case claim.Spec.VolumeName == "" || claim.Status.Phase != corev1.ClaimBound:
		return nil, fmt.Sprintf("which is in phase %q with volume %q", claim.Status.Phase, claim.Spec.VolumeName)
	}
	volume := o.Volume(claim.Spec.VolumeName)
	if volume == nil {
		return nil, fmt.Sprintf("whose volume %q is not known", claim.Spec.VolumeName)
	}
	return volume, ""
}
