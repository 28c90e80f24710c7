package comm

import "fmt"

// HeavyEdge maps a job to servers with free[m] free GPUs, filling the servers in the given order, so that heavy edges of the
// job's graph stay within servers. The graph has a vertex for each replica, an edge of u_s bytes between each replica of stage s
// and each replica of stage s+1, and a ring through the replicas of each stage with 2(k-1)/k·Params bytes per hop. An edge of 0
// bytes does not count as an edge.
//
// HeavyEdge fills each server as far as possible. It starts with the two ends of the heaviest edge among the unmapped replicas.
// If there is no such edge, or no room for two replicas, it starts with the unmapped replica that has the fewest bytes to the
// other unmapped ones. Then it adds, one by one, the unmapped replica with the most bytes to the replicas on the server. It
// breaks ties by the lowest stage and replica; for an edge, by its first end and then by its second.
//
// The mapping does not always minimise [Cut] or [Alpha]. HeavyEdge appends it to x[:0], with a column for every server, including
// those left empty. The run time grows with replicas times stages. HeavyEdge returns an error if the servers have no room for the
// job.
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

// growth is the state of HeavyEdge: the job's graph and the mapping so far.
//
// The replicas of a stage are mapped in their order, so counts suffice to say which replicas are where. The unmapped replicas are
// the last of their stage, and the first unmapped one is always a best choice within its stage. It has at least as many ring hops
// to the server being filled as the others, at most as many to other unmapped replicas, and equal bytes to other stages; and it
// wins ties.
//
// All weights are computed as count times bytes, never by adding up edges, so that equal weights are equal floating-point
// numbers.
type growth struct {
	job  Job
	left []int32 // by stage: the number of unmapped replicas
	here []int32 // by stage: the number of replicas on the server being filled
}

// fill starts a new server and maps to it as many of the unmapped replicas as room says.
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

// heaviest returns the stages of the two ends of the heaviest edge between unmapped replicas; ok is false if there is none.
func (g *growth) heaviest() (s, next int, ok bool) {
	most := 0.
	for a, left := range g.left {
		if left >= 2 {
			hops := 1.
			if g.job.Stages[a].Replicas == 2 {
				hops = 2 // a ring of two has two hops between the same replicas
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

// loosest returns the stage of the unmapped replica that has the fewest bytes to the other unmapped ones.
func (g *growth) loosest() int {
	s, least := -1, 0.
	for a, left := range g.left {
		if left == 0 {
			continue
		}
		hops := 1. // this replica is at an end of what remains of the ring
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

// closest returns the stage of the unmapped replica that has the most bytes to the replicas on the server.
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

// pairs returns the bytes between a replica of stage s and the given numbers of replicas of its neighbour stages.
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
