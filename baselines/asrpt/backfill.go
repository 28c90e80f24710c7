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
	// start that by predictions do not delay this job: see package easy.
	easyBackfill Backfill = "easy"
)

// Backfills returns the values of Backfill, the default first.
func Backfills() []Backfill { return []Backfill{noBackfill, anyBackfill, easyBackfill} }

// reserve makes the reservation of this decision if there is none yet.
func (a *scheduler) reserve(s *cluster.View, id cluster.JobID) {
	if a.Backfill == easyBackfill {
		a.reserved.Make(s, id, func(running cluster.JobID) time.Duration { return a.left(s, running) })
	}
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
