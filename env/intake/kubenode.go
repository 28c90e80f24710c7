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
	meta
	taints []taint
	closed bool    // it takes no new pods
	has    amounts // what is allocatable
	whole  amounts // its capacity
	others amounts // what pods without GPUs use
	held   int64   // GPUs that pods hold
	gpus   int64   // of its server
	id     cluster.ServerID
}

func (c *Kubectl) readNode(r *strictjson.Reader) *node {
	n := &node{}
	ready := false
	object(r, []string{"metadata", "spec", "status"}, func(field string) {
		switch field {
		case "metadata":
			n.meta = readMeta(r, func(string) bool { return true })
		case "spec":
			object(r, []string{"unschedulable", "taints"}, func(field string) {
				if field == "unschedulable" {
					n.closed = !r.Null() && r.Flag()
				} else {
					list(r, func(int) { n.taints = append(n.taints, readTaint(r)) })
				}
			})
		case "status":
			object(r, []string{"allocatable", "capacity", "conditions"}, func(field string) {
				switch field {
				case "allocatable":
					n.has = c.amounts(r)
				case "capacity":
					n.whole = c.amounts(r)
				default:
					list(r, func(int) {
						kind, status, _ := condition(r)
						ready = ready || kind == "Ready" && status == "True"
					})
				}
			})
		}
	})
	if n.name == "" {
		r.Bad("metadata.name", `""`, "the name of the node")
	}
	n.closed = n.closed || n.deleting || !ready
	n.taints = slices.DeleteFunc(n.taints, func(t taint) bool {
		state := slices.Contains(passing, t.key)
		n.closed = n.closed || state && t.effect != "PreferNoSchedule"
		return state || t.key == memoryPressure
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

func readTaint(r *strictjson.Reader) (t taint) {
	object(r, []string{"key", "value", "effect"}, func(field string) {
		switch v := name(r); field {
		case "key":
			t.key = v
		case "value":
			t.value = v
		case "effect":
			t.effect = v
		}
	})
	return t
}

// mostMarks is the most different taints that mark nodes with GPUs.
const mostMarks = 16

// withGPUs returns the nodes that have or have had GPUs, in the order of their names, and numbers them as servers. A node has as
// many GPUs as its capacity says, or its pods hold.
func (k *kubeCluster) withGPUs() (nodes []*node, err error) {
	for _, name := range slices.Sorted(maps.Keys(k.nodes)) {
		n := k.nodes[name]
		if !n.has.some && n.whole.some {
			n.has = n.whole
			k.told.add("nodes that do not say what is allocatable: it is taken to be their capacity", name)
		}
		most := max(n.has.gpus, n.whole.gpus)
		if n.held > most {
			k.told.add("nodes whose pods hold more GPUs than are allocatable: they are taken to have as many as are held", name)
		}
		if n.gpus = max(n.held, most); n.gpus > cluster.MaxGPUs {
			return nil, fmt.Errorf("pods on node %s hold %d GPUs, want at most %d", name, n.gpus, cluster.MaxGPUs)
		}
		for _, t := range n.taints {
			if t.key == k.GPU && t.effect != "PreferNoSchedule" && !slices.Contains(k.marks, t) && len(k.marks) < mostMarks {
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
		kinds[n.labels[k.TypeLabel]] = true
	}
	k.kinds = len(kinds)
	k.noteNodes(nodes)
	return nodes, nil
}

// servers returns the servers of the nodes.
func (k *kubeCluster) servers(nodes []*node) []server {
	racks := map[string]int32{}
	for _, n := range nodes {
		if rack := n.labels[k.RackLabel]; rack != "" {
			racks[rack] = 0
		}
	}
	for i, rack := range slices.Sorted(maps.Keys(racks)) {
		racks[rack] = int32(i) + 1
	}
	servers := make([]server, len(nodes))
	for i, n := range nodes {
		v := &servers[i]
		v.Name, v.GPUs, v.closed, v.Rack = n.name, int32(n.gpus), n.closed, racks[n.labels[k.RackLabel]]
		v.used = int32(n.gpus - max(n.has.gpus-n.held, 0))
		if v.GPUType = n.labels[k.TypeLabel]; strings.Contains(v.GPUType, "|") {
			k.told.add("nodes whose GPU type contains a vertical bar: the type is left out", n.name)
			v.GPUType = ""
		}
		v.CPUMilli, v.MemMiB = cluster.Unlimited, cluster.Unlimited
		if n.labels[poolLabel] == "inference" {
			k.told.add("nodes with the label "+poolLabel+" inference: they count as nodes of the training pool", n.name)
		}
		if n.has.saysCPU {
			v.CPUMilli = max(n.has.cpuMilli-n.others.cpuMilli, 0)
		}
		if n.has.saysMem {
			v.MemMiB = max(n.has.memBytes-n.others.memBytes, 0) >> 20
		}
	}
	return servers
}
