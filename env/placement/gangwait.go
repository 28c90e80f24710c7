package placement

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// ends estimates when a gang can find GPUs on as few servers as possible, if running jobs end as estimated and nothing else
// starts. A shared GPU becomes free when the last of its jobs ends. GPU types are not distinguished.
type ends struct {
	known bool        // the fields below are filled; they are filled only when needed
	most  int32       // number of GPUs of the largest server
	free  [][]float64 // free[k]: the times at which servers have k GPUs free, in seconds from now; see soonest
	asked []bool      // asked[k]: free[k] is ascending
	of    [][]float64 // of each server: the times at which its GPUs become free, ascending
	gpus  []float64   // scratch of foresee
	times []float64   // scratch of rack
	lefts []time.Duration
}

func (e *ends) refresh(s *cluster.View) {
	e.known = true
	if e.most = s.MostGPUs(); len(e.free) != int(e.most)+1 || len(e.of) != s.Servers() {
		e.free, e.of, e.asked = make([][]float64, e.most+1), make([][]float64, s.Servers()), make([]bool, e.most+1)
	}
	for k := range e.free {
		e.free[k], e.asked[k] = e.free[k][:0], false
	}
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		e.of[i] = e.of[i][:0]
		if !s.Open(id) {
			continue
		}
		e.foresee(s, id)
		e.of[i] = append(e.of[i], e.gpus...)
		for k, at := range e.gpus {
			e.free[k+1] = append(e.free[k+1], at)
		}
	}
}

// soonest returns the times at which servers have k GPUs free, ascending. It sorts them only when they are needed.
func (e *ends) soonest(k int32) []float64 {
	if !e.asked[k] {
		e.asked[k] = true
		slices.Sort(e.free[k])
	}
	return e.free[k]
}

// started updates the times after a job has taken its placement.
func (e *ends) started(s *cluster.View, p cluster.Placement) {
	if !e.known {
		return
	}
	for i := range p {
		e.foresee(s, p[i].Server)
		of := e.of[p[i].Server]
		for k, at := range e.gpus {
			if of[k] != at {
				line := e.free[k+1]
				if !e.asked[k+1] {
					line[slices.Index(line, of[k])] = at
					of[k] = at
					continue
				}
				from, _ := slices.BinarySearch(line, of[k])
				line = slices.Delete(line, from, from+1)
				to, _ := slices.BinarySearch(line, at)
				e.free[k+1] = slices.Insert(line, to, at)
				of[k] = at
			}
		}
	}
}

// foresee sets gpus to the times at which each GPU of a server becomes free, ascending; infinite without estimates.
func (e *ends) foresee(s *cluster.View, id cluster.ServerID) {
	e.lefts, e.gpus = s.AppendFree(e.lefts[:0], id), e.gpus[:0]
	for _, left := range e.lefts {
		at := left.Seconds()
		if left == cluster.Never {
			at = math.Inf(1)
		}
		e.gpus = append(e.gpus, at)
	}
}

// wait returns the seconds until n GPUs are free on as few servers as possible; infinite without estimates.
func (e *ends) wait(s *cluster.View, n int32) float64 {
	if !e.known {
		e.refresh(s)
	}
	if e.most == 0 { // no server has a GPU
		return math.Inf(1)
	}
	servers, rest := int(n/e.most), n%e.most
	at := 0.0
	if rest > 0 { // the rest needs one more server besides those that are all free
		line := e.soonest(rest)
		if len(line) <= servers {
			return math.Inf(1)
		}
		at = line[servers]
	}
	if servers > 0 {
		line := e.soonest(e.most)
		if len(line) < servers {
			return math.Inf(1)
		}
		at = max(at, line[servers-1])
	}
	return at
}

// rack returns the seconds until the GPUs of a placement, which uses several racks, are free in one rack: in one with GPUs of the
// same type that the job may use. It is infinite without estimates.
func (e *ends) rack(s *cluster.View, id cluster.JobID, p cluster.Placement) float64 {
	if !e.known {
		e.refresh(s)
	}
	n, best := int(p.Workers()), math.Inf(1)
	for i := range s.Servers() {
		servers := s.ServersIn(s.Server(cluster.ServerID(i)).Rack)
		if int(servers[0]) != i {
			continue
		}
		e.times = e.times[:0]
		for _, v := range servers {
			if s.MayUse(id, v) && s.SameType(id, p[0].Server, v) {
				e.times = append(e.times, e.of[v]...)
			}
		}
		if len(e.times) >= n {
			slices.Sort(e.times)
			best = min(best, e.times[n-1])
		}
	}
	return best
}

// spread reports whether a placement uses more servers than necessary.
func spread(s *cluster.View, p cluster.Placement) bool {
	most := s.MostGPUs()
	return len(p) > int((p.Workers()+most-1)/most)
}

// waited returns how long the job has been in the cluster. It is an upper bound of the job's waiting time.
func waited(s *cluster.View, id cluster.JobID) time.Duration {
	return max(s.Now()-s.Spec(id).Submit, 0)
}
