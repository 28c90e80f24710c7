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
	Name       string            `slurm:"name,name"`
	CPUs       int64             `slurm:"cpus,number"`
	Effective  int64             `slurm:"effective_cpus,number"`
	MemMiB     int64             `slurm:"real_memory,number"`
	Kept       int64             `slurm:"specialized_memory,number"` // MiB for Slurm's own daemons
	States     []string          `slurm:"state|state_flags,states"`
	Partitions []string          `slurm:"partitions,words"`
	Features   []string          `slurm:"active_features,words"`
	Gres       slurmtext.Amounts `slurm:"gres,amounts"`
	Used       slurmtext.Amounts `slurm:"gres_used,amounts"`
	UsedTres   slurmtext.Amounts `slurm:"tres_used,amounts"`

	gpus, perShare int64 // perShare: shards or parts of MPS of each GPU
}

func readSlurmNode(r *strictjson.Reader) (n slurmNode) {
	r.Struct(&n)
	n.CPUs = cmp.Or(n.Effective, n.CPUs)
	n.gpus, _, _ = n.Gres.GPUs()
	for _, s := range n.Gres.Shares() {
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
		case n.Name == "":
			r.Bad("name", `""`, "the name of the node")
		case k.known[n.Name]:
			r.Bad("name", n.Name, "each node once")
		case n.gpus > cluster.MaxGPUs:
			r.Bad("gres", fmt.Sprint(n.gpus), fmt.Sprintf("at most %d GPUs", cluster.MaxGPUs))
		case n.gpus > 0:
			k.nodes = append(k.nodes, n)
		}
		k.known[n.Name] = true
	}
	slices.SortFunc(k.nodes, func(a, b slurmNode) int { return cmp.Compare(a.Name, b.Name) })
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
		_, kind, _ := n.Gres.GPUs()
		v := server{ServerSpec: cluster.ServerSpec{Name: n.Name, GPUs: int32(n.gpus), GPUType: kind}}
		v.CPUMilli, v.MemMiB = cluster.Unlimited, cluster.Unlimited
		if n.CPUs > 0 {
			v.CPUMilli = min(n.CPUs*1000, mostCPUMilli)
		}
		if n.MemMiB > 0 {
			v.MemMiB = max(min(n.MemMiB, mostBytes>>20)-n.Kept, 0)
		}
		v.closed = k.closed(n)
		k.tellGres(n, kind)
		k.ids[n.Name] = cluster.ServerID(i)
		k.largest = max(k.largest, n.gpus)
		k.servers = append(k.servers, v)
	}
}

// closed reports whether a node starts no jobs.
func (k *slurmCluster) closed(n *slurmNode) bool {
	closed := false
	for _, s := range n.States {
		switch {
		case slices.Contains(closedStates, s):
			closed = true
		case !slices.Contains(openStates, s):
			k.told.add("nodes in a state that is not known: they take no new jobs in the snapshot", n.Name+" is "+cut(s))
			closed = true
		}
	}
	if len(n.States) == 0 {
		k.told.add("nodes without a state: they are taken to be idle", n.Name)
	}
	if slices.Contains(n.States, "RESERVED") {
		k.told.add("nodes in a reservation: they are taken to be open to all jobs of their partitions", n.Name)
	}
	return closed
}

// tellGres reports what a snapshot does not represent of a node's resources.
func (k *slurmCluster) tellGres(n *slurmNode, kind string) {
	is := func(test func(g slurmtext.Resource) bool) bool {
		return slices.ContainsFunc(n.Gres.Resources, func(g slurmtext.Resource) bool { return g.Name == "gpu" && test(g) })
	}
	if kind == "" && is(func(g slurmtext.Resource) bool { return g.Type != "" }) {
		k.told.add("nodes with several types of GPUs: their type is left out", n.Name)
	}
	if is(func(g slurmtext.Resource) bool { return slurmtext.Divided(g.Type) }) {
		k.told.add("nodes whose GPUs are divided (MIG): each instance counts as a GPU", n.Name)
	}
	if is(func(g slurmtext.Resource) bool { return g.NoConsume }) {
		k.told.add("nodes whose GPUs Slurm lets any number of jobs use (no_consume): in the snapshot one job holds a GPU", n.Name)
	}
	for _, other := range n.Gres.Others() {
		k.told.add("nodes with the generic resource "+cut(other)+", which a snapshot does not model", n.Name)
	}
}
