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

// Process ids. Servers follow in the order of their ids.
const (
	clusterPID = 1 + iota
	queuePID
	serverPID
)

// layout defines the processes and threads, and the thread of each worker. All thread ids differ.
type layout struct {
	preemptions, interruptions, queue int // thread ids
	server                            []int
	gpu                               []int   // first thread of each GPU; the GPUs of one server are adjacent
	first                             []int   // index into gpu and depth of GPU 0 of each server
	depth                             []int   // number of slots of each GPU
	lanes                             []int32 // slots of all workers of all stays with a duration, in the order of their records
	slices                            []int   // number of slices of each job
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

// assign assigns every worker the lowest free slot of its GPU for the duration of its stay.
func (l *layout) assign(log *sim.Log, stays [][]eval.Stay) {
	taken := make([][]time.Duration, len(l.depth)) // by GPU and slot: the time until which it is taken
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

// names writes the names of processes and threads, and their order, which is that of their ids.
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

// serverName returns a server's name, followed in brackets by its GPU type, pool and rack.
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
