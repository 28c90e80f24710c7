package intake

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/slurmtext"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// slurmNode is a node as scontrol show nodes --json prints it.
type slurmNode struct {
	name                          string
	cpus, memMiB, effective, kept int64 // kept: MiB for Slurm's own daemons
	states, partitions, features  []string
	gres, used, usedTres          slurmtext.Amounts
	gpus, perShare                int64 // perShare: shards or parts of MPS of each GPU
}

func readSlurmNode(r *strictjson.Reader) (n slurmNode) {
	object(r, []string{
		"name", "cpus", "effective_cpus", "real_memory", "specialized_memory", "state", "state_flags", "partitions",
		"active_features", "gres", "gres_used", "tres_used",
	}, func(field string) {
		switch field {
		case "name":
			if n.name = name(r); n.name == "" {
				r.Refuse("the name of the node")
			}
		case "cpus":
			n.cpus = number(r)
		case "effective_cpus":
			n.effective = number(r)
		case "real_memory":
			n.memMiB = number(r)
		case "specialized_memory":
			n.kept = number(r)
		case "state", "state_flags":
			n.states = append(n.states, states(r)...)
		case "partitions":
			n.partitions = words(r)
		case "active_features":
			n.features = words(r)
		case "gres":
			n.gres = slurmAmounts(r)
		case "gres_used":
			n.used = slurmAmounts(r)
		case "tres_used":
			n.usedTres = slurmAmounts(r)
		}
	})
	n.cpus = cmp.Or(n.effective, n.cpus)
	n.gpus, _, _ = n.gres.GPUs()
	for _, s := range n.gres.Shares() {
		n.perShare = max(n.perShare, s.Count/max(n.gpus, 1))
	}
	return n
}

// gpusOf returns the fewest GPUs that so many shards or parts of MPS take.
func (n *slurmNode) gpusOf(shares int64) int64 {
	per := max(n.perShare, 1)
	return min((shares+per-1)/per, n.gpus)
}

func (k *slurmCluster) readNodes(r *strictjson.Reader) {
	for _, item := range listed(r, "nodes", besides, k.readBesides(r)) {
		r.Return(item.path, item.at)
		n := readSlurmNode(r)
		switch {
		case r.Err() != nil:
			return
		case n.name == "":
			r.Bad("name", `""`, "the name of the node")
		case k.known[n.name]:
			r.Bad("name", n.name, "each node once")
		case n.gpus > cluster.MaxGPUs:
			r.Bad("gres", fmt.Sprint(n.gpus), fmt.Sprintf("at most %d GPUs", cluster.MaxGPUs))
		case n.gpus > 0:
			k.nodes = append(k.nodes, n)
		}
		k.known[n.name] = true
	}
	slices.SortFunc(k.nodes, func(a, b slurmNode) int { return cmp.Compare(a.name, b.name) })
}

// The states and flags of nodes that start no jobs now, and of those that do. A node that is switched off to save power starts
// jobs.
var (
	closedStates = []string{
		"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "UNKNOWN", "FUTURE", "NOT_RESPONDING", "MAINTENANCE",
		"MAINT", "INVALID", "INVALID_REG", "POWERING_DOWN", "POWER_DRAIN", "REBOOT_ISSUED", "BLOCKED",
	}
	openStates = []string{
		"IDLE", "ALLOCATED", "MIXED", "COMPLETING", "CLOUD", "POWERED_DOWN", "POWER_DOWN", "POWERING_UP", "POWER_UP", "POWERED_UP",
		"RESERVED", "PLANNED", "REBOOT_REQUESTED", "REBOOT_CANCELED", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "RESUME", "UNDRAIN",
		"EXTERNAL", "PERFCTRS",
	}
)

func (k *slurmCluster) addServers() {
	k.held = make([]int64, len(k.nodes))
	k.shared = make([]int64, len(k.nodes))
	for i := range k.nodes {
		n := &k.nodes[i]
		_, kind, _ := n.gres.GPUs()
		v := server{ServerSpec: cluster.ServerSpec{Name: n.name, GPUs: int32(n.gpus), GPUType: kind}}
		v.CPUMilli, v.MemMiB = cluster.Unlimited, cluster.Unlimited
		if n.cpus > 0 {
			v.CPUMilli = min(n.cpus*1000, mostCPUMilli)
		}
		if n.memMiB > 0 {
			v.MemMiB = max(min(n.memMiB, mostBytes>>20)-n.kept, 0)
		}
		v.closed = k.closed(n)
		k.tellGres(n, kind)
		k.ids[n.name] = cluster.ServerID(i)
		k.largest = max(k.largest, n.gpus)
		k.servers = append(k.servers, v)
	}
}

// closed reports whether a node starts no jobs.
func (k *slurmCluster) closed(n *slurmNode) bool {
	closed := false
	for _, s := range n.states {
		switch {
		case slices.Contains(closedStates, s):
			closed = true
		case !slices.Contains(openStates, s):
			k.told.add("nodes in a state that is not known: they take no new jobs in the snapshot", n.name+" is "+cut(s))
			closed = true
		}
	}
	if len(n.states) == 0 {
		k.told.add("nodes without a state: they are taken to be idle", n.name)
	}
	if slices.Contains(n.states, "RESERVED") {
		k.told.add("nodes in a reservation: they are taken to be open to all jobs of their partitions", n.name)
	}
	return closed
}

// tellGres reports what a snapshot does not represent of a node's resources.
func (k *slurmCluster) tellGres(n *slurmNode, kind string) {
	is := func(test func(g slurmtext.Resource) bool) bool {
		return slices.ContainsFunc(n.gres.Resources, func(g slurmtext.Resource) bool { return g.Name == "gpu" && test(g) })
	}
	if kind == "" && is(func(g slurmtext.Resource) bool { return g.Type != "" }) {
		k.told.add("nodes with several types of GPUs: their type is left out", n.name)
	}
	if is(func(g slurmtext.Resource) bool { return slurmtext.Divided(g.Type) }) {
		k.told.add("nodes whose GPUs are divided (MIG): each instance counts as a GPU", n.name)
	}
	if is(func(g slurmtext.Resource) bool { return g.NoConsume }) {
		k.told.add("nodes whose GPUs Slurm lets any number of jobs use (no_consume): in the snapshot one job holds a GPU", n.name)
	}
	for _, other := range n.gres.Others() {
		k.told.add("nodes with the generic resource "+cut(other)+", which a snapshot does not model", n.name)
	}
}
