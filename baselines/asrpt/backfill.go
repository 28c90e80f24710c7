package asrpt

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Backfill decides which later jobs may start while the first job that does not fit waits. Only noBackfill is a reading of the
// paper; the others show what blocking costs.
type Backfill string

// The values of Backfill.
const (
	// noBackfill lets none of them start: the first job that does not fit blocks the others. Reconstructed: 60 %.
	noBackfill Backfill = "false"
	// anyBackfill lets all of them start that fit.
	anyBackfill Backfill = "true"
	// easyBackfill reserves GPUs for the first job that does not fit, as EASY backfilling does (Lifka, JSSPP 1995). It lets those
	// start that by predictions do not delay this job: see reservation.
	easyBackfill Backfill = "easy"
)

// Backfills returns the values of Backfill, the default first.
func Backfills() []Backfill { return []Backfill{noBackfill, anyBackfill, easyBackfill} }

// reservation is what one decision keeps for the first job that does not fit. It counts GPUs of any servers and nothing else.
type reservation struct {
	made  bool
	from  time.Duration // when enough GPUs will be free for the job, by predictions; cluster.Never if they will not
	spare int64         // thousandths of GPUs that will be free then and that the job does not need
	when  cluster.Shadow
}

// reserve makes the reservation of this decision if there is none yet.
func (a *scheduler) reserve(s *cluster.View, id cluster.JobID) {
	r := &a.reserved
	if a.Backfill != easyBackfill || r.made {
		return
	}
	need := s.Spec(id).GPUMilli()
	r.when.LookBy(s, func(running cluster.JobID) time.Duration { return a.left(s, running) })
	left := r.when.Until(need)
	r.made, r.from, r.spare = true, later(s.Now(), left), r.when.FreeIn(left)-need
}

// left returns how much longer a running job will run by its prediction and at its present speed.
func (a *scheduler) left(s *cluster.View, id cluster.JobID) time.Duration {
	restarting := max(s.Since(id)-s.Now(), 0)
	return later(restarting, duration(a.rest(s, id).Seconds()/s.PlannedRate(id)))
}

// rest returns how much longer a job would run by its prediction, alone and well placed. A job that has outlived its prediction
// is expected to need as long again as it has run.
func (a *scheduler) rest(s *cluster.View, id cluster.JobID) time.Duration {
	done := s.Progress(id)
	if left := a.durations.Predicted(s, id) - done; left > 0 {
		return left
	}
	return done
}

// delays reports whether starting the job now would delay the job that has the reservation: it would still run at that time, and
// needs GPUs that are not spare then.
func (a *scheduler) delays(s *cluster.View, id cluster.JobID) bool {
	return a.outlasts(s, id) && s.Spec(id).GPUMilli() > a.reserved.spare
}

// outlasts reports whether there is a reservation and the job, started now, would still run when it begins.
func (a *scheduler) outlasts(s *cluster.View, id cluster.JobID) bool {
	return a.reserved.made && later(s.Now(), a.rest(s, id)) > a.reserved.from
}

// backfilled takes from the reservation what a job that has just started will hold when the reservation begins.
func (a *scheduler) backfilled(s *cluster.View, id cluster.JobID) {
	if a.outlasts(s, id) {
		a.reserved.spare -= s.Placement(id).GPUMilli()
	}
}
