package comm

import "fmt"

// HeavyEdge maps a job to servers with free[m] free GPUs, filling them in the order given, so that heavy edges of the
// job's graph stay within servers. The graph has a vertex for each replica, an edge of u_s bytes between each replica of
// stage s and each of s+1, and a ring through the replicas of each stage whose hops weigh 2(k-1)/k·Params. Edges without
// bytes are none.
//
// Each server is filled as far as it goes: it starts with the two ends of the heaviest edge among replicas that are not
// mapped yet, or, if there is no such edge or no room for two, with the replica that has the least bytes to the others
// not mapped yet; then it takes, one by one, the replica with the most bytes to those it has. Ties go to the lowest stage
// and replica, of an edge that of its first end and then of its second.
//
// The mapping is not always the smallest [Cut], nor the smallest [Alpha]. It is appended to x[:0] and has a column for each
// server, also for those left empty. Time grows with replicas times stages. It is an error if the servers have no room for
// the job.
func HeavyEdge(x Mapping, job Job, free []int32) (Mapping, error) {
	x = empty(x, len(job.Stages)*len(free))
	tensor := job.tensor()
	rest := job.replicas()
	g := growth{job, make([]int32, len(job.Stages)), make([]int32, len(job.Stages))}
	for s := range job.Stages {
		g.left[s] = job.Stages[s].Replicas
	}
	for m, f := range free {
		if f < 0 {
			return x, fmt.Errorf("map by heavy edges: server %d has %d free GPUs, want 0 or more", m, f)
		}
		room := min(int(f/tensor), rest)
		rest -= room
		g.fill(room)
		for s, n := range g.here {
			x[s*len(free)+m] = n
		}
	}
	if rest > 0 {
		return x, fmt.Errorf("map by heavy edges: no room for %d of %d replicas of %d GPUs on %d servers",
			rest, job.replicas(), tensor, len(free))
	}
	return x, nil
}

// growth is a job's graph while servers grow in it, one after another.
//
// A stage's replicas are taken in their order, so counts say which are where. For those not mapped are then the last of the
// stage, and of these the first is never behind another: it has as many hops of the ring to the server that grows, if any
// has one, no more to the others not mapped, and like bytes to other stages; and it wins ties.
//
// Weights are computed as counts times bytes, never by adding up edges, so that equal weights are equal as numbers and ties
// are ties.
type growth struct {
	job  Job
	left []int32 // [stage], replicas not mapped yet
	here []int32 // [stage], replicas on the server that grows
}

// fill grows a new server by room replicas, of those that are left.
func (g *growth) fill(room int) {
	clear(g.here)
	if room == 0 {
		return
	}
	if s, next, ok := g.heaviest(); ok && room >= 2 {
		g.take(s)
		g.take(next)
		room -= 2
	} else {
		g.take(g.loosest())
		room--
	}
	for range room {
		g.take(g.closest())
	}
}

func (g *growth) take(stage int) {
	g.left[stage]--
	g.here[stage]++
}

// heaviest is the stages of the ends of the heaviest edge among replicas not mapped, if there is one.
func (g *growth) heaviest() (s, next int, ok bool) {
	most := 0.
	for a, left := range g.left {
		if left >= 2 {
			hops := 1.
			if g.job.Stages[a].Replicas == 2 {
				hops = 2 // there and back
			}
			if bytes := hops * g.job.ring(a); bytes > most {
				s, next, most = a, a, bytes
			}
		}
		if left >= 1 && a+1 < len(g.left) && g.left[a+1] >= 1 {
			if bytes := g.job.pair(a); bytes > most {
				s, next, most = a, a+1, bytes
			}
		}
	}
	return s, next, most > 0
}

// loosest is the stage of the replica not mapped that has the least bytes to the others not mapped.
func (g *growth) loosest() int {
	s, least := -1, 0.
	for a, left := range g.left {
		if left == 0 {
			continue
		}
		hops := 1. // at the end of what is left of the ring
		switch left {
		case 1:
			hops = 0
		case g.job.Stages[a].Replicas:
			hops = 2
		}
		if bytes := hops*g.job.ring(a) + g.pairs(a, g.left); s < 0 || bytes < least {
			s, least = a, bytes
		}
	}
	return s
}

// closest is the stage of the replica not mapped that has the most bytes to those on the server.
func (g *growth) closest() int {
	s, most := -1, 0.
	for a, left := range g.left {
		if left == 0 {
			continue
		}
		hops := 0.
		if g.here[a] > 0 {
			hops++
			if g.here[a]+1 == g.job.Stages[a].Replicas {
				hops++ // closes the ring
			}
		}
		if bytes := hops*g.job.ring(a) + g.pairs(a, g.here); s < 0 || bytes > most {
			s, most = a, bytes
		}
	}
	return s
}

// pairs is the bytes of a replica of stage s with count replicas of the neighbour stages.
func (g *growth) pairs(s int, count []int32) float64 {
	bytes := 0.
	if s > 0 {
		bytes += float64(count[s-1]) * g.job.pair(s-1)
	}
	if s+1 < len(count) {
		bytes += float64(count[s+1]) * g.job.pair(s)
	}
	return bytes
}
