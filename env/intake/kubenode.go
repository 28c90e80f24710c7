package intake

import (
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
	closed bool // it takes no new pods
	has    amounts
	others amounts // what pods without GPUs use
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
			object(r, []string{"allocatable", "conditions"}, func(field string) {
				if field == "allocatable" {
					n.has = c.amounts(r)
				} else {
					list(r, func(int) { ready = isReady(r) || ready })
				}
			})
		}
	})
	if n.name == "" {
		r.Bad("metadata.name", `""`, "the name of the node")
	}
	n.closed = n.closed || n.deleting || !ready
	// These taints repeat what closed says. As taints they would bar the pods from the node even in the future.
	n.taints = slices.DeleteFunc(n.taints, func(t taint) bool { return strings.HasPrefix(t.key, "node.kubernetes.io/") })
	return n
}

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

// isReady reads a condition and reports whether it says that the node is ready.
func isReady(r *strictjson.Reader) bool {
	kind, status := "", ""
	object(r, []string{"type", "status"}, func(field string) {
		if field == "type" {
			kind = name(r)
		} else {
			status = name(r)
		}
	})
	return kind == "Ready" && status == "True"
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
