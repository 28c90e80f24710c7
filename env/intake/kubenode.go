package intake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// node is a node of Kubernetes.
type node struct {
	meta       `kube:"metadata"`
	nodeSpec   `kube:"spec"`
	nodeStatus `kube:"status"`

	closed bool    // it takes no new pods
	others amounts // what pods without GPUs use
	held   int64   // GPUs that pods hold
	gpus   int64   // of its server
	id     cluster.ServerID
}

type nodeSpec struct {
	Unschedulable bool    `kube:"unschedulable"`
	Taints        []taint `kube:"taints"`
}

type nodeStatus struct {
	Has        amounts     `kube:"allocatable,amounts"`
	Whole      amounts     `kube:"capacity,amounts"`
	Conditions []condition `kube:"conditions"`
}

func readNode(r *strictjson.Reader) *node {
	n := &node{}
	if r.Struct(n); n.Name == "" {
		r.Bad("metadata.name", `""`, "the name of the node")
	}
	ready := slices.ContainsFunc(n.Conditions, func(c condition) bool { return c.Kind == "Ready" && c.Status == "True" })
	n.Conditions, n.closed = nil, n.Unschedulable || n.Deleting || !ready
	n.Taints = slices.DeleteFunc(n.Taints, func(t taint) bool {
		state := slices.Contains(passing, t.Key)
		n.closed = n.closed || state && t.Effect != "PreferNoSchedule"
		return state || t.Key == memoryPressure
	})
	return n
}

// passing are the keys of taints by which Kubernetes repeats a state of the node that will pass. As taints they would bar pods
// from the node even in the future. Only pods that request neither CPU nor memory are barred by memoryPressure.
var passing = []string{
	"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/unschedulable",
	"node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure", "node.kubernetes.io/network-unavailable",
	"node.kubernetes.io/out-of-service", "node.cloudprovider.kubernetes.io/uninitialized",
	"node.cloudprovider.kubernetes.io/shutdown",
}

const memoryPressure = "node.kubernetes.io/memory-pressure"

// mostMarks is the most different taints that mark nodes with GPUs.
const mostMarks = 16

// withGPUs returns the nodes that have or have had GPUs, in the order of their names, and numbers them as servers. A node has as
// many GPUs as its capacity says, or its pods hold.
func (k *kubeCluster) withGPUs() (nodes []*node, err error) {
	for _, name := range slices.Sorted(maps.Keys(k.nodes)) {
		n := k.nodes[name]
		if !n.Has.some && n.Whole.some {
			n.Has = n.Whole
			k.told.add("nodes that do not say what is allocatable: it is taken to be their capacity", name)
		}
		most := max(n.Has.gpus, n.Whole.gpus)
		if n.held > most {
			k.told.add("nodes whose pods hold more GPUs than are allocatable: they are taken to have as many as are held", name)
		}
		if n.gpus = max(n.held, most); n.gpus > cluster.MaxGPUs {
			return nil, fmt.Errorf("pods on node %s hold %d GPUs, want at most %d", name, n.gpus, cluster.MaxGPUs)
		}
		for _, t := range n.Taints {
			if t.Key == k.GPU && t.Effect != "PreferNoSchedule" && !slices.Contains(k.marks, t) && len(k.marks) < mostMarks {
				k.marks = append(k.marks, t)
			}
		}
		if n.gpus > 0 {
			n.id = cluster.ServerID(len(nodes))
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return nil, k.noServers()
	}
	kinds := map[string]bool{}
	for _, n := range nodes {
		kinds[n.Labels[k.TypeLabel]] = true
	}
	k.kinds = len(kinds)
	k.noteNodes(nodes)
	return nodes, nil
}

// servers returns the servers of the nodes.
func (k *kubeCluster) servers(nodes []*node) []server {
	racks := map[string]int32{}
	for _, n := range nodes {
		if rack := n.Labels[k.RackLabel]; rack != "" {
			racks[rack] = 0
		}
	}
	for i, rack := range slices.Sorted(maps.Keys(racks)) {
		racks[rack] = int32(i) + 1
	}
	servers := make([]server, len(nodes))
	for i, n := range nodes {
		v := &servers[i]
		v.Name, v.GPUs, v.closed, v.Rack = n.Name, int32(n.gpus), n.closed, racks[n.Labels[k.RackLabel]]
		v.used = int32(n.gpus - max(n.Has.gpus-n.held, 0))
		if v.GPUType = n.Labels[k.TypeLabel]; strings.Contains(v.GPUType, "|") {
			k.told.add("nodes whose GPU type contains a vertical bar: the type is left out", n.Name)
			v.GPUType = ""
		}
		v.CPUMilli, v.MemMiB = cluster.Unlimited, cluster.Unlimited
		if n.Labels[poolLabel] == "inference" {
			k.told.add("nodes with the label "+poolLabel+" inference: they count as nodes of the training pool", n.Name)
		}
		if n.Has.saysCPU {
			v.CPUMilli = max(n.Has.cpuMilli-n.others.cpuMilli, 0)
		}
		if n.Has.saysMem {
			v.MemMiB = max(n.Has.memBytes-n.others.memBytes, 0) >> 20
		}
	}
	return servers
}
