package perfetto

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// The processes. Servers follow in the order of their ids.
const (
	clusterPID = 1 + iota
	queuePID
	serverPID
)

// layout says which processes and threads there are, and on which thread each worker runs. Thread ids are all different.
type layout struct {
	preemptions, interruptions, queue int // threads
	server                            []int
	gpu                               []int   // first thread of each GPU; those of one server stand together
	first                             []int   // into gpu and depth: GPU 0 of each server
	depth                             []int   // how many slots each GPU needs
	lanes                             []int32 // slots of all workers of all stays that last, in the order of their records
	slices                            []int   // of each job
}

func (*layout) pid(id cluster.ServerID) int { return serverPID + int(id) }

func newLayout(log *sim.Log, stays [][]eval.Stay) *layout {
	l := &layout{slices: make([]int, len(log.Jobs))}
	servers := log.Config.Cluster.Servers
	for i := range servers {
		l.first = append(l.first, len(l.depth))
		for range servers[i].GPUs {
			l.depth = append(l.depth, 1)
		}
	}
	l.assign(log, stays)
	tid := serverPID + len(servers)
	take := func(n int) int {
		tid += n
		return tid - n
	}
	l.preemptions, l.interruptions, l.queue = take(1), take(1), take(1)
	for i := range servers {
		l.server = append(l.server, take(1))
		for g := range int(servers[i].GPUs) {
			l.gpu = append(l.gpu, take(l.depth[l.first[i]+g]))
		}
	}
	return l
}

// assign gives every worker the lowest free slot of its GPU for as long as it stays.
func (l *layout) assign(log *sim.Log, stays [][]eval.Stay) {
	taken := make([][]time.Duration, len(l.depth)) // until when each slot of each GPU is
	begun := make([]int, len(log.Jobs))
	for i := range log.Records {
		r := &log.Records[i]
		if r.Kind != sim.Start && r.Kind != sim.Resize && r.Kind != sim.Migrate {
			continue
		}
		s := stays[r.Job][begun[r.Job]]
		begun[r.Job]++
		if s.From == s.To {
			continue
		}
		gpus := log.GPUs(r)
		for _, piece := range log.Placement(r) {
			for _, gpu := range gpus[:piece.Workers] {
				g := l.first[piece.Server] + int(gpu)
				slot := slices.IndexFunc(taken[g], func(until time.Duration) bool { return until <= r.At })
				if slot < 0 {
					slot, taken[g] = len(taken[g]), append(taken[g], 0)
				}
				taken[g][slot] = s.To
				l.lanes = append(l.lanes, int32(slot))
			}
			gpus = gpus[piece.Workers:]
			l.slices[r.Job] += int(piece.Workers)
		}
	}
	for g := range taken {
		l.depth[g] = max(l.depth[g], len(taken[g]))
	}
}

// names writes what processes and threads are called, and their order: that of their ids.
func (p *pen) names() {
	p.out.name(clusterPID, p.preemptions, "process", "cluster")
	p.out.name(clusterPID, p.preemptions, "thread", "preemptions")
	p.out.name(clusterPID, p.interruptions, "thread", "interruptions")
	p.out.name(queuePID, p.queue, "process", "queue")
	p.out.name(queuePID, p.queue, "thread", "waiting")
	servers := p.log.Config.Cluster.Servers
	pools := slices.ContainsFunc(servers, func(v cluster.ServerSpec) bool { return v.Pool == cluster.Inference })
	for i := range servers {
		pid := serverPID + i
		p.out.name(pid, p.server[i], "process", serverName(&servers[i], i, pools))
		p.out.name(pid, p.server[i], "thread", "server")
		for g := range servers[i].GPUs {
			at := p.first[i] + int(g)
			for slot := range p.depth[at] {
				p.out.name(pid, p.gpu[at]+slot, "thread", gpuName(g, slot))
			}
		}
	}
}

// serverName is a server's name, and in brackets what tells it from others.
func serverName(v *cluster.ServerSpec, id int, pools bool) string {
	name := v.Name
	if name == "" {
		name = fmt.Sprintf("server %d", id)
	}
	var about []string
	if v.GPUType != "" {
		about = append(about, v.GPUType)
	}
	if pools {
		about = append(about, v.Pool.String())
	}
	if v.Rack > 0 {
		about = append(about, fmt.Sprintf("rack %d", v.Rack))
	}
	if len(about) == 0 {
		return name
	}
	return name + " (" + strings.Join(about, ", ") + ")"
}

func gpuName(gpu int32, slot int) string {
	if slot == 0 {
		return fmt.Sprintf("GPU %d", gpu)
	}
	return fmt.Sprintf("GPU %d slot %d", gpu, slot+1)
}
