package elastic

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// layout finds servers for workers: best fit, with an order of servers that depends on the kind of worker [L §5.3].
//
// The first workers of a running job, in the order of its pieces, are its base; the others are flexible. A server on loan that
// has base workers belongs to the base group, one that has only flexible workers to the flexible group, and one without workers
// to neither. The groups therefore follow from where jobs run, whoever placed them.
type layout struct {
	cfg   Config
	types gpuTypes
	based []int32            // by server: number of jobs with base workers there
	some  []cluster.ServerID // open servers with a free GPU
	all   []cluster.ServerID // open servers
	list  []spot
	heap  []spot
	rooms []room
	fit   cluster.Placement
	grown cluster.Placement
}

// spot is a server that may take workers of a job.
type spot struct {
	server cluster.ServerID
	rank   int8  // the smaller the better
	mixes  bool  // would mix base with flexible workers: the last resort
	gpu    int8  // its GPU type
	free   int32 // unused GPUs
}

// part is the kind of workers that look for servers.
type part uint8

const (
	rigid    part = iota // all workers of a job that is not elastic, or the base of one that mixes GPU types
	base                 // the base of an elastic job
	flexible             // workers beyond the base
)

// learn records what does not change: the options and the cluster's GPU types.
func (l *layout) learn(s *cluster.View, c Config) {
	if l.cfg = c; len(l.based) == 0 {
		l.types, l.based = newGPUTypes(s), make([]int32, s.Servers())
	}
}

// wants returns the part that the first workers of such a job are.
func (l *layout) wants(spec *cluster.JobSpec) part {
	if l.cfg.Special && spec.Least() < spec.Most() && !l.types.mixes(spec) {
		return base
	}
	return rigid
}

// survey counts on each server the jobs with base workers there.
func (l *layout) survey(s *cluster.View) {
	clear(l.based)
	for _, id := range s.Running() {
		l.label(s, id, 1)
	}
}

// label adds a running job's base workers to the counts (sign 1) or removes them (sign -1).
func (l *layout) label(s *cluster.View, id cluster.JobID, sign int32) {
	left := s.Spec(id).Least()
	for _, p := range s.Placement(id) {
		if left <= 0 {
			return
		}
		l.based[p.Server] += sign
		left -= p.Workers
	}
}

// open lists the servers with room. It sees the room that a moving job has left only when it is called again.
func (l *layout) open(s *cluster.View) {
	l.some, l.all = l.some[:0], l.all[:0]
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.Open(id) {
			l.all = append(l.all, id)
			if s.FreeGPUs(id) > 0 {
				l.some = append(l.some, id)
			}
		}
	}
}

// rank returns how suitable a server is for such workers, smaller is better. mixes reports that they would bring base and
// flexible workers together.
func (l *layout) rank(s *cluster.View, v cluster.ServerID, p part) (rank int8, mixes bool) {
	used, onLoan := len(s.Residents(v)) > 0, s.OnLoan(v)
	if l.cfg.Special && onLoan && used && (p == flexible) == (l.based[v] > 0) {
		return 4, true
	}
	if !used {
		rank++
	}
	if onLoan != (l.cfg.Special && p != rigid) {
		rank += 2
	}
	return rank, false
}

// collect lists the servers that may take workers of the job.
func (l *layout) collect(s *cluster.View, id cluster.JobID, p part) {
	spec, from := s.Spec(id), l.all
	if spec.Request.GPUMilli == cluster.WholeGPU {
		from = l.some
	}
	allowed := l.types.allowed(s, id)
	l.list = l.list[:0]
	for _, v := range from {
		c := spot{server: v, gpu: l.types.of[v], free: s.FreeGPUs(v)}
		if allowed>>c.gpu&1 == 0 || c.free == 0 && spec.Request.GPUMilli == cluster.WholeGPU {
			continue
		}
		c.rank, c.mixes = l.rank(s, v, p)
		l.list = append(l.list, c)
	}
}

func (c *spot) before(d *spot) bool {
	if c.rank != d.rank {
		return c.rank < d.rank
	}
	if c.free != d.free {
		return c.free < d.free
	}
	return c.server < d.server
}
