package baselines

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// roster holds the running jobs in order of expected finish, then submit, then id. A job's expected finish does not change while
// its speed does not, so the order stays valid; after a Respeed event the caller must put the job again.
type roster struct {
	order []ticket
	key   []ticket // by job id: the job's ticket in order
}

func (r *roster) reset() { r.order, r.key = r.order[:0], r.key[:0] }

// put adds a job, or moves it to its new place.
func (r *roster) put(s *cluster.View, id cluster.JobID, finish time.Duration) {
	r.drop(id)
	t := ticket{finish, s.Spec(id).Submit, id}
	if n := int(id) + 1 - len(r.key); n > 0 {
		r.key = append(r.key, make([]ticket, n)...)
	}
	r.key[id] = t
	at, _ := slices.BinarySearchFunc(r.order, t, ticket.compare)
	r.order = slices.Insert(r.order, at, t)
}

// drop removes a job, if the roster holds it.
func (r *roster) drop(id cluster.JobID) {
	if int(id) >= len(r.key) || r.key[id].job != id {
		return
	}
	if at, ok := slices.BinarySearchFunc(r.order, r.key[id], ticket.compare); ok {
		r.order = slices.Delete(r.order, at, at+1)
	}
}

// wait returns the time until as many GPUs are free as the job asks for, 0 if that never happens. The result equals that of
// cluster.Shadow, but wait need not look at all running jobs.
func (r *roster) wait(s *cluster.View, id cluster.JobID) time.Duration {
	spec := s.Spec(id)
	need := spec.GPUMilli()
	free := s.FreeTotal() * cluster.WholeGPU
	if free >= need {
		return 0
	}
	for _, t := range r.order {
		if free += s.Placement(t.job).GPUMilli(); free >= need {
			return max(t.key-s.Now(), 0)
		}
	}
	return 0
}
