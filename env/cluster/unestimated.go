package cluster

import (
	"errors"
	"strings"
)

// oneJob is the snapshot of a server and of a waiting job without an estimate.
const oneJob = `{"version":1,"now_s":0,"servers":[{"name":"a","gpus":1,"cpu_milli":null,"mem_mib":null,"pool":"training",` +
	`"on_loan":false}],"jobs":[{"id":"a","user":"","tenant":"","submit_s":0,"workers":1,"gpu_milli":1000,"cpu_milli":0,` +
	`"mem_mib":0,"estimate_s":0,"state":"pending","starts":0,"progress_s":0,"attained_s":0}]}`

// NeedsEstimates reports whether a scheduler returns an error that wraps ErrNoEstimate about a job without an estimate. It asks
// the scheduler about such a job, alone on a server of one GPU. Nobody may use the scheduler afterwards. A panic or another
// error is no answer: the scheduler may be made for other clusters.
func NeedsEstimates(s Scheduler) (needs bool) {
	state, err := ReadSnapshot(strings.NewReader(oneJob))
	if err != nil {
		panic("cluster: snapshot of one job: " + err.Error())
	}
	defer func() {
		if recover() != nil {
			needs = false
		}
	}()
	if s.Reset(0) != nil {
		return false
	}
	return errors.Is(s.Schedule(state.Begin(state.Introduce())), ErrNoEstimate)
}
