package baselines

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// roster holds the running jobs in order of expected finish, then submit, then id. A job's expected finish does not change while
// its speed does not and its estimate may still be right, so the order stays valid; after a Respeed event the caller must put the
// job again, and before it reads the order it must call refresh.
type roster struct {
	order []ticket
	key   []ticket        // by job id: the job's ticket in order
	late  []cluster.JobID // scratch of refresh
}

func (r *roster) reset() { r.order, r.key = r.order[:0], r.key[:0] }

// put adds a job, or moves it to its new place.
func (r *roster) put(s *cluster.View, id cluster.JobID, finish time.Duration) {
	r.drop(id)
	t := ticket{finish, s.Spec(id).Submit, id}
	if int(id) >= len(r.key) {
		r.key = append(r.key, make([]ticket, s.Jobs()-len(r.key))...)
	}
	r.key[id] = t
	r.order = slices.Insert(r.order, r.find(t), t)
}

// find returns the index of the first job in order that does not come before t.
func (r *roster) find(t ticket) int {
	from, to := 0, len(r.order)
	for from < to {
		if at := int(uint(from+to) / 2); r.order[at].before(t) {
			from = at + 1
		} else {
			to = at
		}
	}
	return from
}

// refresh moves the jobs that have outlived their estimates. If the View uses predictions, it moves all jobs, because these may
// change at any time.
func (r *roster) refresh(s *cluster.View) {
	r.late = r.late[:0]
	for _, t := range r.order {
		if t.key >= s.Now() && !s.Believes() {
			break
		}
		r.late = append(r.late, t.job)
	}
	for _, id := range r.late {
		if at := s.ExpectedFinish(id); at != r.key[id].key {
			r.put(s, id, at)
		}
	}
}

// drop removes a job, if the roster holds it.
func (r *roster) drop(id cluster.JobID) {
	if int(id) >= len(r.key) || r.key[id].job != id {
		return
	}
	if at := r.find(r.key[id]); at < len(r.order) && r.order[at] == r.key[id] {
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
