package explain

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Server is one server as a job finds it.
type Server struct {
	Server  string    `json:"server"`
	GPUs    int32     `json:"gpus"`
	Free    int32     `json:"free_gpus"`
	Takes   int32     `json:"takes"`              // workers of the job, as requested
	Why     Exclusion `json:"excluded,omitempty"` // "" if it takes some
	Workers int32     `json:"workers,omitempty"`  // that the decision puts there
}

// Servers shows every server as a job finds it: one that the decision starts, as it was before it started, and one that waits
// as it is when all operations are done. A job that ran before and is not started has no list, and neither has one that the
// decision only moves.
func (d *Decision) Servers(id cluster.JobID) []Server {
	s := &d.after.View
	var chosen cluster.Placement
	for i, o := range slices.Backward(d.ops) {
		if o.Kind == cluster.OpPlace && o.Job == id {
			s, chosen = d.moment(i), o.Placement
			break
		}
	}
	if s.Phase(id) != cluster.Pending {
		return nil
	}
	list := make([]Server, s.Servers())
	for i := range list {
		v := cluster.ServerID(i)
		list[i] = Server{Server: s.Server(v).Name, GPUs: s.Server(v).GPUs, Free: s.FreeGPUs(v)}
		list[i].Takes, list[i].Why = exclude(s, id, v)
		for _, p := range chosen {
			if p.Server == v {
				list[i].Workers = p.Workers
			}
		}
	}
	return list
}
