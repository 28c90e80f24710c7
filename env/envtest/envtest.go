// Package envtest checks that an implementation of env.Env keeps the contract of package env. It also contains toy environments
// with a known optimum, to test learners. It does not measure the quality of policies or schedulers.
package envtest

import (
	"errors"
	"fmt"

	"github.com/clustergym/clustergym/env"
)

// Make returns a fresh environment. All environments that it returns must behave the same.
type Make func() (env.Env, error)

// Check is one part of the contract.
type Check struct {
	Name, About string
	// Run plays episodes of the seed. It returns an error about the first violation, with its step, or one that wraps ErrSkip if
	// the check does not apply.
	Run func(make Make, seed uint64) error
}

// ErrSkip is wrapped by the error of a check that does not apply to an environment.
var ErrSkip = errors.New("does not apply")

// Checks returns all checks in a fixed order.
func Checks() []Check {
	return []Check{
		{"order", "no step before the first reset, after the end or after Close, no joint action of another length", order},
		{"shape", "every slice has the size that Spec says", onWalk("shape", shape)},
		{"range", "every observation is finite and within its declared bounds; rows of nobody are 0", onWalk("range", ranges)},
		{"coalition", "an agent may name what it takes part in, and pass; weights sum to 1", onWalk("coalition", coalition)},
		{"masked", "a masked action is refused with ErrMasked and changes nothing", onWalk("masked", masked)},
		{"agreed", "what its whole coalition names, and nobody a lower number, is carried out; what is refused is told",
			onState("agreed", agreed)},
		{"prior", "agents who name what the prior would do play the prior's schedule", prior},
		{"deterministic", "the same seed and joint actions give the same bytes, whatever the buffers held", deterministic},
		{"vector", "a vector shows the episodes one after the other, cut where its mode says, those without steps too", inVector},
		{"conserved", "GPUs, CPU, memory and jobs are neither lost nor made", onState("conserved", conserved)},
		{"time", "elapsed times are never negative and sum to the present instant", onWalk("time", elapsed)},
		{
			"rewards", "flow rewards sum to the negative completion times, those of objectives to minus the cost",
			onWalk("rewards", rewards),
		},
		{"ends", "random play ends, with every job done or a reason", onState("ends", ends)},
		{"starved", "agents who pass for ever starve nobody", onState("starved", starved)},
	}
}

// Result is the outcome of one check.
type Result struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Status string `json:"status"` // passed, failed or skipped
	Detail string `json:"detail"` // why it failed or was skipped
}

// The states of a Result.
const (
	Passed  = "passed"
	Failed  = "failed"
	Skipped = "skipped"
)

// Report runs all checks on episodes of a seed. A check that panics counts as failed.
func Report(make Make, seed uint64) []Result {
	var all []Result
	for _, c := range Checks() {
		r := Result{Name: c.Name, About: c.About, Status: Passed}
		if err := guard(c, make, seed); err != nil {
			r.Status, r.Detail = Failed, err.Error()
			if errors.Is(err, ErrSkip) {
				r.Status = Skipped
			}
		}
		all = append(all, r)
	}
	return all
}

func guard(c Check, make Make, seed uint64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return c.Run(make, seed)
}

// TB contains the methods of *testing.T that Run needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Run fails t for every check that does not pass on the seeds 1 to 3.
func Run(t TB, make Make) {
	t.Helper()
	for seed := uint64(1); seed <= 3; seed++ {
		for _, r := range Report(make, seed) {
			if r.Status == Failed {
				t.Errorf("seed %d: %s: %s", seed, r.Name, r.Detail)
			}
		}
	}
}
