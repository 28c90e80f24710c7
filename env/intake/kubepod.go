package intake

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

const poolLabel = "clustergym.dev/pool" // on nodes

// isPodLabel reports whether the label of a pod, or of what owns it, counts.
func isPodLabel(key string) bool {
	return pods.Reads(key) || slices.ContainsFunc(workloadLabels, func(l workloadLabel) bool { return l.key == key })
}

// pod is a pod that has not failed.
type pod struct {
	meta      `kube:"metadata"`
	podSpec   `kube:"spec"`
	podStatus `kube:"status"`
	amounts
	fraction pods.Fraction // zero if it asks for whole GPUs
}

type podSpec struct {
	Node     string      `kube:"nodeName,name"` // "" if it waits
	Run      []container `kube:"containers"`
	Init     []container `kube:"initContainers"`
	Overhead amounts     `kube:"overhead,amounts"`
	Whole    resources   `kube:"resources"`
	Gated    bool        `kube:"schedulingGates,some"`
	Claims   bool        `kube:"resourceClaims,some"` // it asks for devices by resource claims
	Group    podGroupRef `kube:"schedulingGroup"`     // its PodGroup of Kubernetes itself
	Priority int64       `kube:"priority,least32..most32"`
	Class    string      `kube:"priorityClassName,name"` // of its priority

	constraints
}

type podGroupRef struct {
	Name string `kube:"podGroupName,name"`
}

type podStatus struct {
	Phase   string    `kube:"phase,name"`
	Started time.Time `kube:"startTime,moment"`
}

// container is what a container requests. One that starts before the others runs as long as the pod if its restart policy is
// Always.
type container struct {
	Resources resources `kube:"resources"`
	Restart   string    `kube:"restartPolicy,name"`
	Ports     []port    `kube:"ports"`
}

type port struct {
	Host int `kube:"hostPort,0..65536"`
}

type resources struct {
	Requests amounts `kube:"requests,amounts"`
	Limits   amounts `kube:"limits,amounts"`
}

// readPod reads a pod.
func readPod(r *strictjson.Reader) *pod {
	p := &pod{}
	if r.Struct(p); p.Name == "" {
		r.Bad("metadata.name", `""`, "the name of the pod")
	}
	p.settle()
	return p
}

// settle sums up what the containers of a pod request, and forgets them.
func (p *pod) settle() {
	var run, sidecars, peak amounts
	for _, c := range p.Run {
		run.add(c.Resources.stated())
	}
	for _, c := range p.Init {
		if a := c.Resources.stated(); c.Restart == "Always" {
			sidecars.add(a)
			peak.atLeast(sidecars)
		} else {
			a.add(sidecars)
			peak.atLeast(a)
		}
	}
	run.add(sidecars)
	run.atLeast(peak)
	run.wholly(p.Whole.Requests, p.Whole.Limits)
	run.add(p.Overhead)
	p.amounts = run
	p.constraints.settle(slices.Concat(p.Run, p.Init))
	p.Run, p.Init, p.Overhead, p.Whole = nil, nil, amounts{}, resources{}
}

// stated returns the requests of a container, or its limits where it does not state them.
func (s *resources) stated() amounts {
	a := s.Requests
	a.orElse(s.Limits)
	return a
}
