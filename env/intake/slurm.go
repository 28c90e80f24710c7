package intake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// Slurm reads what scontrol show nodes --json and squeue --json print.
type Slurm struct {
	LimitAsEstimate bool  // whether a job's time limit counts as its estimate
	MaxBytes        int64 // of each file
	Clock
}

// slurmCluster is the nodes with GPUs of a Slurm cluster, and its jobs.
type slurmCluster struct {
	*Slurm
	told    notes
	nodes   []slurmNode     // with GPUs, by name
	known   map[string]bool // the names of all nodes, with or without GPUs
	servers []server
	ids     map[string]cluster.ServerID
	held    []int64 // GPUs that jobs hold, by server
	largest int64   // GPUs of the largest server
	queue   []slurmJob
	jobs    []job
	where   map[string]*cluster.ServerSet
	sets    cluster.ServerSets
	budget  int // hosts and indices that may still be read
}

// mostExpanded is the most hosts and GPU indices that all compressed lists together may contain.
const mostExpanded = 1 << 21

// Read returns the State of the nodes and jobs in two files. Nodes without GPUs are left out, and so are jobs that have ended.
// Jobs that run without GPUs count by the CPU and memory that they use up on their nodes.
func (c *Slurm) Read(nodes, jobs File) (*Result, error) {
	k := &slurmCluster{
		Slurm: c, known: map[string]bool{}, ids: map[string]cluster.ServerID{}, where: map[string]*cluster.ServerSet{},
		sets: cluster.ServerSets{}, budget: mostExpanded,
	}
	if err := nodes.read(c.MaxBytes, k.readNodes); err != nil {
		return nil, err
	}
	if len(k.nodes) == 0 {
		return nil, fmt.Errorf("%s: %d nodes, none with the generic resource gpu, want at least one", nodes.Name, len(k.known))
	}
	k.addServers()
	if err := jobs.read(c.MaxBytes, k.readJobs); err != nil {
		return nil, err
	}
	for i := range k.queue {
		k.addJob(&k.queue[i])
	}
	for i := range k.nodes {
		if used, _, _ := gpusOf(k.nodes[i].used); used > k.held[i] {
			k.told.add("nodes on which more GPUs are in use than the jobs in the input hold: the others count as free", k.nodes[i].name)
		}
	}
	state, err := build(k.servers, k.jobs, nil, c.Clock, &k.told)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", nodes.Name, jobs.Name, err)
	}
	return &Result{state, k.told}, nil
}

// spend counts what a compressed list has expanded to.
func (k *slurmCluster) spend(r *strictjson.Reader, n int) {
	if k.budget -= n; k.budget < 0 {
		r.Bad("", "this list", fmt.Sprintf("at most %d hosts, tasks and GPU indices in all lists together", mostExpanded))
	}
}

func (k *slurmCluster) readNodes(r *strictjson.Reader) {
	for _, item := range elements(r, "nodes", nil, nil) {
		r.Return(item.path, item.at)
		n := readSlurmNode(r)
		switch gpus, _, _ := gpusOf(n.gres); {
		case r.Err() != nil:
			return
		case n.name == "":
			r.Bad("name", `""`, "the name of the node")
		case k.known[n.name]:
			r.Bad("name", n.name, "each node once")
		case gpus > cluster.MaxGPUs:
			r.Bad("gres", fmt.Sprint(gpus), fmt.Sprintf("at most %d GPUs", cluster.MaxGPUs))
		case gpus > 0:
			n.used = bare(n.used)
			k.nodes = append(k.nodes, n)
		}
		k.known[n.name] = true
	}
	slices.SortFunc(k.nodes, func(a, b slurmNode) int { return cmp.Compare(a.name, b.name) })
}

// bare drops the indices of resources.
func bare(all []gres) []gres {
	for i := range all {
		all[i].indices = nil
	}
	return all
}

// closedStates are the states and flags of nodes that start no jobs now. A node that is switched off to save power starts jobs.
var closedStates = []string{
	"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "UNKNOWN", "FUTURE", "NOT_RESPONDING", "MAINTENANCE",
	"MAINT", "INVALID", "INVALID_REG", "POWERING_DOWN", "REBOOT_ISSUED", "BLOCKED",
}

func (k *slurmCluster) addServers() {
	k.held = make([]int64, len(k.nodes))
	for i := range k.nodes {
		n := &k.nodes[i]
		gpus, kind, _ := gpusOf(n.gres)
		if kind == "" && slices.ContainsFunc(n.gres, func(g gres) bool { return g.name == "gpu" && g.kind != "" }) {
			k.told.add("nodes with several types of GPUs: their type is left out", n.name)
		}
		v := server{ServerSpec: cluster.ServerSpec{Name: n.name, GPUs: int32(gpus), GPUType: kind}}
		v.CPUMilli, v.MemMiB = cluster.Unlimited, cluster.Unlimited
		if n.cpus > 0 {
			v.CPUMilli = min(n.cpus*1000, mostCPUMilli)
		}
		if n.memMiB > 0 {
			v.MemMiB = max(min(n.memMiB, mostBytes>>20)-n.kept, 0)
		}
		v.closed = slices.ContainsFunc(n.states, func(s string) bool { return slices.Contains(closedStates, s) })
		if slices.Contains(n.states, "RESERVED") {
			k.told.add("nodes in a reservation: they are taken to be open to all jobs of their partitions", n.name)
		}
		for _, g := range n.gres {
			if g.name != "gpu" {
				k.told.add("nodes with the generic resource "+cut(g.name)+", which a snapshot does not model", n.name)
			}
		}
		k.ids[n.name] = cluster.ServerID(i)
		k.largest = max(k.largest, gpus)
		k.servers = append(k.servers, v)
	}
}

// places returns the servers that a job accepts: those of its partitions that it does not exclude and that have the feature that
// it asks for. nil stands for all.
func (k *slurmCluster) places(j *slurmJob, title string) *cluster.ServerSet {
	feature := j.features
	if feature != "" && !plainWord(feature) {
		k.told.add("jobs with an expression of features, which is not kept", title+" asks for "+cut(feature))
		feature = ""
	}
	if j.mustBeOn != "" && len(j.nodes) == 0 {
		k.told.add("waiting jobs that require certain nodes, which is not kept", title+" requires "+cut(j.mustBeOn))
	}
	key := fmt.Sprintf("%q %q %q", j.partitions, j.excluded, feature)
	set, known := k.where[key]
	if known {
		return set
	}
	if len(k.where) >= mostConstraints {
		k.told.add(fmt.Sprintf("jobs with partitions, features or excluded nodes beyond the first %d different ones, not kept",
			mostConstraints), title)
		return nil
	}
	excluded, err := hosts(j.excluded)
	if err != nil {
		k.told.add("jobs whose excluded nodes are not understood, which is not kept", title+" wants "+err.Error())
	}
	barred := map[string]bool{}
	for _, name := range excluded {
		barred[name] = true
	}
	set = cluster.NewServerSet(len(k.nodes))
	all := true
	for i := range k.nodes {
		n := &k.nodes[i]
		ok := len(j.partitions) == 0 ||
			slices.ContainsFunc(j.partitions, func(p string) bool { return slices.Contains(n.partitions, p) })
		if ok = ok && !barred[n.name] && (feature == "" || slices.Contains(n.features, feature)); ok {
			set.Add(cluster.ServerID(i))
		}
		all = all && ok
	}
	if set = k.sets.Of(set); all {
		set = nil
	}
	k.where[key] = set
	return set
}

// plainWord reports whether an expression of features is the name of one.
func plainWord(s string) bool { return !strings.ContainsAny(s, "&|[]()*!,@:") }
