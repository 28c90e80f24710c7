package intake

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/slurmtext"
)

// addAllRunning adds the running jobs: first those of which Slurm reports what they hold on each node, so that the others get
// what these leave.
func (k *slurmCluster) addAllRunning() {
	slices.SortStableFunc(k.running, func(a, b *slurmJob) int { return cmp.Compare(b.detailed, a.detailed) })
	for _, j := range k.running {
		if why := k.addRunning(j); why != "" {
			k.unread = append(k.unread, unreadJob{j, why})
		}
	}
}

// holding returns what a running job holds in all. GPUs that Slurm does not account for (AccountingStorageTRES without gres/gpu)
// stand in the details of the nodes or in what the job asked for.
func (k *slurmCluster) holding(j *slurmJob) (gpus int64, kind string) {
	gpus, kind, _ = j.Holds.GPUs()
	if j.detailed > 0 && gpus > 0 && j.detailed != gpus {
		k.told.add("running jobs whose tres_alloc_str and gres_detail differ: the larger number of GPUs is taken", j.title())
	}
	if j.detailed >= gpus && j.detailed > 0 {
		_, kindOf, _ := j.Details[0].GPUs()
		return j.detailed, cmp.Or(kind, kindOf)
	}
	if gpus == 0 {
		if gpus, _, kind = j.requested(); gpus > 0 {
			k.told.add("running jobs of which Slurm does not report how many GPUs they hold: they hold what they asked for", j.title())
		}
	}
	return gpus, kind
}

// addRunning adds a job that holds GPUs. It subtracts what a job without GPUs holds from its nodes. If the job cannot be read, it
// adds nothing and returns the reason.
func (k *slurmCluster) addRunning(j *slurmJob) (why string) {
	a := j.Holds
	if a.CPUMilli == 0 && a.MemBytes == 0 {
		a.CPUMilli, a.MemBytes = j.Asks.CPUMilli, j.Asks.MemBytes
	}
	gpus, kind := k.holding(j)
	elsewhere := func(host string) bool { _, hasGPUs := k.ids[host]; return k.known[host] && !hasGPUs }
	switch {
	case j.silent && len(j.Nodes) > 0 && !slices.ContainsFunc(j.Nodes, func(host string) bool { return !elsewhere(host) }):
		return "" // no node of it has GPUs
	case j.silent:
		return "it says neither what it holds nor what it asked for"
	case gpus == 0:
		return k.addWithoutGPUs(j, &a)
	case len(j.Nodes) == 0:
		return "it has no nodes"
	}
	out, why := k.draft(j, &a, gpus, kind)
	if why != "" {
		return "it holds more CPU or memory for each GPU, or more GPUs, than a snapshot can represent"
	}
	pieces, why := k.pieces(j, gpus, out.Request)
	if why != "" || len(pieces) == 0 {
		return why
	}
	out.Tensor = together(j, pieces)
	out.GPUType = "" // the nodes decide
	if kind != "" && !slices.ContainsFunc(pieces, func(p piece) bool { return k.servers[p.Server].GPUType != kind }) {
		out.GPUType = kind
	}
	k.place(out, pieces)
	return ""
}

// place adds a job that runs on the pieces.
func (k *slurmCluster) place(j job, pieces []piece) {
	j.pieces, j.Workers = pieces, 0
	for _, p := range pieces {
		j.Workers += p.Workers
		k.held[p.Server] += int64(p.Workers)
		if j.Where != nil && !j.Where.Has(p.Server) {
			j.Where = j.Where.Clone()
			j.Where.Add(p.Server)
		}
	}
	if j.Where != nil {
		j.Where = k.sets.Of(j.Where)
	}
	k.jobs = append(k.jobs, j)
}

// together returns how many GPUs of a running job stay on one server, 0 if nothing says that several do.
func together(j *slurmJob, pieces []piece) int32 {
	n := int64(0)
	for _, p := range pieces {
		n = gcd(n, int64(p.Workers))
	}
	if _, each, _ := j.requested(); each > 0 {
		n = gcd(n, each)
	} else if j.NodeCount != 1 {
		n = 1
	}
	if n > 1 {
		return int32(n)
	}
	return 0
}

// pieces returns what a job holds on each of its nodes, or why that is not known.
func (k *slurmCluster) pieces(j *slurmJob, gpus int64, request cluster.Amount) (pieces []piece, why string) {
	exact := j.detailed == gpus
	parts, why := k.parts(j, exact)
	if why != "" {
		return nil, why
	}
	if !exact {
		k.spread(parts, gpus)
		if gpus%int64(len(parts)) != 0 || slices.ContainsFunc(parts, func(p part) bool { return p.count != parts[0].count }) {
			k.told.add("running jobs of which Slurm does not report how many GPUs they hold on each node: they are split as evenly as "+
				"possible", j.title())
		}
	}
	guessed, total := false, int64(0)
	for _, p := range parts {
		count, why := k.room(p.id, p.count)
		if why != "" {
			return nil, why
		}
		total += count
		if count == 0 {
			continue
		}
		if int64(len(p.at)) != count {
			p.at, guessed = nil, true
		}
		pieces = append(pieces, piece{Piece: cluster.Piece{Server: p.id, Workers: int32(count), Amount: request}, gpus: p.at})
	}
	const countless = "running jobs on GPUs that Slurm lets any number of jobs use (no_consume)"
	switch {
	case total == gpus:
	case !slices.ContainsFunc(parts, func(p part) bool { return k.countless(p.id) }):
		return nil, fmt.Sprintf("it holds %s, of which its nodes have %d that no other job holds", phrase.Count(gpus, "GPU"), total)
	case total == 0:
		k.told.add(countless+", left out, because others hold all", j.title())
	default:
		k.told.add(countless+": they hold those that others leave", j.title())
	}
	if guessed {
		k.told.add("running jobs whose GPU indices Slurm does not report: the lowest free ones are assigned", j.title())
	}
	return pieces, ""
}

// part is what a job holds on one node: so many GPUs, those at the given indices if Slurm reports them.
type part struct {
	id    cluster.ServerID
	count int64
	at    []int32
}

// parts returns the nodes with GPUs of a job, and if the details are exact what it holds there.
func (k *slurmCluster) parts(j *slurmJob, exact bool) (parts []part, why string) {
	for i, host := range j.Nodes {
		p := part{}
		if exact {
			p.count, _, p.at = j.Details[i].GPUs()
		}
		id, known := k.ids[host]
		p.id = id
		switch {
		case known && (!exact || p.count > 0):
			parts = append(parts, p)
		case !known && (p.count > 0 || !k.known[host]):
			return nil, fmt.Sprintf("node %s is not among the nodes with GPUs", cut(host))
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Sprintf("node %s is not among the nodes with GPUs", cut(j.Nodes[0]))
	}
	return parts, ""
}

// countless reports whether a node has GPUs that jobs use without holding them.
func (k *slurmCluster) countless(id cluster.ServerID) bool {
	return slices.ContainsFunc(k.nodes[id].Gres.Resources, func(g slurmtext.Resource) bool { return g.Name == "gpu" && g.NoConsume })
}

// room returns how many of n GPUs on a node a job can hold in the snapshot, or why they are not there.
func (k *slurmCluster) room(id cluster.ServerID, n int64) (count int64, why string) {
	node := &k.nodes[id]
	left := node.gpus - k.held[id]
	if n <= left || k.countless(id) {
		return min(n, left), ""
	}
	return 0, fmt.Sprintf("it holds %s of node %s, which has %d, of which other jobs hold %d", phrase.Count(n, "GPU"), node.Name,
		node.gpus, k.held[id])
}

// spread splits GPUs over the parts as evenly as what other jobs leave allows. The sum is less if there are too few.
func (k *slurmCluster) spread(parts []part, gpus int64) {
	n, left := int64(len(parts)), gpus
	for i := range parts {
		p := &parts[i]
		p.count = gpus / n
		if int64(i) < gpus%n {
			p.count++
		}
		p.count = min(p.count, k.nodes[p.id].gpus-k.held[p.id])
		left -= p.count
	}
	for i := range parts {
		p := &parts[i]
		more := min(left, k.nodes[p.id].gpus-k.held[p.id]-p.count)
		p.count, left = p.count+more, left-more
	}
}

// addWithoutGPUs subtracts what a job holds from the servers of its nodes, in equal parts.
func (k *slurmCluster) addWithoutGPUs(j *slurmJob, a *slurmtext.Amounts) (why string) {
	shares := slices.Concat(j.Holds.Shares(), j.Asks.Shares(), j.PerNode.Shares())
	n := int64(len(j.Nodes))
	if len(shares) > 0 && n == 0 {
		return "it has no nodes"
	}
	for _, host := range j.Nodes {
		id, known := k.ids[host]
		if !known {
			continue
		}
		v, node := &k.servers[id], &k.nodes[id]
		if v.CPUMilli != cluster.Unlimited {
			v.CPUMilli = max(v.CPUMilli-a.CPUMilli/n, 0)
		}
		if v.MemMiB != cluster.Unlimited {
			v.MemMiB = max(v.MemMiB-a.MemBytes/n>>20, 0)
		}
		if len(shares) > 0 {
			k.shared[id] += node.gpusOf((shares[0].Count + n - 1) / n)
			k.told.add("running jobs with gres/"+cut(shares[0].Name)+": the GPUs that they share are out of order in the snapshot",
				j.title())
		}
	}
	return ""
}
