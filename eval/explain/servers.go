package explain

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Server is one server as a job sees it.
type Server struct {
	Server  string    `json:"server"`
	GPUs    int32     `json:"gpus"`
	Free    int32     `json:"free_gpus"`
	Takes   int32     `json:"takes"`              // number of the job's workers, as requested, that it has room for
	Why     Exclusion `json:"excluded,omitempty"` // "" if it has room for some
	Workers int32     `json:"workers,omitempty"`  // number of workers that the decision places there
}

// Servers returns every server as a job sees it. For a job that the decision starts, it shows the state before the start; for a
// job that waits, the state after all operations. It returns nil for a job that ran before and is not started again, even if the
// decision moves it.
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
