// Package easy reserves GPUs for the first job of a queue that does not fit, as EASY backfilling does (Lifka, The ANL/IBM SP
// scheduling system, JSSPP 1995): a later job may start if by predictions it does not delay this one.
package easy

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Reservation is what one decision keeps for the first job that does not fit. It counts GPUs of any servers, or of those that the
// job names, and nothing else. The zero value reserves nothing. It reuses its memory after Clear.
type Reservation struct {
	made  bool
	where *cluster.ServerSet // the servers that the job names; nil if it names none
	until time.Duration      // time until enough GPUs are free for the job, by predictions; cluster.Never if they will not be
	spare int64              // thousandths of GPUs that will be free then and that the job does not need
	when  cluster.Shadow
}

// Clear drops the reservation. Call it at the beginning of each decision.
func (r *Reservation) Clear() { r.made = false }

// Make reserves GPUs for a waiting job if there is no reservation yet. left returns how much longer a running job runs by
// predictions, or cluster.Never.
func (r *Reservation) Make(s *cluster.View, id cluster.JobID, left func(cluster.JobID) time.Duration) {
	if r.made {
		return
	}
	need := s.Spec(id).GPUMilli()
	r.where = s.Spec(id).Where
	r.when.LookOn(s, r.where, left)
	r.until = r.when.Until(need)
	r.made, r.spare = true, r.when.FreeIn(r.until)-need
}

// Delays reports whether starting a job now that lasts so long could delay the job that has the reservation: it would still run
// when the reservation begins, may use the same servers, and needs GPUs that are not spare then.
func (r *Reservation) Delays(s *cluster.View, id cluster.JobID, lasts time.Duration) bool {
	spec := s.Spec(id)
	return r.outlasts(lasts) && spec.GPUMilli() > r.spare && r.where.Meets(spec.Where)
}

// Started takes from the reservation what a job that has just started and lasts so long will hold when the reservation begins.
func (r *Reservation) Started(s *cluster.View, id cluster.JobID, lasts time.Duration) {
	if r.outlasts(lasts) {
		r.spare -= s.Placement(id).GPUMilliOn(r.where)
	}
}

// outlasts reports whether there is a reservation and what lasts so long from now would still run when it begins, or for ever.
func (r *Reservation) outlasts(lasts time.Duration) bool {
	return r.made && (lasts > r.until || lasts == cluster.Never)
}
