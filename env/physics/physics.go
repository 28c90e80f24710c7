// Package physics says how fast a job runs under a placement. A model reads the state and never changes it; the simulator
// asks it whenever a placement changes and makes completion times exact under the answer.
package physics

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
)

// Model gives the speed of a running job: work per time, 1 for the job alone with what it asked for, always above 0.
// It must depend on the state alone.
type Model interface {
	Name() string
	Speed(s *cluster.State, job cluster.JobID) float64
}

// Ideal runs every job in proportion to the GPU share it holds of what it asked for, wherever its workers are.
type Ideal struct{}

// Name implements Model.
func (Ideal) Name() string { return "ideal" }

// Speed implements Model.
func (Ideal) Speed(s *cluster.State, job cluster.JobID) float64 {
	return share(s, job)
}

func share(s *cluster.State, job cluster.JobID) float64 {
	held, want := s.Placement(job).GPUs(), s.Spec(job).GPUs()
	if held == want {
		return 1
	}
	return held / want
}

// InterServer slows a gang that runs on more servers than it needs: with n servers where m would do, time stretches by
// 1 + Penalty·(1 - m/n), so by at most 1 + Penalty. m counts servers as large as the cluster's largest. It stands for
// communication that leaves the server until a model of links does better.
type InterServer struct {
	Penalty float64
}

// Name implements Model.
func (m InterServer) Name() string { return fmt.Sprintf("inter-server(%g)", m.Penalty) }

// Speed implements Model.
func (m InterServer) Speed(s *cluster.State, job cluster.JobID) float64 {
	p := s.Placement(job)
	speed := share(s, job)
	if len(p) == 1 {
		return speed
	}
	need := (p.Workers() + s.MostGPUs() - 1) / s.MostGPUs()
	return speed / (1 + m.Penalty*(1-float64(need)/float64(len(p))))
}

// Parse returns the model that a Name names: "ideal" or "inter-server(PENALTY)".
func Parse(name string) (Model, error) {
	const want = `want "ideal" or "inter-server(PENALTY)" with a penalty of 0 or more`
	if name == "ideal" {
		return Ideal{}, nil
	}
	number, ok := strings.CutPrefix(name, "inter-server(")
	number, closed := strings.CutSuffix(number, ")")
	if !ok || !closed {
		return nil, fmt.Errorf("physics %q: %s", name, want)
	}
	penalty, err := strconv.ParseFloat(number, 64)
	if err != nil || !(penalty >= 0 && penalty < 1e6) {
		return nil, fmt.Errorf("physics %q: penalty %q: %s", name, number, want)
	}
	return InterServer{Penalty: penalty}, nil
}
