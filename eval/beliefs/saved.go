package beliefs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// saved is what is known of the jobs that taught what was saved.
type saved struct {
	ended int
	known []belief.Known
}

// Teach teaches a memory what the decisions of a log tell: the run times of the jobs that ended, and the readings.
func Teach(m *belief.Memory, log *sim.Log) error {
	defer m.Forget()
	return sim.Visit(log, sim.Look{Before: func(tx *cluster.Txn, _ int) { m.Observe(tx) }})
}

// Saved returns what a memory has learned, without any job. The cluster has servers of eight GPUs of each type that was measured.
func Saved(m *belief.Memory, kind belief.Kind) (*Beliefs, error) {
	b := &Beliefs{
		kind: kind, all: m.Times(belief.Age, belief.Gittins), times: m.Times(kind, belief.Gittins), speeds: m.Speeds(),
		saved: &saved{int(m.Ended()), m.Times(belief.History, belief.Gittins).Known()},
	}
	spec := cluster.Uniform(1, 8)
	for i, name := range b.speeds.Types() {
		server := spec.Servers[0]
		server.Name, server.GPUType = fmt.Sprint("of type ", i), name
		spec.Servers = append(spec.Servers, server)
	}
	state, err := cluster.NewState(spec, 0)
	if err != nil {
		return nil, fmt.Errorf("show saved beliefs: %w", err)
	}
	state.CopyTo(&b.state)
	return b, nil
}

// users returns the users, those with most jobs first. Jobs count the less the more jobs of the user ended after them.
func (s *saved) users() (names []string) {
	jobs := map[string]float64{}
	for _, k := range s.known {
		if k.Workers == 0 {
			jobs[k.User] = k.Jobs
			names = append(names, k.User)
		}
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(jobs[y], jobs[x]), cmp.Compare(x, y)) })
	return names
}

// sizes returns the numbers of workers that jobs of a user had, the most frequent first.
func (s *saved) sizes(user string) (sizes []int32) {
	jobs := map[int32]float64{}
	for _, k := range s.known {
		if k.User == user && k.Workers > 0 {
			jobs[k.Workers] = k.Jobs
			sizes = append(sizes, k.Workers)
		}
	}
	slices.SortFunc(sizes, func(x, y int32) int { return cmp.Or(cmp.Compare(jobs[y], jobs[x]), cmp.Compare(x, y)) })
	return sizes
}

// example is the request of the job whose speeds are shown if no job is known.
var example = cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 4000}
