package elastic

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// refusals remembers the jobs that found no servers. Within a pass, jobs of one kind either all find servers or all find none,
// so one refusal counts for all later jobs of the kind. Jobs of the kind are then out for the rest of the epoch, except those
// that had already started.
type refusals struct {
	find   map[placement.Kind]int32
	kind   []int32 // by job: its kind + 1; 0 if unknown
	byKind []refusal
	starts []int32 // by job: the epoch in which it last started
	epoch  int32
	passes int32
}

type refusal struct{ epoch, pass int32 } // of the last refusal

// begin begins an epoch.
func (r *refusals) begin() { r.epoch++ }

// pass begins a pass.
func (r *refusals) pass() { r.passes++ }

// out reports whether the job is out for the rest of this epoch.
func (r *refusals) out(s *cluster.View, id cluster.JobID) bool {
	return r.byKind[r.of(s, id)].epoch == r.epoch && r.starts[id] != r.epoch
}

// known reports whether a job of the job's kind was refused in this pass.
func (r *refusals) known(s *cluster.View, id cluster.JobID) bool {
	return r.byKind[r.of(s, id)].pass == r.passes
}

// note records whether a job found servers.
func (r *refusals) note(s *cluster.View, id cluster.JobID, started bool) {
	if started {
		r.starts[id] = r.epoch
		return
	}
	r.starts[id] = 0
	r.byKind[r.of(s, id)] = refusal{r.epoch, r.passes}
}

// of returns the index of the job's kind.
func (r *refusals) of(s *cluster.View, id cluster.JobID) int32 {
	if n := s.Jobs() - len(r.kind); n > 0 {
		r.kind = append(r.kind, make([]int32, n)...)
		r.starts = append(r.starts, make([]int32, n)...)
	}
	if r.kind[id] > 0 {
		return r.kind[id] - 1
	}
	kind := placement.Flexible(s, id)
	kind.Speed = ""
	n, ok := r.find[kind]
	if !ok {
		if r.find == nil {
			r.find = map[placement.Kind]int32{}
		}
		n = int32(len(r.byKind))
		r.find[kind] = n
		r.byKind = append(r.byKind, refusal{})
	}
	r.kind[id] = n + 1
	return n
}
