package decide

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// usage contains which GPUs the running jobs hold, in thousandths of a GPU, and how many GPUs of each server are free.
type usage struct {
	jobs []cluster.JobID // those that run, ascending
	has  map[cluster.JobID]map[cluster.ServerID]int64
	free []int64 // by server; a GPU of which a part is used does not count
	lent []bool  // by server
}

func usageOf(s *cluster.View) *usage {
	u := &usage{has: map[cluster.JobID]map[cluster.ServerID]int64{}}
	for _, id := range s.Running() {
		u.jobs = append(u.jobs, id)
		on := map[cluster.ServerID]int64{}
		for _, p := range s.Placement(id) {
			on[p.Server] += int64(p.Workers) * int64(p.GPUMilli)
		}
		u.has[id] = on
	}
	slices.Sort(u.jobs)
	for i := range s.Servers() {
		u.free = append(u.free, int64(s.FreeGPUs(cluster.ServerID(i)))*cluster.WholeGPU)
		u.lent = append(u.lent, s.OnLoan(cluster.ServerID(i)))
	}
	return u
}

// robbed returns the jobs that have fewer GPUs of a server than in u, while jobs to which they do not yield have gained more
// GPUs there than were free. It also returns the jobs that are stopped in vain: a later decision could give what they held to
// anybody.
func (u *usage) robbed(s *cluster.View, yields func(running, other cluster.JobID) bool) (ids []cluster.JobID) {
	now := usageOf(s)
	for _, id := range u.jobs {
		if len(now.has[id]) == 0 && u.inVain(now, id, yields) {
			ids = append(ids, id)
			continue
		}
		for server, had := range u.has[id] {
			if now.has[id][server] >= had {
				continue
			}
			gained := int64(0)
			for _, other := range now.jobs {
				if gain := now.has[other][server] - u.has[other][server]; other != id && gain > 0 && !yields(id, other) {
					gained += gain
				}
			}
			if gained > u.free[server] {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids
}

// inVain reports whether no job to which a stopped job yields has gained GPUs on one of its servers, and none of these servers is
// given back.
func (u *usage) inVain(now *usage, id cluster.JobID, yields func(running, other cluster.JobID) bool) bool {
	for server := range u.has[id] {
		if u.lent[server] && !now.lent[server] {
			return false
		}
		for _, other := range now.jobs {
			if now.has[other][server] > u.has[other][server] && yields(id, other) {
				return false
			}
		}
	}
	return true
}
